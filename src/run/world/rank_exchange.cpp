// SPDX-License-Identifier: Apache-2.0
#include "run/world/rank_exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/fingerprint.h"
#include "orrery/error.h"
#include "run/containment/lp_names.h"
#include "transport/ranks/bytes.h"

namespace orrery {

using transport::ByteReader;
using transport::ByteWriter;
using transport::Parcel;

namespace {

/// "LPs 2 (c), 3 (d)": those of this rank, the first of them if there are many; "" if LPs have no
/// names.
std::string lps_here(const World& world) {
  constexpr std::size_t kMostShown = 8;
  std::vector<std::string> shown;
  std::size_t more = 0;
  for (LpId id = 0; id < world.lp_count(); ++id) {
    if (!world.is_here(id)) continue;
    if (shown.size() == kMostShown) {
      ++more;
      continue;
    }
    shown.push_back(lp_number_text(world.model(), id));
    if (shown.back() == std::to_string(id)) return "";
  }
  const std::string all = fmt::format("LPs {}", fmt::join(shown, ", "));
  return more == 0 ? all : fmt::format("{} and {} more", all, more);
}

}  // namespace

void check_placement(transport::RankTransport& ranks, const World& world) {
  ranks.about(lps_here(world));
  std::uint64_t hash = fingerprint::kFirst;
  for (LpId id = 0; id < world.lp_count(); ++id)
    hash = fingerprint::add_word(hash, world.rank_of(id));
  ByteWriter own;
  own.put(hash);
  const std::vector<Parcel> all = ranks.gather_everywhere(own.take());
  for (unsigned rank = 1; rank < all.size(); ++rank) {
    if (ByteReader(all[rank]).get<std::uint64_t>() == ByteReader(all[0]).get<std::uint64_t>())
      continue;
    throw UsageError(fmt::format(
        "{} distributes the LPs to ranks differently from {}: install the same library METIS "
        "on all hosts, or give --partition",
        ranks.place(rank), ranks.place(0)));
  }
}

void share_set_up(transport::RankTransport& ranks, std::optional<SetUpFailure>& failure,
                  bool& stopped) {
  ByteWriter own;
  own.put(stopped).put(failure.has_value());
  if (failure) own.put(failure->phase).put(failure->lp).put(failure->usage).put(failure->sentence);
  for (const Parcel& parcel : ranks.gather_everywhere(own.take())) {
    ByteReader reader(parcel);
    stopped |= reader.get<bool>();
    if (!reader.get<bool>()) continue;
    SetUpFailure one;
    one.phase = reader.get<int>();
    one.lp = reader.get<LpId>();
    one.usage = reader.get<bool>();
    one.sentence = reader.get_text();
    const auto order = [](const SetUpFailure& f) { return std::tuple(f.phase, f.lp); };
    if (!failure || order(one) < order(*failure)) failure = std::move(one);
  }
}

namespace {

void put_part(const Finisher::Part& part, ByteWriter& own) {
  own.put(part.fingerprint)
      .put(part.lps)
      .put(part.metrics)
      .put(part.mergeable_statistics)
      .put(part.left_out)
      .put(part.fault_lp)
      .put(part.fault);
}

Finisher::Part get_part(ByteReader& reader) {
  Finisher::Part part;
  part.fingerprint = reader.get<std::uint64_t>();
  part.lps = reader.get_list<LpId>();
  part.metrics = reader.get_list<std::byte>();
  part.mergeable_statistics = reader.get_list<std::uint64_t>();
  part.left_out = reader.get_list<std::uint32_t>();
  part.fault_lp = reader.get<LpId>();
  part.fault = reader.get_text();
  return part;
}

Parcel end_parcel(const Finisher::Part& part, const RunResult& result) {
  ByteWriter own;
  put_part(part, own);
  own.put(result.peak_memory_bytes).put(std::uint64_t{result.notes.size()});
  for (const std::string& note : result.notes) own.put(note);
  return own.take();
}

/// Adds a note of another rank, unless rank 0 has it too.
void add_note(std::vector<std::string>& notes, const std::string& note, const std::string& place) {
  if (std::find(notes.begin(), notes.end(), note) != notes.end()) return;
  notes.push_back(fmt::format("{}: {}", place, note));
}

}  // namespace

std::vector<Finisher::Part> share_parts(transport::RankTransport& ranks,
                                        const Finisher::Part& part) {
  ByteWriter own;
  put_part(part, own);
  std::vector<Finisher::Part> parts;
  for (const Parcel& parcel : ranks.gather_everywhere(own.take())) {
    ByteReader reader(parcel);
    parts.push_back(get_part(reader));
  }
  return parts;
}

void share_end(transport::RankTransport& ranks, const Model& model, Finisher::Part part,
               RunResult& result) {
  result.ranks = ranks.ranks();
  const std::vector<Parcel> all = ranks.gather(end_parcel(part, result));
  std::vector<Finisher::Part> parts;
  result.peak_memory_bytes = 0;
  for (unsigned rank = 0; rank < all.size(); ++rank) {
    ByteReader reader(all[rank]);
    parts.push_back(get_part(reader));
    result.peak_memory_bytes += reader.get<std::uint64_t>();
    for (auto notes = reader.get<std::uint64_t>(); notes > 0; --notes)
      if (const std::string note = reader.get_text(); rank > 0)
        add_note(result.notes, note, ranks.place(rank));
  }
  Finisher::store(model, result.reached, std::move(parts), result);
}

}  // namespace orrery
