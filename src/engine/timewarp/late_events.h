// SPDX-License-Identifier: Apache-2.0
//
// Events that were sent to workers in the middle of later ones, whose threads are to be called back
// (bells.h). Whoever sends notes it and rings, now and again some moments later.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/cycles.h"
#include "engine/timewarp/bells.h"

namespace orrery::timewarp {

class LateEvents {
 public:
  /// From now on they are noted.
  void watch(Bells& bells) { bells_ = &bells; }
  bool empty() const { return late_.empty(); }

  /// The line that is looked at changes with each long event; where events are short, never.
  [[gnu::always_inline]] void note(unsigned owner, Time time) {
    if (bells_ == nullptr) return;
    if (bells_->running(owner).ticks.load(std::memory_order_relaxed) < time.ticks()) [[likely]]
      return;
    add(owner, time.ticks());
  }
  /// Returns how many workers were called that had not been.
  std::uint64_t ring() {
    std::uint64_t rings = 0;
    const std::uint64_t now = read_cycles();
    std::erase_if(late_, [&](One& late) { return ring(late, now, rings); });
    return rings;
  }

 private:
  struct One {
    unsigned owner;
    std::int64_t ticks;
    std::uint64_t rung_cycles = 0;  ///< when its owner was told; 0: not yet
  };

  void add(unsigned owner, std::int64_t ticks) {
    if (!late_.empty() && late_.back().owner == owner && late_.back().rung_cycles == 0) {
      late_.back().ticks = std::min(late_.back().ticks, ticks);
    } else {
      late_.push_back({owner, ticks});
    }
  }
  /// Quietly at first; if it has not called the platform by the next time, and its event has run
  /// for twice as long as a signal takes, with one. Whether that is all.
  bool ring(One& late, std::uint64_t now, std::uint64_t& rings) {
    constexpr double kSignalSeconds = 10e-6, kHeedSeconds = 2e-6;
    const Bells::Running& running = bells_->running(late.owner);
    if (running.ticks.load(std::memory_order_relaxed) < late.ticks) return true;
    const unsigned thread = bells_->thread_of(late.owner);
    if (late.rung_cycles == 0) {
      late.rung_cycles = now;
      ++rings;
      bells_->ring(thread, false);
      return false;
    }
    const std::uint64_t since = running.since.load(std::memory_order_relaxed);
    if (now - late.rung_cycles < cycles_in(kHeedSeconds) ||
        now - since < cycles_in(2 * kSignalSeconds))
      return false;
    bells_->ring_loudly_if_unheeded(thread);
    return true;
  }

  Bells* bells_ = nullptr;
  std::vector<One> late_;
};

}  // namespace orrery::timewarp
