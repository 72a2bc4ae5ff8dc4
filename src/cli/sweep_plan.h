// SPDX-License-Identifier: Apache-2.0
//
// Makes the plan of a study from the options of `orrery sweep`. Every value of every parameter is
// checked here, as far as possible without executing the model: a study of hours must not end with
// the error that its last point is impossible.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/sweep_request.h"
#include "study/campaign.h"
#include "study/plan.h"

namespace orrery::cli {

struct SweepPlan {
  study::Plan plan;
  study::RunMaker maker;
  std::string warm_up_metric;  ///< pilots determine the warm-up for it; empty: none
  double confidence = 0.95;
  std::string model_name, model_path;  ///< the path of a shared object; else empty
  nlohmann::ordered_json identity;     ///< must stay the same when the study is resumed
};

/// Throws UsageError; errors in a study file have line and key.
SweepPlan plan_sweep(const SweepRequest& request);

}  // namespace orrery::cli
