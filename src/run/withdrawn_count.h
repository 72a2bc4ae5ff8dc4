// SPDX-License-Identifier: Apache-2.0
//
// How many of the pending events are timers that were cancelled, as far as one can know without
// looking: an engine goes through all of them once the withdrawn ones outnumber the others, which
// costs O(1) for each that was cancelled. Retransmission timers, for instance, are nearly always
// cancelled, long before their time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace orrery {

class WithdrawnCount {
 public:
  /// One came up, and was dropped.
  void note_dropped() { ++gone_; }
  /// `cancelled`: by handlers of this engine so far; `pending`: events.
  bool are_many(std::uint64_t cancelled, std::size_t pending) const {
    const std::int64_t left = static_cast<std::int64_t>(cancelled) - gone_;
    return left > kFew && 2 * left > static_cast<std::int64_t>(pending);
  }
  /// All were looked at, and what is withdrawn is gone.
  void note_reclaimed(std::uint64_t cancelled) { gone_ = static_cast<std::int64_t>(cancelled); }

 private:
  static constexpr std::int64_t kFew = 1024;
  std::int64_t gone_ = 0;  ///< those that another engine left pending may be among them
};

}  // namespace orrery
