// SPDX-License-Identifier: Apache-2.0
//
// Reads the tables of --record from results.sqlite. A table may have ten million rows, so the
// database joins neighbouring LPs and intervals until a page can show them.
#pragma once

#include "output/sqlite.h"
#include "page/run_folder.h"

namespace orrery::page {

/// Throws std::runtime_error if the file is damaged.
void read_lp_results(const SqliteFile& database, RunFolder& run);

}  // namespace orrery::page
