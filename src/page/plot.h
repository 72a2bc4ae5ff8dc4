// SPDX-License-Identifier: Apache-2.0
//
// A picture with two axes as SVG: the frame that the charts of pages, the pictures of studies and
// the picture of advice share. A file of its own has its colours in it; a chart in a page has
// classes of the page's style sheet.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "page/scale.h"

namespace orrery::page {

/// Attributes of lines, and distances in pixels.
struct PlotStyle {
  const char *grid, *axis;
  double tick;     ///< length of a mark of the horizontal axis
  double under;    ///< from the horizontal axis down to its texts
  double beside;   ///< from the vertical axis left to its texts
  double x_label;  ///< from the lower edge up to the label of the horizontal axis
  double y_label;  ///< from the left edge to the label of the vertical axis
};
inline constexpr PlotStyle kFilePlot{"stroke=\"#dddddd\"", "stroke=\"#000000\"", 5, 20, 8, 16, 20};
inline constexpr PlotStyle kPagePlot{"class=\"grid\"", "class=\"axis\"", 4, 17, 6, 8, 12};

struct AxisMark {
  double value = 0;
  std::string text;  ///< not escaped yet; empty: a mark without text
};

class Plot {
 public:
  /// `head`: the markup before the first element.
  Plot(const PlotStyle& style, double height, std::string head)
      : style_(style), height_(height), svg_(std::move(head)) {}

  template <class... Parts>
  void put(fmt::format_string<Parts...> format, Parts&&... parts) {
    svg_ += fmt::format(format, std::forward<Parts>(parts)...) + "\n";
  }
  /// Marks with lines across the picture, and a label that is turned.
  void vertical_axis(const std::vector<AxisMark>& marks, std::string_view label);
  void horizontal_axis(const std::vector<AxisMark>& marks, std::string_view label);
  /// "12.3,45.6 ", a point of a polyline.
  std::string point(double across, double up) const {
    return fmt::format("{:.1f},{:.1f} ", x.at(across), y.at(up));
  }
  std::string text() const { return svg_ + "</svg>\n"; }

  Scale x, y;  ///< set them before anything is drawn

 private:
  const PlotStyle& style_;
  const double height_;
  std::string svg_;
};

/// The marks of a scale as numbers.
std::vector<AxisMark> number_marks(const Scale& scale, double count = 6);

/// The head of an SVG file: a white ground and a title (escaped here), `left` from the edge.
std::string svg_head(double width, double height, double left, std::string_view title);

}  // namespace orrery::page
