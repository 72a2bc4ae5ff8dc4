// SPDX-License-Identifier: Apache-2.0
//
// Sentences about what limited a run and what would help. Each finding has a rule over figures of
// the report and appears only if the figures justify it. It states the figures in words and names
// their places in the report, so that a reader can check them. Findings do not guess at causes that
// no figure shows.
#pragma once

#include <string>
#include <vector>

#include "page/json_place.h"

namespace orrery::page {

struct Finding {
  std::string text;                  ///< one or two sentences
  std::vector<std::string> figures;  ///< "run.executed": places in report.json
};

/// The findings of one run, the most important kinds first.
std::vector<Finding> findings_of(const Json& report);

/// A statistic of the engine, also of an engine that `auto` chose ("timewarp.rollbacks").
std::optional<double> statistic(const Json& report, const std::string& name);

}  // namespace orrery::page
