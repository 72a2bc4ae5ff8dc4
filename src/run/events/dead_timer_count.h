// SPDX-License-Identifier: Apache-2.0
//
// An estimate of the number of cancelled timers among the pending events, without examining them:
// an engine examines all events once the dead ones outnumber the others, which costs O(1) for
// each cancelled timer. Retransmission timers, for instance, are nearly always cancelled, long
// before their time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace orrery {

class DeadTimerCount {
 public:
  /// A dead timer reached its turn and was dropped.
  void note_dropped() { ++gone_; }
  /// `cancelled`: timers cancelled by handlers of this engine so far; `pending`: number of events.
  bool are_many(std::uint64_t cancelled, std::size_t pending) const {
    const std::int64_t left = static_cast<std::int64_t>(cancelled) - gone_;
    return left > kFew && 2 * left > static_cast<std::int64_t>(pending);
  }
  /// All pending events were examined, and the dead ones removed.
  void note_reclaimed(std::uint64_t cancelled) { gone_ = static_cast<std::int64_t>(cancelled); }

 private:
  static constexpr std::int64_t kFew = 1024;
  std::int64_t gone_ = 0;  ///< may include timers that an earlier engine left pending
};

}  // namespace orrery
