// SPDX-License-Identifier: Apache-2.0
//
// Markup of what --record has kept of single LPs: a bar for each LP, a table of the LPs with the
// highest means (counts if all means are equal), their courses as small charts on one scale, and a
// heat map over LPs and time.
#pragma once

#include <string>

#include "page/run_folder.h"

namespace orrery::page {

/// Empty if the run has recorded no LPs.
std::string lp_markup(const RunFolder& run);

}  // namespace orrery::page
