// SPDX-License-Identifier: Apache-2.0
//
// What limited a run and what would help, in sentences. Each has a rule over figures of the report
// and is there only where they justify it; it says the figures in words and names where in the
// report they are, so that a reader can look. What no figure shows is not said: nothing here
// guesses at causes.
#pragma once

#include <string>
#include <vector>

#include "page/json_place.h"

namespace orrery::page {

struct Finding {
  std::string text;                  ///< one or two sentences
  std::vector<std::string> figures;  ///< "run.executed": places in report.json
};

/// The findings of one run, the weightiest kinds first.
std::vector<Finding> findings_of(const Json& report);

/// A figure of the engine's, also of one that `auto` gave the run to ("timewarp.rollbacks").
std::optional<double> statistic(const Json& report, const std::string& name);

}  // namespace orrery::page
