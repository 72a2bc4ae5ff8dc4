// SPDX-License-Identifier: Apache-2.0
#include "study/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "page/markup.h"
#include "page/plot.h"

namespace orrery::study {
namespace {

using page::escaped;
using page::scale_of;

constexpr double kWidth = 720, kHeight = 440;
constexpr double kLeft = 88, kRight = 24, kTop = 48, kBottom = 64;
constexpr double kLegendLine = 18, kLegendWidth = 150;
constexpr double kSideBySide = 8;  // between error bars of one value
constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                 "#e69f00", "#56b4e9", "#000000"};

struct Mark {
  double x, mean, half_width;
};
struct Series {
  std::string name;
  std::vector<Mark> marks;
};

/// The parameter on the horizontal axis: numbers of one unit, or else the indices of its values.
struct Horizontal {
  std::size_t parameter = 0;
  bool is_numeric = false;
  std::string unit;
  std::vector<std::string> values;  ///< in the plan's order

  /// True for counts, such as a number of pumps, but not for seconds.
  bool is_whole() const {
    return unit.empty() && std::all_of(values.begin(), values.end(), [this](const auto& value) {
             return place_of(value) == std::trunc(place_of(value));
           });
  }

  double place_of(const std::string& value) const {
    Quantity quantity;
    if (is_numeric && parse_quantity(value, quantity)) return quantity.number;
    return static_cast<double>(std::find(values.begin(), values.end(), value) - values.begin());
  }
};

std::vector<std::string> values_of(const Plan& plan, std::size_t parameter) {
  std::vector<std::string> values;
  for (const Settings& point : plan.points) {
    const std::string& value = point[parameter].second;
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

bool are_quantities(const std::vector<std::string>& values, std::string& unit) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    Quantity quantity;
    if (!parse_quantity(values[i], quantity)) return false;
    if (i > 0 && quantity.unit != unit) return false;
    unit = quantity.unit;
  }
  return true;
}

Horizontal choose_horizontal(const Plan& plan) {
  std::optional<Horizontal> first;
  for (std::size_t parameter = 0; parameter < plan.parameters.size(); ++parameter) {
    Horizontal horizontal{parameter, false, "", values_of(plan, parameter)};
    if (horizontal.values.size() < 2) continue;
    horizontal.is_numeric = are_quantities(horizontal.values, horizontal.unit);
    if (horizontal.is_numeric) return horizontal;
    if (!first) first = horizontal;
  }
  return first.value_or(Horizontal());
}

/// "access=csma": the settings of a point without the parameter on the axis.
std::string series_name(const Settings& point, std::size_t parameter) {
  Settings others;
  for (std::size_t i = 0; i < point.size(); ++i)
    if (i != parameter) others.push_back(point[i]);
  return others.empty() ? "" : text_of(others);
}

std::vector<Series> series_of(const StudyResult& study, std::size_t measure,
                              const Horizontal& horizontal) {
  std::vector<Series> all;
  for (const SummaryRow& row : study.summary) {
    if (row.measure != measure) continue;
    const Settings& point = study.plan.points[row.point];
    const std::string name = series_name(point, horizontal.parameter);
    auto series =
        std::find_if(all.begin(), all.end(), [&](const Series& one) { return one.name == name; });
    if (series == all.end()) series = all.insert(all.end(), Series{name, {}});
    series->marks.push_back({horizontal.place_of(point[horizontal.parameter].second),
                             row.estimate.mean, row.estimate.half_width.value_or(0)});
  }
  for (Series& series : all)
    std::stable_sort(series.marks.begin(), series.marks.end(),
                     [](const Mark& a, const Mark& b) { return a.x < b.x; });
  return all;
}

class Drawing {
 public:
  Drawing(const StudyResult& study, std::size_t measure, const Horizontal& horizontal,
          const std::vector<Series>& all)
      : study_(study),
        horizontal_(horizontal),
        all_(all),
        measure_(study.measure(measure)),
        plot_(page::kFilePlot, kHeight,
              page::svg_head(kWidth, kHeight, kLeft,
                             study.model_name + ": " +
                                 (measure_.help.empty() ? measure_.name : measure_.help))) {
    has_legend_ = all.size() > 1;
    set_scales();
  }

  std::string text() {
    axes();
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!horizontal_.is_numeric)  // error bars side by side
        shift_ =
            kSideBySide * (static_cast<double>(i) - (static_cast<double>(all_.size()) - 1) / 2);
      draw(all_[i], kColours[i % kColours.size()]);
    }
    if (has_legend_) legend();
    return plot_.text();
  }

 private:
  void set_scales() {
    double low = all_[0].marks[0].mean, high = low;
    double left = all_[0].marks[0].x, right = left;
    for (const Series& series : all_) {
      for (const Mark& mark : series.marks) {
        low = std::min(low, mark.mean - mark.half_width);
        high = std::max(high, mark.mean + mark.half_width);
        left = std::min(left, mark.x);
        right = std::max(right, mark.x);
      }
    }
    plot_.y = scale_of(low, high, kHeight - kBottom, kTop);
    const double legend = has_legend_ ? kLegendWidth : 0;
    const double margin = horizontal_.is_numeric ? 0 : 0.5;
    if (!(right > left)) right = left + 1;
    plot_.x = {left - margin, right + margin, kLeft, kWidth - kRight - legend};
    plot_.x.whole = horizontal_.is_whole();
  }

  void axes() {
    const std::string unit =
        measure_.unit.empty() || measure_.unit == "1" ? "" : fmt::format(" ({})", measure_.unit);
    plot_.vertical_axis(page::number_marks(plot_.y), measure_.name + unit);
    std::vector<page::AxisMark> marks;
    if (horizontal_.is_numeric)
      marks = page::number_marks(plot_.x);
    else
      for (std::size_t i = 0; i < horizontal_.values.size(); ++i)
        marks.push_back({static_cast<double>(i), horizontal_.values[i]});
    const std::string own = horizontal_.unit.empty() ? "" : fmt::format(" ({})", horizontal_.unit);
    plot_.horizontal_axis(marks, study_.plan.parameters[horizontal_.parameter] + own);
  }

  void draw(const Series& series, const char* colour) {
    std::string upper, lower, line;
    for (const Mark& mark : series.marks) {
      upper += plot_.point(mark.x, mark.mean + mark.half_width);
      lower = plot_.point(mark.x, mark.mean - mark.half_width) + lower;
      line += plot_.point(mark.x, mark.mean);
    }
    if (horizontal_.is_numeric) {
      plot_.put(R"(<polygon points="{}{}" fill="{}" fill-opacity="0.2"/>)", upper, lower, colour);
      plot_.put(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="2"/>)", line,
                colour);
    }
    for (const Mark& mark : series.marks) draw_mark(mark, colour);
  }

  void draw_mark(const Mark& mark, const char* colour) {
    const double x = plot_.x.at(mark.x) + shift_;
    plot_.put(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>)", x, plot_.y.at(mark.mean),
              colour);
    if (horizontal_.is_numeric) return;
    plot_.put(R"(<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}" stroke="{3}"/>)", x,
              plot_.y.at(mark.mean - mark.half_width), plot_.y.at(mark.mean + mark.half_width),
              colour);
  }

  void legend() {
    const double x = plot_.x.end + 16;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const double y = kTop + kLegendLine * (static_cast<double>(i) + 0.5);
      plot_.put(R"(<line x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}" stroke="{}" stroke-width="3"/>)",
                x, y, x + 16, y, kColours[i % kColours.size()]);
      plot_.put(R"(<text x="{}" y="{:.1f}">{}</text>)", x + 22, y + 4, escaped(all_[i].name));
    }
  }

  const StudyResult& study_;
  const Horizontal& horizontal_;
  const std::vector<Series>& all_;
  const Measure& measure_;
  bool has_legend_ = false;
  page::Plot plot_;
  double shift_ = 0;
};

}  // namespace

std::optional<std::string> picture_of(const StudyResult& study, std::size_t measure) {
  const Horizontal horizontal = choose_horizontal(study.plan);
  if (horizontal.values.size() < 2) return std::nullopt;
  const std::vector<Series> all = series_of(study, measure, horizontal);
  if (all.empty()) return std::nullopt;
  return Drawing(study, measure, horizontal, all).text();
}

}  // namespace orrery::study
