// SPDX-License-Identifier: Apache-2.0
//
// The speed of a machine as one number for a table of machines: the rate of the sequential engine
// on a fixed PHOLD, divided by a constant reference rate. The number shows the speed of one core
// alone. The speed of several cores together depends on the model, and is measured with the model.
#pragma once

#include <optional>
#include <string>

#include "advise/runner.h"

namespace orrery::advise {

/// Events per second with the factor 1.
inline constexpr double kReferenceRate = 4e6;

struct Speed {
  double factor = 1;
  double rate = 0;                 ///< events per second, the median of the runs
  double lowest = 0, highest = 0;  ///< rates of the runs
  unsigned runs = 0;
};

/// Nothing if a signal came. Throws std::runtime_error if a run fails.
std::optional<Speed> measure_speed(Runner& runner, const std::string& folder, unsigned runs);

}  // namespace orrery::advise
