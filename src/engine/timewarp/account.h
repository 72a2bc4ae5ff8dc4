// SPDX-License-Identifier: Apache-2.0
//
// A sentence on how a run went, for a user who only wants results: how many events were undone, and
// whether LPs moved between workers. All figures are in the report.
#pragma once

#include <cstdint>
#include <string>

#include "engine/timewarp/statistics.h"

namespace orrery::timewarp {

/// One sentence without its full stop. `sum`: over all workers.
std::string account_of(const WorkerStatistics& sum, unsigned workers);

}  // namespace orrery::timewarp
