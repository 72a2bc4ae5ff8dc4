// SPDX-License-Identifier: Apache-2.0
//
// Stragglers for workers in the middle of a later, long event: their threads are to be called back
// (bells.h). The sender notes such an event and rings at once; if the receiver does not react, it
// rings again some moments later, with a signal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/cycles.h"
#include "engine/timewarp/bells.h"

namespace orrery::timewarp {

class LateEvents {
 public:
  /// From now on note() takes effect.
  void watch(Bells& bells) { bells_ = &bells; }
  bool empty() const { return late_.empty(); }

  /// Cheap: the cache line that it reads changes only with long events of `owner`.
  [[gnu::always_inline]] void note(unsigned owner, Time time) {
    if (bells_ == nullptr) return;
    if (bells_->running(owner).ticks.load(std::memory_order_relaxed) < time.ticks()) [[likely]]
      return;
    add(owner, time.ticks());
  }
  /// Rings for all that was noted. Returns how many were rung for the first time.
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
    std::uint64_t rung_cycles = 0;  ///< when its owner was rung; 0: not yet
  };

  void add(unsigned owner, std::int64_t ticks) {
    if (!late_.empty() && late_.back().owner == owner && late_.back().rung_cycles == 0) {
      late_.back().ticks = std::min(late_.back().ticks, ticks);
    } else {
      late_.push_back({owner, ticks});
    }
  }
  /// The first time, only sets the attention byte. If the handler has not called the platform by
  /// the next time, and its event has run for twice as long as a signal takes, sends a signal.
  /// True: no more rings are needed.
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
