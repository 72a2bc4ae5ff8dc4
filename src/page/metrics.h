// SPDX-License-Identifier: Apache-2.0
//
// Metrics and tables of one run or of several side by side: tables of figures, histograms and time
// series. For one run, a histogram has bars and marks for its quantiles, and a series has a band
// from the smallest to the largest value. For several runs, each run is a line, and histograms show
// shares, since the runs' counts may differ.
#pragma once

#include <string>
#include <vector>

#include "page/run_folder.h"

namespace orrery::page {

/// A run with the name that it has on the page.
struct NamedRun {
  std::string name;
  const RunFolder* folder = nullptr;
};

/// All figures of a run's metrics, one table for each kind.
std::string figures_markup(const Json& report);

/// Histograms and time series of all metrics that any of the runs has.
std::string metric_charts(const std::vector<NamedRun>& runs);

/// Sizes, first rows and courses of the model's tables.
std::string tables_markup(const RunFolder& run);

/// Courses of columns in tables of the same name, side by side.
std::string course_charts(const std::vector<NamedRun>& runs);

}  // namespace orrery::page
