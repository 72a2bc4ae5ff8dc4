// SPDX-License-Identifier: Apache-2.0
#include "page/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "output/number_text.h"
#include "page/markup.h"
#include "page/plot.h"

namespace orrery::page {
namespace {

constexpr double kWidth = 490, kHeight = 230;
constexpr double kLeft = 64, kRight = 14, kTop = 12, kBottom = 44;
constexpr unsigned kColours = 7;
constexpr double kTicksAcross = 7, kTicksUp = 5;
constexpr double kLabelRoom = 90, kLabelLine = 13;  // of a marker's name

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void take(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return !(low <= high); }
};

std::vector<AxisMark> marks_of(const Scale& scale, double count) {
  std::vector<AxisMark> marks = number_marks(scale, count);
  for (AxisMark& one : marks)
    if (std::fabs(one.value) >= 1e5) one.text = short_number(one.value);
  return marks;
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(chart),
        plot_(kPagePlot, kHeight,
              fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", kWidth,
                          kHeight, escaped(chart.title))) {
    measure();
  }
  bool empty() const { return x_range_.empty() || y_range_.empty(); }

  std::string text() {
    stretches();
    plot_.vertical_axis(marks_of(plot_.y, kTicksUp), chart_.y_label);
    for (const Band& band : chart_.bands) draw(band);
    for (const Bar& bar : chart_.bars) draw(bar);
    for (std::size_t i = 0; i < chart_.lines.size(); ++i) draw(chart_.lines[i], i % kColours);
    plot_.horizontal_axis(marks_of(plot_.x, kTicksAcross), chart_.x_label);
    markers();
    return plot_.text();
  }

 private:
  void measure() {
    const auto take = [this](const std::vector<Point>& points) {
      for (const Point& one : points) x_range_.take(one.x), y_range_.take(one.y);
    };
    for (const Line& line : chart_.lines) take(line.points);
    for (const Band& band : chart_.bands) take(band.lower), take(band.upper);
    for (const Bar& bar : chart_.bars) {
      x_range_.take(bar.begin), x_range_.take(bar.end);
      y_range_.take(0), y_range_.take(bar.height);
    }
    if (empty()) return;
    take(chart_.limits);
    if (chart_.from_zero) y_range_.take(0);
    plot_.y = scale_of(y_range_.low, y_range_.high, kHeight - kBottom, kTop, kTicksUp);
    plot_.y.whole = chart_.whole_y;
    const bool wide = x_range_.high > x_range_.low;
    plot_.x = {x_range_.low,    wide ? x_range_.high : x_range_.low + 1,          kLeft,
               kWidth - kRight, chart_.logarithmic_x && x_range_.low > 0 && wide, chart_.whole_x};
  }

  void stretches() {
    for (const Stretch& one : chart_.stretches) {
      const double from = plot_.x.at(std::max(one.begin, plot_.x.low));
      const double to = plot_.x.at(std::min(one.end, plot_.x.high));
      if (to <= from) continue;
      plot_.put(
          "<rect class=\"s{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}"
          "</title></rect>",
          one.colour % kColours, from, kTop, std::max(to - from, 1.0), kHeight - kBottom - kTop,
          escaped(one.name));
    }
  }

  std::string place(double x, double y) const {
    return fmt::format("{:.1f},{:.1f} ", plot_.x.at(x),
                       std::clamp(plot_.y.at(y), kTop, kHeight - kBottom));
  }

  void draw(const Band& band) {
    std::string path;
    for (const Point& one : band.upper) path += place(one.x, one.y);
    for (auto one = band.lower.rbegin(); one != band.lower.rend(); ++one)
      path += place(one->x, one->y);
    plot_.put("<polygon class=\"band\" points=\"{}\"/>", path);
  }

  void draw(const Bar& bar) {
    const double left = plot_.x.at(bar.begin), right = plot_.x.at(bar.end),
                 top = plot_.y.at(bar.height);
    const double gap = right - left > 4 ? 1 : 0;
    plot_.put(
        "<rect class=\"bar\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"><title>{}"
        "</title></rect>",
        left, top, std::max(right - left - gap, 0.3), plot_.y.at(0) - top, escaped(bar.title));
  }

  void draw(const Line& line, std::size_t colour) {
    std::string path;
    const Point* before = nullptr;
    for (const Point& one : line.points) {
      if (line.steps && before != nullptr) path += place(before->x, one.y);
      path += place(one.x, one.y);
      before = &one;
    }
    plot_.put("<polyline class=\"c{}{}\" points=\"{}\"/>", colour, line.dashed ? " dashed" : "",
              path);
    if (line.points.size() == 1)
      plot_.put("<circle class=\"d{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>", colour,
                plot_.x.at(line.points[0].x), plot_.y.at(line.points[0].y));
  }

  /// Puts each name a line lower than the one before, so that names of neighbours do not overlap.
  void markers() {
    double y = kTop + 10;
    for (const Marker& one : chart_.markers) {
      if (one.x < plot_.x.low || one.x > plot_.x.high) continue;
      const double x = plot_.x.at(one.x);
      const bool to_left = x > kWidth - kRight - kLabelRoom;
      plot_.put("<line class=\"marker\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/>", x,
                kTop, plot_.y.begin);
      plot_.put("<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>",
                x + (to_left ? -4 : 4), y, to_left ? " text-anchor=\"end\"" : "",
                escaped(one.name));
      y += kLabelLine;
    }
  }

  const Chart& chart_;
  Range x_range_, y_range_;
  Plot plot_;
};

/// The legend: names of lines, and of stretches once each.
std::string legend_of(const Chart& chart) {
  std::string text;
  const auto add = [&](const char* kind, std::size_t colour, const std::string& name) {
    text += fmt::format("<span><i class=\"{}{}\"></i>{}</span> ", kind, colour, escaped(name));
  };
  for (std::size_t i = 0; i < chart.lines.size(); ++i)
    if (!chart.lines[i].name.empty()) add("k", i % kColours, chart.lines[i].name);
  std::vector<std::string> told;
  for (const Stretch& one : chart.stretches) {
    if (std::find(told.begin(), told.end(), one.name) != told.end()) continue;
    told.push_back(one.name);
    add("b", one.colour % kColours, one.name);
  }
  return text.empty() ? "" : "<div class=\"legend\">" + text + "</div>\n";
}

}  // namespace

std::string figure_of(const Chart& chart) {
  Drawing drawing(chart);
  if (drawing.empty()) return "";
  return fmt::format("<figure>\n<figcaption>{}</figcaption>\n{}{}</figure>\n", escaped(chart.title),
                     drawing.text(), legend_of(chart));
}

TimeUnit unit_of_span(double seconds) {
  static const std::array<TimeUnit, 7> kUnits = {
      {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  for (const TimeUnit& unit : kUnits)
    if (seconds >= 2 * unit.seconds) return unit;
  return seconds > 0 ? kUnits.back() : TimeUnit();
}

}  // namespace orrery::page
