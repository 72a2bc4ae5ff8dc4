// SPDX-License-Identifier: Apache-2.0
#include "output/lp_tables.h"

#include <initializer_list>
#include <map>

#include "run/containment/lp_names.h"

namespace orrery {
namespace {

constexpr ColumnType kInteger = ColumnType::integer, kReal = ColumnType::real,
                     kText = ColumnType::text;

/// A level has a duration in place of a sum.
std::vector<Column> figure_columns(const Metric& metric) {
  const std::string& unit = metric.unit();
  const Column second =
      metric.is_level() ? Column{"seconds", kReal, "s"} : Column{"sum", kReal, unit};
  return {{"lp", kInteger},         {"name", kText},
          {"count", kInteger},      second,
          {"mean", kReal, unit},    {"deviation", kReal, unit},
          {"minimum", kReal, unit}, {"maximum", kReal, unit}};
}

/// The mean of a level over an interval has neither a sum nor extremes.
std::vector<Column> series_columns(const Metric& metric) {
  const std::string& unit = metric.unit();
  std::vector<Column> columns = {{"lp", kInteger},
                                 {"name", kText},
                                 {"begin_ticks", kInteger, "ticks"},
                                 {"end_ticks", kInteger, "ticks"},
                                 {"count", kInteger}};
  if (!metric.is_level()) columns.push_back({"sum", kReal, unit});
  columns.push_back({"mean", kReal, unit});
  if (!metric.is_level())
    columns.insert(columns.end(), {{"minimum", kReal, unit}, {"maximum", kReal, unit}});
  return columns;
}

std::int64_t whole(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

LpCell name_cell(std::string_view name) {
  return name.empty() ? LpCell(nullptr) : LpCell(name);
}

void visit_values(const Model& model, const LpFigures& figures, const LpResultTable::Visit& visit) {
  for (const auto& [lp, one] : figures.values) {
    const std::string name = lp_name(model, lp);
    visit(std::initializer_list<LpCell>{whole(lp), name_cell(name), whole(one.count), one.sum,
                                        one.mean(), one.deviation(), one.minimum, one.maximum});
  }
}

/// A level that was first set at the end of the run has lasted for no time.
void visit_levels(const Model& model, const LpFigures& figures, const LpResultTable::Visit& visit) {
  for (const auto& [lp, one] : figures.levels) {
    const std::string name = lp_name(model, lp);
    const auto of_time = [ticks = one.ticks](double value) {
      return ticks > 0 ? LpCell(value) : LpCell(nullptr);
    };
    visit(std::initializer_list<LpCell>{
        whole(lp), name_cell(name), whole(one.changes), one.ticks * model.tick_seconds(),
        of_time(one.mean()), of_time(one.deviation()), of_time(one.minimum), of_time(one.maximum)});
  }
}

std::vector<LpCell> interval_cells(LpId lp, std::string_view name, const Series::Interval& one,
                                   bool of_level) {
  std::vector<LpCell> cells = {whole(lp), name_cell(name), one.begin.ticks(), one.end.ticks(),
                               whole(one.count)};
  if (of_level) {
    cells.emplace_back(one.mean);
    return cells;
  }
  cells.emplace_back(one.sum);
  for (const double value : {one.mean, one.minimum, one.maximum})
    cells.push_back(one.count > 0 ? LpCell(value) : LpCell(nullptr));
  return cells;
}

void visit_series(const Model& model, const Metric& metric, const RunResult& result,
                  const LpResultTable::Visit& visit) {
  for (const auto& [lp, series] : result.mergeable_statistics->lp_series(metric)) {
    const std::string name = lp_name(model, lp);
    for (const auto& one : series->intervals(metric.observed_from(), result.reached))
      visit(interval_cells(lp, name, one, metric.is_level()));
  }
}

}  // namespace

std::string lp_table_name(const Metric& metric) {
  return "lp_" + metric.name();
}
std::string lp_series_name(const Metric& metric) {
  return lp_table_name(metric) + "_series";
}

std::vector<LpResultTable> lp_tables(const Model& model, const RunResult& result) {
  std::vector<LpResultTable> tables;
  for (const Metric* metric : model.metrics()) {
    if (metric->recording() == nullptr || metric->index() >= result.lp_figures.size()) continue;
    const LpFigures& figures = result.lp_figures[metric->index()];
    tables.push_back({lp_table_name(*metric), metric->name(), "figures", figure_columns(*metric),
                      [&model, metric, &figures](const LpResultTable::Visit& visit) {
                        metric->is_level() ? visit_levels(model, figures, visit)
                                           : visit_values(model, figures, visit);
                      }});
    if (!metric->recording()->has_series() || !result.mergeable_statistics) continue;
    tables.push_back({lp_series_name(*metric), metric->name(), "series", series_columns(*metric),
                      [&model, metric, &result](const LpResultTable::Visit& visit) {
                        visit_series(model, *metric, result, visit);
                      }});
  }
  return tables;
}

LpResultTable lp_name_table(std::vector<std::pair<LpId, std::string>> names) {
  const bool is_empty = names.empty();
  return {"orrery_lp_names",
          "",
          "names",
          {{"lp", kInteger}, {"name", kText}},
          [names = std::move(names)](const LpResultTable::Visit& visit) {
            for (const auto& [lp, name] : names)
              visit(std::initializer_list<LpCell>{whole(lp), std::string_view(name)});
          },
          is_empty};
}

}  // namespace orrery
