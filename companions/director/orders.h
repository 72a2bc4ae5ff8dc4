// SPDX-License-Identifier: Apache-2.0
//
// The orders to a director.
#pragma once

#include "director/policy.h"
#include "director/scan.h"

namespace orrery::director {

struct Orders {
  static constexpr Nanoseconds kLeastTick = 100'000, kMostTick = 100'000'000;
  static constexpr double kLeastCeiling = 0.05, kMostCeiling = 0.95;

  Selection selection;
  Nanoseconds tick = 1'000'000;
  Nanoseconds most_tick = 0;  ///< to which the tick may be changed; 0: it stays
  double ceiling = 0.9;       ///< share of each core that directed threads have in real time
  Nanoseconds duration = 0;   ///< the director ends after this time; 0: no limit
  bool only_watch = false;    ///< measure the system's own scheduling, and change nothing
  bool keeps_samples = false;
  bool publishes_clocks = false;
};

}  // namespace orrery::director
