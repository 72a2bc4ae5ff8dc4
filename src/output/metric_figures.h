// SPDX-License-Identifier: Apache-2.0
//
// The figures of a metric, chosen by the statistics that it keeps: their names, units, order and
// the tables that show them. The report describes each metric by kind, unit and figures, so that
// studies, comparisons and programs need no list of names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/model.h"
#include "run/engine.h"

namespace orrery {

/// A statistic of a metric.
struct MetricFigure {
  std::string name;  ///< "mean", "p99"
  std::string unit;
  std::optional<double> value;  ///< nothing: undefined, as a mean without values
};

/// Figures that one table shows.
struct FigureGroup {
  Keep kept;            ///< the statistic that gives a metric these figures
  const char* heading;  ///< on the terminal
  const char* title;    ///< on pages
  std::vector<const char*> names;
  std::size_t brief;  ///< how many of them the terminal shows; 0: no table there

  bool is_of(const Metric& metric) const {
    return kept == Keep::summary ? !metric.is_level() : metric.keeps(kept);
  }
};
const std::vector<FigureGroup>& figure_groups();

/// The kind, in reports, of metrics that keep this: "values" or "level".
const char* kind_of(Keep kept);
/// `unit`: of the metric's values.
std::string unit_of_figure(std::string_view figure, const std::string& unit);
/// True for numbers of things, which are whole.
bool is_count(std::string_view figure);
/// True for the figures that a comparison of runs shows first.
bool is_main_figure(std::string_view figure);

/// All figures of the metric, in the order of reports.
std::vector<MetricFigure> figures_of(const Metric& metric, const Model& model,
                                     const RunResult& result);

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
