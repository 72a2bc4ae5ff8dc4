// SPDX-License-Identifier: Apache-2.0
//
// The options of `orrery sweep`, from the command line and from a study file.
#pragma once

#include <string>
#include <vector>

#include "cli/run_request.h"
#include "study/plan.h"

namespace orrery::cli {

struct SweepRequest : RunRequest, OutputRequest {
  std::string engine, seeds, jobs, confidence, max_seeds, compared, shown;
  std::vector<std::string> precisions;

  std::vector<study::Axis> file_axes;
  std::vector<study::Settings> points;
  std::vector<std::size_t> point_lines;
};

}  // namespace orrery::cli
