// SPDX-License-Identifier: Apache-2.0
//
// The names that a model gives its LPs (Model::name_of). No name is stored: a million LPs cost
// nothing until a sentence or a table needs a name.
#pragma once

#include <string>

#include "core/lp_text.h"
#include "orrery/model.h"

namespace orrery {

/// The LP's name; "" if it has none. Throws ModelFault for a name that is not possible, and for an
/// exception of the model. Not while a handler runs.
std::string lp_name(const Model& model, LpId lp);

/// "LP 5 (router3)" for sentences, also about a fault; "LP 5" without a name, or if the name cannot
/// be had. Throws nothing.
std::string lp_text(const Model& model, LpId lp);
std::string lp_number_text(const Model& model, LpId lp);

}  // namespace orrery
