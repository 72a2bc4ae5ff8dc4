// SPDX-License-Identifier: Apache-2.0
//
// A signal with a fixed cycle and two phases, reduced to one stop line: green from one time of the
// cycle on, for a part of the cycle. All arithmetic uses whole ticks and no loops, for any length
// of the red time and the headway.
//
// A stop line serves a vehicle every `headway` of *green* time. Counting in green time makes the
// service exact over many cycles: the rest of a headway at the end of green continues in the next
// green.
#pragma once

#include <cstdint>

#include "orrery/time.h"

namespace traffic {

class Signal {
 public:
  /// Always green.
  Signal() = default;
  /// Green in [start, start + green) of each cycle; 0 <= start < cycle, 0 < green <= cycle.
  Signal(orrery::Duration cycle, orrery::Duration start, orrery::Duration green)
      : cycle_(cycle.ticks()), start_(start.ticks()), green_(green.ticks()) {}

  bool is_green(orrery::Time time) const { return cycle_ == green_ || position(time) < green_; }

  /// The first time at or after `time` that is green.
  orrery::Time green_from(orrery::Time time) const {
    if (is_green(time)) return time;
    return time + orrery::Duration::from_ticks(cycle_ - position(time));
  }

  /// The time at which `headway` of green time has passed since `time`, which must be green.
  orrery::Time after(orrery::Time time, orrery::Duration headway) const {
    if (cycle_ == green_) return time + headway;
    const std::int64_t since_start = position(time);
    const std::int64_t target = since_start + headway.ticks();
    const std::int64_t cycles = target / green_;
    return time + orrery::Duration::from_ticks(cycles * cycle_ + target % green_ - since_start);
  }

 private:
  std::int64_t position(orrery::Time time) const {
    return (time.ticks() + (cycle_ - start_)) % cycle_;
  }
  std::int64_t cycle_ = 1, start_ = 0, green_ = 1;
};

}  // namespace traffic
