// SPDX-License-Identifier: Apache-2.0
//
// What every engine must be able to rely on in a model.
#pragma once

#include <memory>

#include "orrery/model.h"

namespace orrery {

/// Throws ModelFault if no engine can have as many LPs as the model says.
void check_lp_count(const Model& model);

/// Model::create, which must not return nothing.
std::unique_ptr<LogicalProcessBase> create_lp(const Model& model, LpId id);

}  // namespace orrery
