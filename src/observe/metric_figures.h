// SPDX-License-Identifier: Apache-2.0
//
// The figures of a metric, chosen by the statistics that it keeps. The report, the database, the
// terminal and, through the report, the tables of studies use these functions.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/model.h"
#include "run/engine.h"

namespace orrery {

/// A statistic of a metric.
struct MetricFigure {
  std::string name;             ///< "mean", "p99"
  std::optional<double> value;  ///< nothing: undefined, as a mean without values
};

/// All figures that metrics may have, in their order.
inline constexpr std::array kFigureNames = {"count",   "sum",      "mean", "deviation", "minimum",
                                            "maximum", "p50",      "p90",  "p99",       "p99.9",
                                            "rate",    "sum_rate", "lps",  "total",     "seconds"};
/// `unit`: of the metric's values.
std::string unit_of_figure(std::string_view figure, const std::string& unit);

/// All figures of the metric, in that order. Without recorded values they are count and sum only.
std::vector<MetricFigure> figures_of(const Metric& metric, const Model& model,
                                     const RunResult& result);

/// True for figures that are undefined without values; older reports have 0 for them.
bool is_of_values(std::string_view figure);
/// One figure, by name; nothing if it is undefined.
std::optional<double> figure_of(const Metric& metric, const Model& model, const RunResult& result,
                                std::string_view figure);

/// The smallest value that the share `q` does not exceed; nothing if no values were counted.
std::optional<double> quantile_of(const Metric& metric, const RunResult& result, double q);
/// Empty if the run has no levels.
const LevelSummary& level_of(const Metric& metric, const RunResult& result);
/// Seconds from the start of the metric's observation to the time that the run has reached.
double observed_seconds(const Metric& metric, const Model& model, const RunResult& result);

}  // namespace orrery
