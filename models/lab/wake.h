// SPDX-License-Identifier: Apache-2.0
//
// What an LP with an agenda of its own wants from the engine: to be woken when the first thing on
// it is due. One timer, moved when that changes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "orrery/orrery.h"

namespace orrery::lab {

/// There is something to do.
struct Wake {
  static constexpr bool silent = true;
};

class WakeTimer {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  /// Its Wake has come.
  void rang() { timer_ = {}; }
  /// The next Wake comes at `at`, or now if that is over.
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
