// SPDX-License-Identifier: Apache-2.0
#include "page/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "observe/number_text.h"
#include "page/markup.h"
#include "page/scale.h"

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

std::string mark_text(double value, double step) {
  if (std::fabs(value) >= 1e5) return short_number(value);
  return tick_text(value, step);
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart) { measure(); }
  bool empty() const { return x_range_.empty() || y_range_.empty(); }

  std::string text() {
    put("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", kWidth, kHeight,
        escaped(chart_.title));
    stretches();
    vertical_axis();
    for (const Band& band : chart_.bands) draw(band);
    for (const Bar& bar : chart_.bars) draw(bar);
    for (std::size_t i = 0; i < chart_.lines.size(); ++i) draw(chart_.lines[i], i % kColours);
    horizontal_axis();
    markers();
    return svg_ + "</svg>\n";
  }

 private:
  template <class... Parts>
  void put(fmt::format_string<Parts...> format, Parts&&... parts) {
    svg_ += fmt::format(format, std::forward<Parts>(parts)...) + "\n";
  }

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
    if (chart_.from_zero) y_range_.take(0);
    y_ = scale_of(y_range_.low, y_range_.high, kHeight - kBottom, kTop, kTicksUp);
    y_.whole = chart_.whole_y;
    const bool wide = x_range_.high > x_range_.low;
    x_ = {x_range_.low,    wide ? x_range_.high : x_range_.low + 1,          kLeft,
          kWidth - kRight, chart_.logarithmic_x && x_range_.low > 0 && wide, chart_.whole_x};
  }

  void stretches() {
    for (const Stretch& one : chart_.stretches) {
      const double from = x_.at(std::max(one.begin, x_.low));
      const double to = x_.at(std::min(one.end, x_.high));
      if (to <= from) continue;
      put("<rect class=\"s{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}"
          "</title></rect>",
          one.colour % kColours, from, kTop, std::max(to - from, 1.0), kHeight - kBottom - kTop,
          escaped(one.name));
    }
  }

  void vertical_axis() {
    const double step = step_of(y_, kTicksUp);
    for (const double tick : ticks_of(y_, kTicksUp)) {
      const double y = y_.at(tick);
      put("<line class=\"grid\" x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\"/>", x_.begin, y,
          x_.end, y);
      put("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", x_.begin - 6, y + 4,
          mark_text(tick, step));
    }
    const double middle = (y_.begin + y_.end) / 2;
    put("<text x=\"12\" y=\"{0}\" text-anchor=\"middle\" transform=\"rotate(-90 12 {0})\">{1}"
        "</text>",
        middle, escaped(chart_.y_label));
  }

  void horizontal_axis() {
    put("<line class=\"axis\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>", x_.begin, y_.begin,
        x_.end, y_.begin);
    const double step = x_.logarithmic ? 0 : step_of(x_, kTicksAcross);
    for (const double tick : ticks_of(x_, kTicksAcross)) {
      const double x = x_.at(tick);
      put("<line class=\"axis\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/>", x, y_.begin,
          y_.begin + 4);
      put("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", x, y_.begin + 17,
          mark_text(tick, step));
    }
    put("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", (x_.begin + x_.end) / 2,
        kHeight - 8, escaped(chart_.x_label));
  }

  std::string place(double x, double y) const {
    return fmt::format("{:.1f},{:.1f} ", x_.at(x), std::clamp(y_.at(y), kTop, kHeight - kBottom));
  }

  void draw(const Band& band) {
    std::string path;
    for (const Point& one : band.upper) path += place(one.x, one.y);
    for (auto one = band.lower.rbegin(); one != band.lower.rend(); ++one)
      path += place(one->x, one->y);
    put("<polygon class=\"band\" points=\"{}\"/>", path);
  }

  void draw(const Bar& bar) {
    const double left = x_.at(bar.begin), right = x_.at(bar.end), top = y_.at(bar.height);
    const double gap = right - left > 4 ? 1 : 0;
    put("<rect class=\"bar\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"><title>{}"
        "</title></rect>",
        left, top, std::max(right - left - gap, 0.3), y_.at(0) - top, escaped(bar.title));
  }

  void draw(const Line& line, std::size_t colour) {
    std::string path;
    const Point* before = nullptr;
    for (const Point& one : line.points) {
      if (line.steps && before != nullptr) path += place(before->x, one.y);
      path += place(one.x, one.y);
      before = &one;
    }
    put("<polyline class=\"c{}{}\" points=\"{}\"/>", colour, line.dashed ? " dashed" : "", path);
    if (line.points.size() == 1)
      put("<circle class=\"d{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>", colour,
          x_.at(line.points[0].x), y_.at(line.points[0].y));
  }

  /// Puts each name a line lower than the one before, so that names of neighbours do not overlap.
  void markers() {
    double y = kTop + 10;
    for (const Marker& one : chart_.markers) {
      if (one.x < x_.low || one.x > x_.high) continue;
      const double x = x_.at(one.x);
      const bool to_left = x > kWidth - kRight - kLabelRoom;
      put("<line class=\"marker\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/>", x, kTop,
          y_.begin);
      put("<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>", x + (to_left ? -4 : 4), y,
          to_left ? " text-anchor=\"end\"" : "", escaped(one.name));
      y += kLabelLine;
    }
  }

  const Chart& chart_;
  Range x_range_, y_range_;
  Scale x_, y_;
  std::string svg_;
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
