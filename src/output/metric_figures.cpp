// SPDX-License-Identifier: Apache-2.0
#include "output/metric_figures.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "core/histogram.h"

namespace orrery {
namespace {

const Summary& summary_of(const Metric& metric, const RunResult& result) {
  static const Summary nothing;  // a run that failed early has no metrics
  return metric.index() < result.metrics.size() ? result.metrics[metric.index()] : nothing;
}

using Values = std::vector<std::pair<const char*, std::optional<double>>>;

Values level_values(const LevelSummary& level, double tick_seconds) {
  const auto of_time = [&](double value) {
    return level.ticks > 0 ? std::optional(value) : std::nullopt;
  };
  const auto of_lps = [&](double value) {
    return level.lps > 0 ? std::optional(value) : std::nullopt;
  };
  return {{"count", static_cast<double>(level.changes)},
          {"mean", of_time(level.mean())},
          {"deviation", of_time(level.deviation())},
          {"minimum", of_time(level.minimum)},
          {"maximum", of_time(level.maximum)},
          {"lps", static_cast<double>(level.lps)},
          {"total", of_time(level.total)},
          {"seconds", level.ticks * tick_seconds},
          {"current_total", level.current_total},
          {"current_mean", of_lps(level.current_mean())},
          {"current_minimum", of_lps(level.current_minimum)},
          {"current_maximum", of_lps(level.current_maximum)}};
}

Values summary_values(const Metric& metric, const Model& model, const RunResult& result) {
  const Summary& summary = summary_of(metric, result);
  const auto of_values = [&](double value) {
    return summary.count > 0 ? std::optional(value) : std::nullopt;
  };
  Values values = {
      {"count", static_cast<double>(summary.count)}, {"sum", summary.sum},
      {"mean", of_values(summary.mean())},           {"deviation", of_values(summary.deviation())},
      {"minimum", of_values(summary.minimum)},       {"maximum", of_values(summary.maximum)}};
  if (metric.keeps(Keep::histogram))
    for (const NamedQuantile& one : kNamedQuantiles)
      values.emplace_back(one.name, quantile_of(metric, result, one.share));
  if (metric.keeps(Keep::rate)) {
    const double seconds = observed_seconds(metric, model, result);
    const auto rate = [seconds](double amount) {
      return seconds > 0 ? std::optional(amount / seconds) : std::nullopt;
    };
    values.emplace_back("rate", rate(static_cast<double>(summary.count)));
    values.emplace_back("sum_rate", rate(summary.sum));
  }
  return values;
}

std::vector<const char*> quantile_names() {
  std::vector<const char*> names;
  for (const NamedQuantile& one : kNamedQuantiles) names.push_back(one.name);
  return names;
}

}  // namespace

const std::vector<FigureGroup>& figure_groups() {
  static const std::vector<FigureGroup> groups = {
      {Keep::summary,
       "metric",
       "Values",
       {"count", "mean", "deviation", "minimum", "maximum", "sum"},
       5},
      {Keep::histogram, "quantiles", "Quantiles", quantile_names(), std::size(kNamedQuantiles)},
      {Keep::level,
       "level",
       "Levels, over time",
       {"total", "mean", "deviation", "minimum", "maximum", "count", "lps", "seconds"},
       5},
      {Keep::level,
       "current level",
       "Current values of levels",
       {"current_total", "current_mean", "current_minimum", "current_maximum"},
       0},
      {Keep::rate, "each second", "For each simulated second", {"rate", "sum_rate"}, 2}};
  return groups;
}

const char* kind_of(Keep kept) {
  return kept == Keep::level ? "level" : "values";
}

std::string unit_of_figure(std::string_view figure, const std::string& unit) {
  if (is_count(figure)) return "";
  if (figure == "seconds") return "s";
  if (figure == "rate") return "1/s";
  if (figure == "sum_rate") return (unit.empty() ? "1" : unit) + "/s";
  return unit;
}

bool is_count(std::string_view figure) {
  return figure == "count" || figure == "lps";
}

bool is_main_figure(std::string_view figure) {
  static const std::set<std::string_view> main = {"count", "mean", "p50", "p99", "total", "rate"};
  return main.contains(figure);
}

std::vector<MetricFigure> figures_of(const Metric& metric, const Model& model,
                                     const RunResult& result) {
  std::vector<MetricFigure> figures;
  for (const auto& [name, value] :
       metric.is_level() ? level_values(level_of(metric, result), model.tick_seconds())
                         : summary_values(metric, model, result))
    figures.push_back({name, unit_of_figure(name, metric.unit()), value});
  return figures;
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
  if (!metric.keeps(Keep::histogram) || !result.mergeable_statistics || summary.count == 0)
    return {};
  const Histogram& histogram = result.mergeable_statistics->histogram(metric);
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
