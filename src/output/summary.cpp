// SPDX-License-Identifier: Apache-2.0
#include "output/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "output/batch_means.h"
#include "output/edge_view.h"
#include "output/lp_tables.h"
#include "output/metric_figures.h"
#include "output/number_text.h"
#include "output/text_table.h"
#include "run/containment/faults.h"
#include "run/containment/lp_names.h"
#include "run/results/metric_options.h"

namespace orrery {
namespace {

using Align = TextTable::Align;

std::string heading(const RunRecord& record, const Terminal& terminal) {
  const unsigned workers = record.result.workers;
  const unsigned ranks = record.result.ranks;
  return fmt::format("{} on {}, {}{} worker{}, seed {}\n\n", terminal.bold(record.model_name),
                     record.engine, ranks == 1 ? "" : fmt::format("{} ranks of ", ranks), workers,
                     workers == 1 ? "" : "s", record.options.seed);
}

std::string simulated_text(const RunRecord& record) {
  if (record.complete()) return time_text(*record.model, record.result.reached);
  return fmt::format("{} of {}, {}", rounded_time_text(record.reached_seconds()),
                     time_text(*record.model, record.options.until),
                     run_end_text(record.result.end));
}

std::string run_table(const RunRecord& record, const Terminal& terminal) {
  const RunResult& result = record.result;
  TextTable table({{""}, {""}});
  table.add({"simulated", simulated_text(record)});
  table.add({"wall time",
             fmt::format("{} ({}), start {}, end {}", span_text(result.loop_seconds),
                         pace_text(record.simulated_per_second()),
                         span_text(result.startup_seconds), span_text(result.shutdown_seconds))});
  table.add({"events",
             fmt::format("{} committed of {} executed (efficiency {})", grouped(result.committed),
                         grouped(result.executed), percent_text(record.efficiency()))});
  table.add({"rate", short_number(record.events_per_second()) + " committed events/s"});
  table.add({"memory", bytes_text(record.peak_resident_bytes) + " at most"});
  table.add({"fingerprint", fingerprint_text(result.fingerprint)});
  return table.text(terminal);
}

std::string derived_table(const RunRecord& record, const Terminal& terminal) {
  TextTable table({{"result"}, {"value", Align::right}, {"unit"}, {"meaning"}});
  for (const DerivedValue& value : record.derived)
    table.add({value.name,
               value.text.value_or(std::isnan(value.value) ? "-" : number_text(value.value)),
               unit_text(value.unit), value.help});
  return table.text(terminal);
}

std::uint64_t updates_of(const Summary& summary) {
  return summary.count;
}
std::uint64_t updates_of(const LevelSummary& level) {
  return level.changes;
}

std::string figure_cell(const std::vector<MetricFigure>& figures, std::string_view name) {
  for (const MetricFigure& figure : figures)
    if (figure.name == name && figure.value)
      return is_count(name) ? grouped(static_cast<std::uint64_t>(*figure.value))
                            : number_text(*figure.value);
  return "-";
}

/// The brief figures of a group, of the metrics that have it.
std::string figure_table(const RunRecord& record, const Terminal& terminal,
                         const FigureGroup& group) {
  if (group.brief == 0) return "";
  const std::span names(group.names.data(), group.brief);
  std::vector<TextTable::Column> columns = {{group.heading}};
  for (const char* name : names) columns.push_back({name, Align::right});
  columns.push_back({"unit"});
  TextTable table(columns);
  for (std::size_t i = 0; i < record.result.metrics.size(); ++i) {
    const Metric& metric = *record.model->metrics()[i];
    if (!group.is_of(metric)) continue;
    std::vector<std::string> cells = {metric.name()};
    const auto figures = figures_of(metric, *record.model, record.result);
    for (const char* name : names) cells.push_back(figure_cell(figures, name));
    cells.push_back(unit_text(unit_of_figure(names.back(), metric.unit())));
    table.add(std::move(cells));
  }
  return table.text(terminal);
}

/// The intervals from one run, with marks on those that are not reliable.
std::string batches_table(const RunRecord& record, const Terminal& terminal) {
  TextTable table({{"batch means"},
                   {"mean or total", Align::right},
                   {"+/- (95 %)", Align::right},
                   {"batches", Align::right},
                   {"correlation", Align::right},
                   {"unit"}});
  std::string warnings;
  for (const Metric* metric : batched_metrics(*record.model, record.options)) {
    std::string why;
    const std::optional<BatchMeans> means = batch_means(*metric, record.result, 0.95, &why);
    if (!means) {
      table.add({metric->name(), "-", "-", "-", "-", unit_text(metric->unit())});
      warnings += fmt::format("  {}: no interval: {}\n", metric->name(), why);
      continue;
    }
    table.add({metric->name(), number_text(means->mean), number_text(means->half_width),
               grouped(means->batches), number_text(means->correlation),
               unit_text(metric->unit())});
    if (!means->are_independent())
      warnings += fmt::format("  {}: {}\n", metric->name(), kDependentBatches);
  }
  return table.empty() ? "" : table.text(terminal) + warnings;
}

/// Whether the means of LPs tell them apart; not if each value is 1, as in a metric that counts.
template <class Figures>
bool have_different_means(const Figures& figures) {
  return std::any_of(figures.begin(), figures.end(), [&figures](const auto& one) {
    return one.second.mean() != figures.front().second.mean();
  });
}

/// The places of the LPs with the highest means, or the highest counts if all means are equal.
template <class Figures>
std::vector<std::size_t> highest_first(const Figures& figures, bool by_mean) {
  std::vector<std::size_t> order(figures.size());
  std::iota(order.begin(), order.end(), 0);
  const auto figure = [&figures, by_mean](std::size_t i) {
    const auto& one = figures[i].second;
    const double value = by_mean ? one.mean() : static_cast<double>(updates_of(one));
    return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&figure](std::size_t a, std::size_t b) { return figure(a) > figure(b); });
  return order;
}

/// Some LPs of one recording.
template <class Figures>
std::string highest_lps(const Metric& metric, const Model& model, const Figures& figures,
                        const Terminal& terminal) {
  constexpr std::size_t kShown = 10;
  const bool by_mean = have_different_means(figures);
  std::vector<std::size_t> order = highest_first(figures, by_mean);
  order.resize(std::min(order.size(), kShown));
  TextTable table({{metric.name() + " of LPs"},
                   {"count", Align::right},
                   {"mean", Align::right},
                   {"deviation", Align::right},
                   {"minimum", Align::right},
                   {"maximum", Align::right},
                   {"unit"}});
  for (const std::size_t i : order) {
    const auto& [lp, one] = figures[i];
    std::vector<std::string> cells = {lp_text(model, lp), grouped(updates_of(one))};
    for (const double value : {one.mean(), one.deviation(), one.minimum, one.maximum})
      cells.push_back(std::isnan(one.mean()) ? "-" : number_text(value));
    cells.push_back(unit_text(metric.unit()));
    table.add(std::move(cells));
  }
  if (figures.size() <= kShown) return table.text(terminal);
  return table.text(terminal) +
         fmt::format("  the highest {} of {} LPs; with --out, table {} has all\n",
                     by_mean ? "means" : "counts", grouped(figures.size()), lp_table_name(metric));
}

std::string lp_figure_table(const Metric& metric, const RunRecord& record,
                            const Terminal& terminal) {
  if (metric.recording() == nullptr || metric.index() >= record.result.lp_figures.size()) return "";
  const LpFigures& figures = record.result.lp_figures[metric.index()];
  return metric.is_level() ? highest_lps(metric, *record.model, figures.levels, terminal)
                           : highest_lps(metric, *record.model, figures.values, terminal);
}

std::string metric_tables(const RunRecord& record, const Terminal& terminal) {
  std::string text;
  const auto add = [&](const std::string& table) {
    if (!table.empty()) text += (text.empty() ? "" : "\n") + table;
  };
  for (const FigureGroup& group : figure_groups()) add(figure_table(record, terminal, group));
  add(batches_table(record, terminal));
  for (const Metric* metric : record.model->metrics())
    add(lp_figure_table(*metric, record, terminal));
  return text;
}

std::vector<std::string> statistic_cells(const Statistic& statistic) {
  if (statistic.unit == "B" && statistic.value >= 0)
    return {statistic.name, bytes_text(static_cast<std::uint64_t>(statistic.value)), "",
            statistic.help};
  return {statistic.name, number_text(statistic.value), unit_text(statistic.unit), statistic.help};
}

std::string statistics_table(const RunRecord& record, const Terminal& terminal) {
  TextTable table({{"engine"}, {"value", Align::right}, {"unit"}, {"meaning"}});
  for (const Statistic& statistic : record.result.statistics) table.add(statistic_cells(statistic));
  return table.text(terminal);
}

/// One sentence, unless details are asked for, so that the results stay visible.
std::string engine_text(const RunRecord& record, const Terminal& terminal, Detail detail) {
  const RunResult& result = record.result;
  std::string text;
  if (!result.account.empty()) text = fmt::format("{}: {}\n", record.engine, result.account);
  if (detail == Detail::figures) text += statistics_table(record, terminal);
  return text;
}

}  // namespace

std::string summary_text(const RunRecord& record, const Terminal& terminal, Detail detail) {
  std::string text = heading(record, terminal) + run_table(record, terminal);
  for (const auto& part : {derived_table(record, terminal), metric_tables(record, terminal),
                           edge_table(*record.model, record.result.edges, terminal),
                           engine_text(record, terminal, detail)})
    if (!part.empty()) text += "\n" + part;
  for (const std::string& note : record.result.notes) text += "\nnote: " + note + "\n";
  return text;
}

}  // namespace orrery
