// SPDX-License-Identifier: Apache-2.0
//
// Stragglers for workers in the middle of a later, long event: their threads are to be called back
// (thread_waker.h). The sender notes such an event and wakes the receiver's thread at once. If the
// receiver does not react, the sender wakes it again some moments later, with a signal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/cycles.h"
#include "engine/timewarp/thread_waker.h"

namespace orrery::timewarp {

class LateEvents {
 public:
  /// From now on note() takes effect.
  void watch(ThreadWaker& waker) { waker_ = &waker; }
  bool empty() const { return late_.empty(); }

  /// Cheap: the cache line that it reads changes only with long events of `owner`.
  [[gnu::always_inline]] void note(unsigned owner, Time time) {
    if (waker_ == nullptr) return;
    if (waker_->running(owner).ticks.load(std::memory_order_relaxed) < time.ticks()) [[likely]]
      return;
    add(owner, time.ticks());
  }
  /// Wakes the receivers of all noted events. Returns how many were woken for the first time.
  std::uint64_t wake() {
    std::uint64_t woken = 0;
    const std::uint64_t now = read_cycles();
    std::erase_if(late_, [&](One& late) { return wake(late, now, woken); });
    return woken;
  }

 private:
  struct One {
    unsigned owner;
    std::int64_t ticks;
    std::uint64_t woken_cycles = 0;  ///< when its owner was woken; 0: not yet
  };

  void add(unsigned owner, std::int64_t ticks) {
    if (!late_.empty() && late_.back().owner == owner && late_.back().woken_cycles == 0) {
      late_.back().ticks = std::min(late_.back().ticks, ticks);
    } else {
      late_.push_back({owner, ticks});
    }
  }
  /// The first time, only sets the attention byte. If the handler has not called the platform by
  /// the next time, and its event has run for twice as long as a signal takes, sends a signal.
  /// True: the event needs no more wake-ups.
  bool wake(One& late, std::uint64_t now, std::uint64_t& woken) {
    constexpr double kSignalSeconds = 10e-6, kHeedSeconds = 2e-6;
    const ThreadWaker::Running& running = waker_->running(late.owner);
    if (running.ticks.load(std::memory_order_relaxed) < late.ticks) return true;
    if (late.woken_cycles == 0) {
      late.woken_cycles = now;
      ++woken;
      waker_->wake(late.owner, false);
      return false;
    }
    const std::uint64_t since = running.since.load(std::memory_order_relaxed);
    if (now - late.woken_cycles < cycles_in(kHeedSeconds) ||
        now - since < cycles_in(2 * kSignalSeconds))
      return false;
    waker_->signal_unless_noticed(late.owner);
    return true;
  }

  ThreadWaker* waker_ = nullptr;
  std::vector<One> late_;
};

}  // namespace orrery::timewarp
