// SPDX-License-Identifier: Apache-2.0
//
// What a router knows as text, for --debug: a line for each table, so that only those that have
// changed need be printed.
#pragma once

#include <string>
#include <vector>

#include "router.h"

namespace orrery::lab::olsr {

/// `names`: of the interfaces.
std::vector<std::string> tables_of(const Router& router, const std::vector<std::string>& names);

}  // namespace orrery::lab::olsr
