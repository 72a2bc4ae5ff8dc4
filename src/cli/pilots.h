// SPDX-License-Identifier: Apache-2.0
//
// `orrery sweep --warm-up auto:METRIC`: pilot runs at each point, with seeds that the study does
// not use, tell how long a warm-up has to be (study/warm_up.h). The longest of all points is the
// study's, so that points are compared over the same time. The pilots are a study of their own in
// the folder's `pilots`, kept and found again as runs are.
#pragma once

#include <optional>
#include <string>

#include "cli/sweep_plan.h"
#include "study/study_result.h"

namespace orrery::cli {

/// Ends the command: a signal, or pilots that failed; what is to be said is said.
struct PilotsEnded {
  int code;
};

/// Carries the pilots out, where the plan asks for some, and gives the runs of the plan the
/// warm-up. Throws PilotsEnded, and UsageError for runs that are too short to tell.
std::optional<study::FixedWarmUp> fix_warm_up(SweepPlan& sweep, const std::string& folder,
                                              const SweepArguments& arguments);

}  // namespace orrery::cli
