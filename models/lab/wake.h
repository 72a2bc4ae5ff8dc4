// SPDX-License-Identifier: Apache-2.0
//
// A timer for an LP with an agenda of its own: wakes the LP when the first entry of the agenda is
// due.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "orrery/orrery.h"

namespace orrery::lab {

/// The first entry of the agenda is due.
struct Wake {
  static constexpr bool silent = true;
};

class WakeTimer {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  /// To be called when a Wake arrives.
  void rang() { timer_ = {}; }
  /// Schedules the next Wake at `at`, or now if `at` has passed; kNever: cancels the Wake.
  void set(Context& context, std::int64_t at) {
    if (timer_ != Timer() && at == at_) return;
    if (timer_ != Timer()) context.cancel(timer_);
    timer_ = {};
    if (at == kNever) return;
    at_ = at;
    const std::int64_t wait = std::max<std::int64_t>(at - context.now().ticks(), 0);
    timer_ = context.schedule_timer(Duration::from_ticks(wait), Wake{});
  }

 private:
  Timer timer_;
  std::int64_t at_ = 0;
};

}  // namespace orrery::lab
