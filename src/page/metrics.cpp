// SPDX-License-Identifier: Apache-2.0
#include "page/metrics.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/histogram.h"
#include "output/batch_means.h"
#include "output/metric_figures.h"
#include "output/number_text.h"
#include "page/chart.h"
#include "page/markup.h"

namespace orrery::page {
namespace {

constexpr double kWidestBand = 8;  // in spans of the means; a wider band would flatten their line

double tick_seconds(const Json& report) {
  return number_at(report, {"model", "tick_seconds"}).value_or(1e-9);
}
double tick_seconds(const RunFolder& run) {
  return tick_seconds(run.report);
}

/// The unit for the simulated time of all runs.
TimeUnit simulated_unit(const std::vector<NamedRun>& runs) {
  double longest = 0;
  for (const NamedRun& run : runs)
    longest =
        std::max(longest, number_at(run.folder->report, {"run", "reached_seconds"}).value_or(0));
  return unit_of_span(longest);
}

std::string labelled(const std::string& name, const std::string& unit) {
  return unit.empty() || unit == "1" ? name : fmt::format("{} ({})", name, unit);
}

std::string line_name(const std::vector<NamedRun>& runs, std::size_t i) {
  return runs.size() > 1 ? runs[i].name : "";
}

/// The metric in the first run that has it.
const Json& metric_json(const std::vector<NamedRun>& runs, const std::string& metric) {
  for (const NamedRun& run : runs)
    if (const Json& json = at(run.folder->report, {"metrics", metric.c_str()}); json.is_object())
      return json;
  return at(Json(), {""});
}

std::string caption(const std::string& name, const std::string& help) {
  return help.empty() ? name : name + ": " + help;
}

double total(const std::vector<double>& counts) {
  double sum = 0;
  for (const double count : counts) sum += count;
  return sum;
}

void add_bars(const Bins& bins, const std::vector<double>& counts, Chart& chart) {
  const double all = total(counts);
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0)
      chart.bars.push_back(
          {bins.edges[i], bins.edges[i + 1], counts[i],
           fmt::format("{} to {}: {} ({})", number_text(bins.edges[i]),
                       number_text(bins.edges[i + 1]), number_text(std::round(counts[i])),
                       percent_text(counts[i] / all))});
}

void add_outline(const Bins& bins, const std::vector<double>& counts, const std::string& name,
                 Chart& chart) {
  const double all = total(counts);
  Line line{name, {{bins.edges[0], 0}}, true};
  for (std::size_t i = 0; i < counts.size(); ++i)
    line.points.push_back({bins.edges[i + 1], all > 0 ? 100 * counts[i] / all : 0});
  line.points.push_back({bins.edges.back(), 0});
  chart.lines.push_back(std::move(line));
}

void add_quantiles(const Json& metric, Chart& chart) {
  for (const auto& [name, share] : kNamedQuantiles)
    if (const auto value = number_at(metric, {name}))
      chart.markers.push_back({*value, fmt::format("{} {:.4g}", name, *value)});
}

std::string histogram_chart(const std::vector<NamedRun>& runs, const std::string& metric) {
  std::vector<std::vector<Counted>> histograms;
  for (const NamedRun& run : runs) {
    const auto found = run.folder->histograms.find(metric);
    histograms.push_back(found == run.folder->histograms.end() ? std::vector<Counted>()
                                                               : found->second);
  }
  const Bins bins = bins_for(histograms);
  if (bins.edges.empty()) return "";
  const Json& json = metric_json(runs, metric);
  Chart chart{.title = caption(metric, text_at(json, {"help"})),
              .x_label = labelled(metric, text_at(json, {"unit"})),
              .y_label = runs.size() > 1 ? "% of values" : "values"};
  chart.logarithmic_x = bins.logarithmic;
  chart.whole_x = bins.whole;
  chart.whole_y = runs.size() == 1;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::vector<double> counts = filled(bins, histograms[i]);
    if (runs.size() == 1)
      add_bars(bins, counts, chart);
    else
      add_outline(bins, counts, runs[i].name, chart);
  }
  if (runs.size() == 1) add_quantiles(json, chart);
  return figure_of(chart);
}

/// Adds the band, unless it would flatten the means.
void add_band(const std::vector<SeriesPoint>& points, double scale, Chart& chart) {
  Band band;
  double low = 0, high = 0, least = 0, most = 0;
  bool first = true;
  for (const SeriesPoint& one : points) {
    if (!one.mean || !one.minimum || !one.maximum) continue;
    const double x = (one.begin_ticks + one.end_ticks) / 2 * scale;
    band.lower.push_back({x, *one.minimum});
    band.upper.push_back({x, *one.maximum});
    low = first ? *one.mean : std::min(low, *one.mean);
    high = first ? *one.mean : std::max(high, *one.mean);
    least = first ? *one.minimum : std::min(least, *one.minimum);
    most = first ? *one.maximum : std::max(most, *one.maximum);
    first = false;
  }
  if (band.lower.size() > 1 && most - least <= kWidestBand * std::max(high - low, high * 0.1)) {
    chart.bands.push_back(std::move(band));
    chart.title += " (mean; band: smallest to largest)";
  } else {
    chart.title += " (mean)";
  }
}

std::string series_chart(const std::vector<NamedRun>& runs, const std::string& metric) {
  const TimeUnit unit = simulated_unit(runs);
  const Json& json = metric_json(runs, metric);
  Chart chart{.title = caption(metric, text_at(json, {"help"})),
              .x_label = fmt::format("simulated time ({})", unit.name),
              .y_label = labelled(metric, text_at(json, {"unit"}))};
  chart.from_zero = false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto found = runs[i].folder->series.find(metric);
    if (found == runs[i].folder->series.end()) continue;
    const double scale = tick_seconds(*runs[i].folder) / unit.seconds;
    Line line{line_name(runs, i), {}};
    for (const SeriesPoint& one : found->second)
      if (one.mean)
        line.points.push_back({(one.begin_ticks + one.end_ticks) / 2 * scale, *one.mean});
    chart.lines.push_back(std::move(line));
    if (runs.size() == 1) add_band(found->second, scale, chart);
  }
  return figure_of(chart);
}

std::string charts_box(const std::string& figures) {
  return figures.empty() ? "" : "<div class=\"charts\">\n" + figures + "</div>\n";
}

/// Names in the order of the first run that has them.
std::vector<std::string> metric_names(const std::vector<NamedRun>& runs) {
  std::vector<std::string> names;
  for (const NamedRun& run : runs) {
    const Json& metrics = at(run.folder->report, {"metrics"});
    if (!metrics.is_object()) continue;
    for (const auto& [name, json] : metrics.items())
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

/// Whether the report says that the metric has this group's figures.
bool has_group(const Json& metric, const FigureGroup& group) {
  return text_at(metric, {"kind"}) == kind_of(group.kept) &&
         !at(metric, {"figures", group.names.front()}).is_null();
}

std::string group_table(const Json& metrics, const FigureGroup& group) {
  std::vector<Cell> headings = {text_cell("metric")};
  for (const char* figure : group.names) headings.push_back(number_cell(figure));
  headings.push_back(text_cell("unit"));
  headings.push_back(text_cell("meaning"));
  TableMarkup table(headings);
  for (const auto& [name, metric] : metrics.items()) {
    if (!has_group(metric, group)) continue;
    std::vector<Cell> cells = {text_cell(name)};
    for (const char* figure : group.names) cells.push_back(value_cell(at(metric, {figure})));
    cells.push_back(text_cell(unit_text(text_at(metric, {"unit"}))));
    cells.push_back(text_cell(text_at(metric, {"help"})));
    table.add(cells);
  }
  if (table.empty()) return "";
  return fmt::format("<h3>{}</h3>\n", group.title) + table.text();
}

/// A paragraph of warning about an interval that is not reliable; "" otherwise.
std::string batches_warning(const std::string& metric, const Json& json) {
  std::string sentence;
  const Json& means = at(json, {"batch_means"});
  if (!means.is_object()) {
    const std::string why = text_at(json, {"no_batch_means"});  // older reports have none
    sentence = "no interval" + (why.empty() ? "" : ": " + why);
  } else if (number_at(means, {"correlation"}).value_or(0) > kMostCorrelation) {
    sentence = kDependentBatches;
  }
  if (sentence.empty()) return "";
  return fmt::format("<p class=\"warn\">{}: {}.</p>\n", escaped(metric), escaped(sentence));
}

/// The intervals of batch means.
std::string batches_markup(const Json& metrics, double tick_seconds) {
  TableMarkup table({text_cell("metric"), number_cell("mean (of a level: total)"),
                     number_cell("half width"), number_cell("confidence"), number_cell("batches"),
                     number_cell("seconds of each"), number_cell("correlation"),
                     text_cell("unit")});
  std::string warnings;
  for (const auto& [name, metric] : metrics.items()) {
    if (!metric.is_object() || !metric.contains("batch_means")) continue;
    const Json& means = metric["batch_means"];
    warnings += batches_warning(name, metric);
    if (!means.is_object()) continue;
    const std::string unit = text_at(metric, {"unit"});
    table.add({text_cell(name), value_cell(at(means, {means.contains("total") ? "total" : "mean"})),
               value_cell(at(means, {"half_width"})), value_cell(at(means, {"confidence"})),
               value_cell(at(means, {"batches"})),
               value_cell(number_at(means, {"batch_ticks"}).value_or(0) * tick_seconds),
               value_cell(at(means, {"correlation"})), text_cell(unit_text(unit))});
  }
  if (table.empty() && warnings.empty()) return "";
  return "<h3>Batch means</h3>\n" + (table.empty() ? "" : table.text()) + warnings;
}

Line course_line(const Course& course, const std::string& name, double scale) {
  Line line{name, {}};
  for (const auto& [ticks, mean] : course.points) line.points.push_back({ticks * scale, mean});
  return line;
}

Chart course_chart(const std::string& table, const Course& course, const TimeUnit& unit) {
  Chart chart{.title = fmt::format("{}: {}", table, course.column),
              .x_label = fmt::format("simulated time ({})", unit.name),
              .y_label = labelled(course.column, course.unit)};
  chart.from_zero = false;
  return chart;
}

const Course* find_course(const RunFolder& run, const std::string& table,
                          const std::string& column) {
  for (const TablePreview& one : run.tables)
    for (const Course& course : one.courses)
      if (one.name == table && course.column == column) return &course;
  return nullptr;
}

Cell cell_of(const Column& column, const std::string& text) {
  return column.type == "text" ? text_cell(text) : number_cell(text);
}

std::string table_markup(const TablePreview& preview, const RunFolder& run) {
  std::vector<Cell> headings;
  for (const Column& column : preview.columns)
    headings.push_back(cell_of(column, labelled(column.name, column.unit)));
  TableMarkup table(headings);
  for (const auto& row : preview.first_rows) {
    std::vector<Cell> cells;
    for (std::size_t i = 0; i < std::min(row.size(), preview.columns.size()); ++i)
      cells.push_back(cell_of(preview.columns[i], row[i]));
    table.add(cells);
  }
  const std::string rows = grouped(preview.rows);
  std::string text =
      fmt::format("<h3>{}</h3>\n<p class=\"small\">{}{}</p>\n", escaped(preview.name),
                  preview.rows == 0   ? "no rows"
                  : preview.rows == 1 ? "1 row"
                                      : rows + " rows",
                  preview.rows > preview.first_rows.size() ? "; the first ones:" : "");
  if (preview.rows > 0) text += table.text();
  const TimeUnit unit = simulated_unit({{"", &run}});
  std::string figures;
  for (const Course& course : preview.courses) {
    Chart chart = course_chart(preview.name, course, unit);
    chart.lines.push_back(course_line(course, "", tick_seconds(run) / unit.seconds));
    figures += figure_of(chart);
  }
  if (figures.empty()) return text;
  text += "<p class=\"small\">Over time, each the mean of the rows at that time:</p>\n";
  return text + charts_box(figures);
}

}  // namespace

std::string figures_markup(const Json& report) {
  const Json& metrics = at(report, {"metrics"});
  if (!metrics.is_object()) return "";
  std::string text;
  for (const FigureGroup& group : figure_groups()) text += group_table(metrics, group);
  return text + batches_markup(metrics, tick_seconds(report));
}

std::string metric_charts(const std::vector<NamedRun>& runs) {
  std::string histograms, series;
  for (const std::string& name : metric_names(runs)) {
    histograms += histogram_chart(runs, name);
    series += series_chart(runs, name);
  }
  std::string text;
  if (!histograms.empty()) text += "<h3>Histograms</h3>\n" + charts_box(histograms);
  if (!series.empty()) text += "<h3>Time series</h3>\n" + charts_box(series);
  return text;
}

std::string tables_markup(const RunFolder& run) {
  std::string text;
  for (const TablePreview& one : run.tables) text += table_markup(one, run);
  return text;
}

std::string course_charts(const std::vector<NamedRun>& runs) {
  const TimeUnit unit = simulated_unit(runs);
  std::string figures;
  std::set<std::string> done;
  for (const NamedRun& first : runs) {
    for (const TablePreview& table : first.folder->tables) {
      for (const Course& course : table.courses) {
        Chart chart = course_chart(table.name, course, unit);
        if (!done.insert(chart.title).second) continue;
        for (const NamedRun& run : runs)
          if (const Course* one = find_course(*run.folder, table.name, course.column))
            chart.lines.push_back(
                course_line(*one, run.name, tick_seconds(*run.folder) / unit.seconds));
        figures += figure_of(chart);
      }
    }
  }
  return charts_box(figures);
}

}  // namespace orrery::page
