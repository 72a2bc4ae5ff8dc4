// SPDX-License-Identifier: Apache-2.0
#include "run/world/rank_files.h"

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "orrery/error.h"
#include "run/options/model_checks.h"
#include "run/ranks/file_stream.h"

namespace orrery {
namespace {

using transport::Lane;
using transport::Parcel;

std::vector<std::string> left_by(const Model& model, LpId lp) {
  return call_model("leaves()", [&] { return model.leaves(lp); });
}

/// One guarded call for all LPs, since most models have many and leave nothing.
bool leaves_any(const Model& model) {
  return call_model("leaves()", [&] {
    const std::uint64_t lps = model.lp_count();
    for (std::uint64_t lp = 0; lp < lps; ++lp)
      if (!model.leaves(static_cast<LpId>(lp)).empty()) return true;
    return false;
  });
}

void send_files(transport::RankTransport& ranks, const Model& model,
                const std::vector<LpId>& here) {
  FileSender sender([&](Parcel parcel) {
    ranks.post(0, Lane::rows, std::move(parcel));
    ranks.wait_until([&] { return !ranks.is_short_of_credit(0, Lane::rows); });
  });
  for (const LpId lp : here) {
    const std::vector<std::string> paths = left_by(model, lp);
    for (std::uint32_t item = 0; item < paths.size(); ++item) sender.send(lp, item, paths[item]);
  }
  sender.end();
}

void receive_files(transport::RankTransport& ranks, const Model& model) {
  const auto place = [&](LpId lp, std::uint32_t item) -> std::string {
    if (lp >= model.lp_count()) return {};
    const std::vector<std::string> paths = left_by(model, lp);
    return item < paths.size() ? paths[item] : std::string();
  };
  std::deque<FileReceiver> receivers;
  for (unsigned rank = 0; rank < ranks.ranks(); ++rank) receivers.emplace_back(place);
  unsigned ended = 1;  // this rank sends nothing
  {
    const std::lock_guard lock(ranks.mutex());
    ranks.receive_with(Lane::rows, [&](unsigned from, const Parcel& parcel) {
      receivers[from].take(parcel);
      if (receivers[from].is_at_end()) ++ended;
      ranks.give_back(from, Lane::rows, parcel.image_bytes());
    });
  }
  ranks.wait_until([&] { return ended == ranks.ranks(); });
  {
    const std::lock_guard lock(ranks.mutex());
    ranks.receive_with(Lane::rows, {});
  }
  for (unsigned rank = 1; rank < ranks.ranks(); ++rank)
    if (const std::string& why = receivers[rank].failure(); !why.empty())
      throw UsageError(
          fmt::format("files of {} could not be brought here: {}", ranks.place(rank), why));
}

}  // namespace

void bring_files(transport::RankTransport& ranks, const Model& model,
                 const std::vector<LpId>& here) {
  if (!leaves_any(model)) return;
  ranks.gather_everywhere({});  // then no rank awaits rows any more
  if (ranks.rank() == 0) {
    receive_files(ranks, model);
  } else {
    send_files(ranks, model, here);
  }
}

}  // namespace orrery
