// SPDX-License-Identifier: Apache-2.0
//
// The figures of a metric, by what it keeps, for all that shows them: the report, the database, the
// terminal, and through the report the tables of studies.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/model.h"
#include "run/engine.h"

namespace orrery {

/// A number that a metric is told by.
struct MetricFigure {
  std::string name;             ///< "mean", "p99"
  std::optional<double> value;  ///< nothing: there was nothing that it could be of
};

/// All that metrics may have, in their order.
inline constexpr std::array kFigureNames = {"count",   "sum",      "mean", "deviation", "minimum",
                                            "maximum", "p50",      "p90",  "p99",       "p99.9",
                                            "rate",    "sum_rate", "lps",  "total",     "seconds"};
/// `unit`: of the metric's values.
std::string unit_of_figure(std::string_view figure, const std::string& unit);

/// All that the metric has, in that order. Where nothing was recorded, there is only count and sum.
std::vector<MetricFigure> figures_of(const Metric& metric, const Model& model,
                                     const RunResult& result);

/// Of a metric without values there is none of these; older reports say 0.
bool is_of_values(std::string_view figure);
/// One of them, by name, where there is something that it could be of.
std::optional<double> figure_of(const Metric& metric, const Model& model, const RunResult& result,
                                std::string_view figure);

/// The smallest value that the share `q` does not exceed; nothing if no values were counted.
std::optional<double> quantile_of(const Metric& metric, const RunResult& result, double q);
/// Empty if the run has none.
const LevelSummary& level_of(const Metric& metric, const RunResult& result);
/// From where the metric was observed to where the run has come.
double observed_seconds(const Metric& metric, const Model& model, const RunResult& result);

}  // namespace orrery
