// SPDX-License-Identifier: Apache-2.0
//
// Charts of the engines over the wall-clock time: events per second, simulated time, efficiency and
// memory. If a run changed its engine, coloured stretches behind the lines show the engines.
#pragma once

#include <string>
#include <vector>

#include "page/metrics.h"

namespace orrery::page {

/// Empty if no report has enough samples.
std::string progress_charts(const std::vector<NamedRun>& runs);

/// The periods of a run that changed its engine, as a table; else empty.
std::string periods_table(const Json& report);

}  // namespace orrery::page
