// SPDX-License-Identifier: Apache-2.0
//
// The tables of a router as text, for --debug. Each table is one line, so that only changed tables
// need be printed.
#pragma once

#include <string>
#include <vector>

#include "router.h"

namespace orrery::lab::olsr {

/// `names`: names of the interfaces.
std::vector<std::string> tables_of(const Router& router, const std::vector<std::string>& names);

}  // namespace orrery::lab::olsr
