// SPDX-License-Identifier: Apache-2.0
#include "page/lp_charts.h"

#include <fmt/format.h>

#include <algorithm>

#include "output/number_text.h"
#include "page/chart.h"
#include "page/markup.h"
#include "page/plot.h"

namespace orrery::page {
namespace {

struct Described {
  const RunFolder& run;
  const std::string& metric;
  const OfLps& of;
  TimeUnit unit;      ///< of the simulated time
  double unit_ticks;  ///< ticks of that unit

  /// Of the axis of the shown figure.
  std::string label() const {
    if (of.figure == "count") return "count of " + metric;
    const std::string text = text_at(run.report, {"metrics", metric.c_str(), "unit"});
    return text.empty() || text == "1" ? metric : fmt::format("{} ({})", metric, text);
  }
};

Described describe(const RunFolder& run, const std::string& metric, const OfLps& of) {
  const double tick = number_at(run.report, {"model", "tick_seconds"}).value_or(1e-9);
  const TimeUnit unit = unit_of_span(number_at(run.report, {"run", "reached_seconds"}).value_or(0));
  return {run, metric, of, unit, unit.seconds / tick};
}

std::string value_text_of(const std::optional<double>& value) {
  return value ? number_text(*value) : "-";
}

std::string bars_chart(const Described& one) {
  Chart chart{
      .title = fmt::format("{} of {} at each LP, in the order of LPs", one.of.figure, one.metric),
      .x_label = "place in the order of LPs",
      .y_label = one.label()};
  chart.whole_x = true;
  const double each = static_cast<double>(one.of.lps) / static_cast<double>(one.of.bars.size());
  for (std::size_t i = 0; i < one.of.bars.size(); ++i) {
    const LpBar& bar = one.of.bars[i];
    const auto place = static_cast<double>(i);
    if (bar.value)
      chart.bars.push_back({place * each, (place + 1) * each, *bar.value,
                            fmt::format("{}: {}", bar.text, number_text(*bar.value))});
  }
  return figure_of(chart);
}

std::string highest_table(const Described& one) {
  TableMarkup table({text_cell(fmt::format("highest {}s", one.of.figure)), number_cell("count"),
                     number_cell("mean"), number_cell("deviation"), number_cell("minimum"),
                     number_cell("maximum")});
  for (const LpFigure& lp : one.of.highest)
    table.add({text_cell(lp.text), number_cell(grouped(static_cast<std::uint64_t>(lp.count))),
               number_cell(value_text_of(lp.mean)), number_cell(value_text_of(lp.deviation)),
               number_cell(value_text_of(lp.minimum)), number_cell(value_text_of(lp.maximum))});
  return table.text();
}

/// Small charts with the same axes, so that LPs can be compared.
std::string course_charts_of(const Described& one) {
  std::string figures;
  double least = 0, most = 0;
  for (const auto& [text, points] : one.of.courses)
    for (const SeriesPoint& point : points) {
      least = std::min(least, point.mean.value_or(least));
      most = std::max(most, point.mean.value_or(most));
    }
  for (const auto& [text, points] : one.of.courses) {
    Chart chart{.title = text,
                .x_label = fmt::format("simulated time ({})", one.unit.name),
                .y_label = one.label()};
    Line line{"", {}};
    for (const SeriesPoint& point : points)
      if (point.mean)
        line.points.push_back(
            {(point.begin_ticks + point.end_ticks) / 2 / one.unit_ticks, *point.mean});
    chart.lines.push_back(std::move(line));
    chart.limits = {{one.of.begin_ticks / one.unit_ticks, least},
                    {one.of.end_ticks / one.unit_ticks, most}};
    figures += figure_of(chart);
  }
  return figures;
}

/// A cell for each LP and time; the darker, the higher the mean.
class HeatMap {
 public:
  /// `one` has cells.
  explicit HeatMap(const Described& one)
      : one_(one),
        least_(std::min_element(one.of.cells.begin(), one.of.cells.end(), is_lower)->value),
        most_(std::max_element(one.of.cells.begin(), one.of.cells.end(), is_lower)->value),
        height_(kTop + kBottom + kRowHeight * static_cast<double>(one.of.rows.size())),
        plot_(kPagePlot, height_,
              fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", kWidth,
                          height_, escaped(title()))) {
    plot_.y = {0, 1, height_ - kBottom, kTop};  // its rows have no values
    plot_.x = {one.of.begin_ticks / one.unit_ticks, one.of.end_ticks / one.unit_ticks, kLeft,
               kWidth - kRight};
  }

  std::string text() {
    for (const LpMean& cell : one_.of.cells) draw(cell);
    names();
    plot_.horizontal_axis(number_marks(plot_.x, kTicks),
                          fmt::format("simulated time ({})", one_.unit.name));
    return fmt::format("<figure>\n<figcaption>{}</figcaption>\n{}</figure>\n", escaped(title()),
                       plot_.text());
  }

 private:
  static constexpr double kWidth = 980, kLeft = 150, kRight = 14, kTop = 8, kBottom = 44,
                          kRowHeight = 13, kTicks = 10;
  static constexpr std::size_t kMostNameBytes = 24;

  std::string title() const {
    return fmt::format("{} over LPs and time (light: {}, dark: {})", one_.label(),
                       number_text(least_), number_text(most_));
  }
  static bool is_lower(const LpMean& a, const LpMean& b) { return a.value < b.value; }
  static double top_of(std::size_t row) { return kTop + kRowHeight * static_cast<double>(row); }
  double time(std::size_t column) const {
    return plot_.x.low + (plot_.x.high - plot_.x.low) * static_cast<double>(column) /
                             static_cast<double>(one_.of.columns);
  }
  void draw(const LpMean& cell) {
    const double left = plot_.x.at(time(cell.column)), right = plot_.x.at(time(cell.column + 1));
    const double share = most_ > least_ ? (cell.value - least_) / (most_ - least_) : 1;
    plot_.put(
        "<rect class=\"d0\" fill-opacity=\"{:.2f}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"><title>{}, {} {}: {}</title></rect>",
        kLightest + (1 - kLightest) * share, left, top_of(cell.row), right - left, kRowHeight - 1,
        escaped(one_.of.rows[cell.row]), number_text(time(cell.column)), one_.unit.name,
        number_text(cell.value));
  }
  void names() {
    for (std::size_t row = 0; row < one_.of.rows.size(); ++row) {
      std::string name = one_.of.rows[row];
      if (name.size() > kMostNameBytes) {
        std::size_t end = kMostNameBytes;
        while ((static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;  // a whole character
        name = name.substr(0, end) + "...";
      }
      plot_.put("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kLeft - 6,
                top_of(row) + kRowHeight - 3, escaped(name));
    }
  }

  static constexpr double kLightest = 0.06;  // a value, unlike a cell without any
  const Described& one_;
  const double least_, most_, height_;
  Plot plot_;
};

std::string charts_of(const Described& one) {
  if (one.of.lps == 0)
    return fmt::format("<h3>{}</h3>\n<p class=\"small\">No LP has recorded it.</p>\n",
                       escaped(one.metric));
  std::string text =
      fmt::format("<h3>{}</h3>\n<p class=\"small\">{} LP{}</p>\n", escaped(one.metric),
                  grouped(one.of.lps), one.of.lps == 1 ? "" : "s");
  text += "<div class=\"charts\">\n" + bars_chart(one) + highest_table(one) + "</div>\n";
  if (one.of.cells.empty()) return text;
  text += HeatMap(one).text();
  return text + folded(fmt::format("Courses of the LPs with the highest {}s", one.of.figure),
                       "<div class=\"charts\">\n" + course_charts_of(one) + "</div>\n");
}

}  // namespace

std::string lp_markup(const RunFolder& run) {
  std::string text;
  for (const auto& [metric, of] : run.of_lps) text += charts_of(describe(run, metric, of));
  return text;
}

}  // namespace orrery::page
