// SPDX-License-Identifier: Apache-2.0
#include "observe/metric_figures.h"

#include <algorithm>

#include "core/histogram.h"

namespace orrery {
namespace {

const Summary& summary_of(const Metric& metric, const RunResult& result) {
  static const Summary nothing;  // a run that failed early has no metrics
  return metric.index() < result.metrics.size() ? result.metrics[metric.index()] : nothing;
}

std::vector<MetricFigure> level_figures(const LevelSummary& level, double tick_seconds) {
  const auto of_time = [&](double value) {
    return level.ticks > 0 ? std::optional(value) : std::nullopt;
  };
  return {{"count", static_cast<double>(level.changes)},
          {"mean", of_time(level.mean())},
          {"deviation", of_time(level.deviation())},
          {"minimum", of_time(level.minimum)},
          {"maximum", of_time(level.maximum)},
          {"lps", static_cast<double>(level.lps)},
          {"total", of_time(level.total)},
          {"seconds", level.ticks * tick_seconds}};
}

}  // namespace

std::string unit_of_figure(std::string_view figure, const std::string& unit) {
  if (figure == "count" || figure == "lps") return "";
  if (figure == "seconds") return "s";
  if (figure == "rate") return "1/s";
  if (figure == "sum_rate") return (unit.empty() ? "1" : unit) + "/s";
  return unit;
}

std::vector<MetricFigure> figures_of(const Metric& metric, const Model& model,
                                     const RunResult& result) {
  if (metric.is_level()) return level_figures(level_of(metric, result), model.tick_seconds());
  const Summary& summary = summary_of(metric, result);
  const auto of_values = [&](double value) {
    return summary.count > 0 ? std::optional(value) : std::nullopt;
  };
  std::vector<MetricFigure> figures = {
      {"count", static_cast<double>(summary.count)}, {"sum", summary.sum},
      {"mean", of_values(summary.mean())},           {"deviation", of_values(summary.deviation())},
      {"minimum", of_values(summary.minimum)},       {"maximum", of_values(summary.maximum)}};
  if (metric.keeps(Keep::histogram))
    for (const NamedQuantile& one : kNamedQuantiles)
      figures.push_back({one.name, quantile_of(metric, result, one.share)});
  if (metric.keeps(Keep::rate)) {
    const double seconds = observed_seconds(metric, model, result);
    const auto rate = [seconds](double amount) {
      return seconds > 0 ? std::optional(amount / seconds) : std::nullopt;
    };
    figures.push_back({"rate", rate(static_cast<double>(summary.count))});
    figures.push_back({"sum_rate", rate(summary.sum)});
  }
  return figures;
}

bool is_of_values(std::string_view figure) {
  return figure == "mean" || figure == "deviation" || figure == "minimum" || figure == "maximum";
}

std::optional<double> figure_of(const Metric& metric, const Model& model, const RunResult& result,
                                std::string_view figure) {
  for (const MetricFigure& one : figures_of(metric, model, result))
    if (one.name == figure) return one.value;
  return {};
}

/// Limits the quantile to minimum and maximum, which are exact.
std::optional<double> quantile_of(const Metric& metric, const RunResult& result, double q) {
  const Summary& summary = summary_of(metric, result);
  if (!metric.keeps(Keep::histogram) || !result.tally || summary.count == 0) return {};
  const Histogram& histogram = result.tally->histogram(metric);
  if (histogram.count() == 0) return {};
  if (histogram.undefined() > 0) return histogram.quantile(q);  // extremes may be NaN
  if (q <= 0) return summary.minimum;
  if (q >= 1) return summary.maximum;
  return std::clamp(histogram.quantile(q), summary.minimum, summary.maximum);
}

const LevelSummary& level_of(const Metric& metric, const RunResult& result) {
  static const LevelSummary nothing;
  return metric.index() < result.levels.size() ? result.levels[metric.index()] : nothing;
}

double observed_seconds(const Metric& metric, const Model& model, const RunResult& result) {
  if (result.reached <= metric.observed_from()) return 0;
  return static_cast<double>((result.reached - metric.observed_from()).ticks()) *
         model.tick_seconds();
}

}  // namespace orrery
