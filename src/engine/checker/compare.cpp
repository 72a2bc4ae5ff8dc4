// SPDX-License-Identifier: Apache-2.0
#include "engine/checker/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <type_traits>

#include "core/fingerprint.h"
#include "core/row_cells.h"
#include "run/containment/faults.h"

namespace orrery::checker {
namespace {

std::string send_text(const Names& names, const Sent& sent) {
  return fmt::format("event {} to LP {} at {}", names.event(sent.receiver, sent.type),
                     sent.receiver, time_text(names.model, sent.time()));
}

class Comparison {
 public:
  Comparison(const Names& names, const Effects& a, const Effects& b, Versus versus,
             const Labels& labels, std::vector<Doubt>* doubts)
      : names_(names), a_(a), b_(b), versus_(versus), labels_(labels), doubts_(doubts) {}

  Difference run() {
    if (a_.fault != b_.fault) {
      difference_.add(fmt::format("{} {}, {} {}", labels_.a, outcome(a_), labels_.b, outcome(b_)));
      return difference_;
    }
    if (!a_.fault.empty()) return difference_;  // a failed handler's partial state is meaningless
    compare_sends();
    compare_rows();
    compare_kernel();
    if (versus_ != Versus::twin) compare_steps();
    return difference_;
  }

 private:
  static std::string outcome(const Effects& effects) {
    return effects.fault.empty() ? "it went well" : "it failed (" + effects.fault + ")";
  }

  void compare_sends() {
    const std::size_t common = std::min(a_.sends.size(), b_.sends.size());
    for (std::size_t i = 0; i < common; ++i)
      if (!same_send(i)) return;
    if (a_.sends.size() == b_.sends.size()) return;
    const auto& more = a_.sends.size() > common ? a_ : b_;
    difference_.add(fmt::format("it sent {} event{} {} and {} {}; the first that is missing is {}",
                                a_.sends.size(), a_.sends.size() == 1 ? "" : "s", labels_.a,
                                b_.sends.size(), labels_.b, send_text(names_, more.sends[common])));
  }

  bool same_send(std::size_t i) {
    const Sent& a = a_.sends[i];
    const Sent& b = b_.sends[i];
    if (a.key() != b.key() || a.receiver != b.receiver || a.type != b.type ||
        a.size.bytes() != b.size.bytes()) {
      difference_.add(fmt::format("its send {} was {} {} and {} {}", i + 1, send_text(names_, a),
                                  labels_.a, send_text(names_, b), labels_.b));
      return false;
    }
    const std::size_t at = payload_difference(i);
    if (at == kNoDifference) return true;
    difference_.add(payload_text(names_, a_, b_, labels_, i, at), !a.size.hashed());
    return false;
  }

  /// Offset of the first difference that counts. Bytes that enter the fingerprint must be equal;
  /// others may be padding.
  std::size_t payload_difference(std::size_t i) {
    const Sent& sent = a_.sends[i];
    const std::byte* const pa = a_.payload_of(sent);
    const std::byte* const pb = b_.payload_of(b_.sends[i]);
    if (sent.size.hashed() || versus_ == Versus::same_world)
      return first_unequal(pa, pb, sent.size.bytes());
    if (versus_ == Versus::twin) return kNoDifference;
    const std::byte* const in0 = a_.world == 0 ? pa : pb;
    const std::byte* const in1 = a_.world == 0 ? pb : pa;
    std::size_t first = kNoDifference;
    for_each_difference(in0, in1, sent.size.bytes(), [&](std::size_t at) {
      if (doubts_ != nullptr && follows(in0[at], in1[at]))
        doubts_->push_back({i, at, in0[at], in1[at]});
      else
        first = at;
      return first == kNoDifference;
    });
    return first;
  }

  void compare_rows() {
    if (a_.rows == b_.rows) return;
    std::vector<std::string> a = row_texts(a_), b = row_texts(b_);
    const std::size_t rows = std::max(a.size(), b.size());
    a.resize(rows, "missing");
    b.resize(rows, "missing");
    for (std::size_t i = 0; i < rows; ++i) {
      if (a[i] == b[i]) continue;
      difference_.add(
          fmt::format("its row {} is {} {} and {} {}", i + 1, a[i], labels_.a, b[i], labels_.b));
      return;
    }
  }

  /// "eth0(1500 bytes with hash 0123456789abcdef)"
  std::string capture_text(const Row& row) const {
    const std::string_view bytes = row_cells::captured(row.cells);
    return fmt::format("{}({} bytes with hash {:016x})",
                       names_.model.captures()[row_cells::capture_of(row.table)]->name(),
                       bytes.size(),
                       fingerprint::add_bytes(fingerprint::kFirst, bytes.data(), bytes.size()));
  }

  std::vector<std::string> row_texts(const Effects& effects) const {
    std::vector<std::string> texts;
    effects.rows.for_each([&](const Row& row) {
      if (row_cells::is_capture(row.table)) return texts.push_back(capture_text(row));
      const Table& table = *names_.model.tables()[row.table];
      std::string cells;
      row_cells::for_each(table, row.cells, [&]<class T>(const T& value) {
        if (!cells.empty()) cells += ", ";
        if constexpr (std::is_same_v<T, double>)
          cells += fmt::format("{} (bits {:x})", value, std::bit_cast<std::uint64_t>(value));
        else if constexpr (std::is_same_v<T, std::string_view>)
          cells += fmt::format("'{}'", value);
        else
          cells += fmt::to_string(value);
      });
      texts.push_back(fmt::format("{}({})", table.name(), cells));
    });
    return texts;
  }

  void compare_kernel() {
    if (a_.kernel.random_position != b_.kernel.random_position) {
      difference_.add(
          fmt::format("it had drawn up to block {} of its random stream {} and up to {} "
                      "{}",
                      a_.kernel.random_position, labels_.a, b_.kernel.random_position, labels_.b));
    }
    if (a_.kernel.hash != b_.kernel.hash && difference_.empty())
      difference_.add(
          fmt::format("what it reports differs: its fingerprint is {:016x} {} and "
                      "{:016x} {}",
                      a_.kernel.hash, labels_.a, b_.kernel.hash, labels_.b));
  }

  static std::string step_text(const std::vector<AllocationStep>& steps, std::size_t i) {
    if (i >= steps.size()) return "nothing more was asked for";
    const AllocationStep& step = steps[i];
    return fmt::format("{} bytes at {} were {}", step.allocation.bytes,
                       static_cast<const void*>(step.allocation.address),
                       step.allocates ? "allocated" : "freed");
  }

  void compare_steps() {
    const std::size_t steps = std::max(a_.steps.size(), b_.steps.size());
    for (std::size_t i = 0; i < steps; ++i) {
      if (i < a_.steps.size() && i < b_.steps.size() &&
          a_.steps[i].allocates == b_.steps[i].allocates &&
          a_.steps[i].allocation.address == b_.steps[i].allocation.address &&
          a_.steps[i].allocation.bytes == b_.steps[i].allocation.bytes) {
        continue;
      }
      difference_.add(fmt::format("as request {} of its heap {} {} and {} {}", i + 1,
                                  step_text(a_.steps, i), labels_.a, step_text(b_.steps, i),
                                  labels_.b));
      return;
    }
  }

  const Names& names_;
  const Effects& a_;
  const Effects& b_;
  const Versus versus_;
  const Labels& labels_;
  std::vector<Doubt>* const doubts_;
  Difference difference_;
};

}  // namespace

Difference compare_effects(const Names& names, const Effects& a, const Effects& b, Versus versus,
                           const Labels& labels, std::vector<Doubt>* doubts) {
  return Comparison(names, a, b, versus, labels, doubts).run();
}

std::string payload_text(const Names& names, const Effects& a, const Effects& b,
                         const Labels& labels, std::size_t send, std::size_t at) {
  const Sent& sent = a.sends[send];
  const std::size_t bytes = sent.size.bytes();
  return fmt::format("its send {}, {}, carries {} {} and {} {} (at byte {} of {})", send + 1,
                     send_text(names, sent), hex_text(a.payload_of(sent), bytes, at), labels.a,
                     hex_text(b.payload_of(b.sends[send]), bytes, at), labels.b, at, bytes);
}

std::string hex_text(const std::byte* bytes, std::size_t size, std::size_t at) {
  std::string text;
  for (std::size_t i = at; i < std::min(size, at + 8); ++i)
    text += fmt::format("{}{:02x}", i == at ? "" : " ", std::to_integer<unsigned>(bytes[i]));
  return text;
}

}  // namespace orrery::checker
