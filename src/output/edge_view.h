// SPDX-License-Identifier: Apache-2.0
//
// The results of a survey of a model's sends (run/survey/edge_survey.h), as a table for the
// terminal and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "orrery/model.h"
#include "output/terminal.h"
#include "run/edge_kind.h"

namespace orrery {

/// Empty if nothing was sent.
std::string edge_table(const Model& model, const std::vector<EdgeKind>& edges,
                       const Terminal& terminal);

nlohmann::ordered_json edges_json(const Model& model, const std::vector<EdgeKind>& edges);

}  // namespace orrery
