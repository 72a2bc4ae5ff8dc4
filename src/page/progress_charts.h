// SPDX-License-Identifier: Apache-2.0
//
// How the engines of runs behaved over the wall clock: events a second, how far the run had come,
// efficiency and memory. Of a run that went from engine to engine the engines are shades behind the
// lines.
#pragma once

#include <string>
#include <vector>

#include "page/metrics.h"

namespace orrery::page {

/// Empty where no report has samples enough.
std::string progress_charts(const std::vector<NamedRun>& runs);

/// The periods of a run that went from engine to engine, as a table; else empty.
std::string periods_table(const Json& report);

}  // namespace orrery::page
