// SPDX-License-Identifier: Apache-2.0
//
// How fast a machine is, as one number that can be put into a table: the rate of the sequential
// engine on a fixed PHOLD over a reference rate that stands in the code for good. It says what a
// core does alone. What cores do together depends on the model, and is measured with it.
#pragma once

#include <optional>
#include <string>

#include "advise/runner.h"

namespace orrery::advise {

/// Events a second that are a factor of 1.
inline constexpr double kReferenceRate = 4e6;

struct Speed {
  double factor = 1;
  double rate = 0;                 ///< events a second, the median of its runs
  double lowest = 0, highest = 0;  ///< of them
  unsigned runs = 0;
};

/// Nothing where it was interrupted. Throws std::runtime_error if such a run fails.
std::optional<Speed> measure_speed(Runner& runner, const std::string& folder, unsigned runs);

}  // namespace orrery::advise
