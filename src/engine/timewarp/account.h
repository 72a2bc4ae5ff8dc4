// SPDX-License-Identifier: Apache-2.0
//
// A sentence on how a run went, for a user who only wants results: how many events were undone, and
// whether LPs moved between workers. All figures are in the report.
#pragma once

#include <cstdint>
#include <string>

#include "engine/timewarp/statistics.h"

namespace orrery::timewarp {

/// LPs that moved between workers.
struct MoveCount {
  std::uint64_t times = 0, lps = 0;
};

/// One sentence without its full stop. `sum`: over all workers.
std::string account_of(const WorkerStatistics& sum, unsigned workers, const MoveCount& moves);

}  // namespace orrery::timewarp
