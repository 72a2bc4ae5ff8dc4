// SPDX-License-Identifier: Apache-2.0
//
// The output of `orrery list` and `orrery describe` for programs: JSON with a newline at its end.
// docs/report.md describes the fields.
#pragma once

#include <string>

#include "orrery/model.h"
#include "run/engine.h"

namespace orrery::cli {

/// Models, engines, and all options that a run may have.
std::string list_json();
std::string engine_json(const EngineInfo& engine);
/// `model` must be as constructed: not prepared, all parameters at their defaults.
std::string model_json(const Model& model, const std::string& name, const std::string& summary);

}  // namespace orrery::cli
