// SPDX-License-Identifier: Apache-2.0
//
// Wakes workers that hold up a GVT round, since they may be in a long event (thread_waker.h). A
// worker that publishes no long event may only have lost its core, so it is woken later, and then
// less and less often.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/cycles.h"
#include "engine/timewarp/gvt.h"
#include "engine/timewarp/thread_waker.h"

namespace orrery::timewarp {

class Laggards {
 public:
  using Member = transport::RoundMember<GvtRounds>;

  Laggards(const Member& member, ThreadWaker& waker) : member_(member), waker_(waker) {}

  /// Before a turn. Most rounds end before this worker needs to read the clock.
  void look() {
    if (!member_.in_round()) return;
    if (member_.round() != round_) {
      round_ = member_.round();
      looks_ = 0;
      return;
    }
    constexpr std::uint32_t kLooks = 8;
    if (++looks_ < kLooks) return;
    const std::uint64_t now = read_cycles();
    if (looks_ == kLooks) {
      wakes_ = 0;
      next_cycles_ = now + cycles_in(200e-6);
    }
    if (now < next_cycles_) return;
    constexpr std::uint32_t kDoublings = 4;
    const std::uint32_t doublings = std::min(wakes_, kDoublings);
    next_cycles_ = now + cycles_in(std::min(1e-3 * (1u << doublings), 10e-3));
    if (wakes_++ == 0) return wake_in_long_events();
    member_.for_each_lagging([this](unsigned worker) { waker_.wake(worker, true); });
  }
  /// Wakes those that publish a long event.
  void wake_in_long_events() {
    member_.for_each_lagging([this](unsigned worker) {
      if (waker_.publishes(worker)) waker_.wake(worker, true);
    });
  }

 private:
  const Member& member_;
  ThreadWaker& waker_;
  std::uint64_t round_ = 0;  ///< which is watched
  std::uint32_t looks_ = 0;  ///< while it was under way
  std::uint32_t wakes_ = 0;
  std::uint64_t next_cycles_ = 0;
};

}  // namespace orrery::timewarp
