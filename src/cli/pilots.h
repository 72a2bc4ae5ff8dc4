// SPDX-License-Identifier: Apache-2.0
//
// `orrery sweep --warm-up auto:METRIC`: pilot runs at each point, with seeds that the study does
// not use, determine the length of the warm-up (study/warm_up.h). The study takes the longest
// warm-up of all points, so that points are compared over the same time. The pilots are a study of
// their own in the folder's `pilots`; a later command finds and reuses their reports.
#pragma once

#include <optional>
#include <string>

#include "cli/sweep_plan.h"
#include "study/study_result.h"

namespace orrery::cli {

/// Ends the command after a signal or failed pilots. Messages have been printed before the throw.
struct PilotsEnded {
  int code;
};

/// Executes the pilots, if the plan asks for some, and gives the plan's runs the warm-up. Throws
/// PilotsEnded, and UsageError if runs are too short to determine a warm-up.
std::optional<study::FixedWarmUp> fix_warm_up(SweepPlan& sweep, const std::string& folder,
                                              const SweepRequest& request);

}  // namespace orrery::cli
