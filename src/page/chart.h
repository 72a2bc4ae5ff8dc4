// SPDX-License-Identifier: Apache-2.0
//
// Charts as SVG within a page: lines, bands, bars, markers, and coloured stretches of the
// horizontal axis. Colours are classes (c0 to c6) that the page's style sheet defines, so that
// charts follow dark mode and printing. A chart has no script; the texts under the pointer are SVG
// titles.
#pragma once

#include <string>
#include <vector>

namespace orrery::page {

struct Point {
  double x = 0, y = 0;
};

struct Line {
  std::string name;           ///< for the legend; empty: none
  std::vector<Point> points;  ///< sorted by x
  bool steps = false;         ///< a point's value holds from the point before
  bool dashed = false;
};

/// An area between two lines, drawn behind all other parts.
struct Band {
  std::vector<Point> lower, upper;
};

struct Bar {
  double begin = 0, end = 0, height = 0;
  std::string title;
};

/// A vertical line with a name.
struct Marker {
  double x = 0;
  std::string name;
};

/// A part of the horizontal axis.
struct Stretch {
  double begin = 0, end = 0;
  unsigned colour = 0;
  std::string name;
};

struct Chart {
  std::string title;  ///< the heading, also the text for screen readers
  std::string x_label = {}, y_label = {};
  std::vector<Line> lines = {};
  std::vector<Band> bands = {};
  std::vector<Bar> bars = {};
  std::vector<Marker> markers = {};
  std::vector<Stretch> stretches = {};
  std::vector<Point> limits = {};  ///< both axes contain them, so that charts can be compared
  bool from_zero = true;           ///< the vertical axis begins at 0
  bool logarithmic_x = false;
  bool whole_x = false, whole_y = false;  ///< marks only at whole numbers
};

/// A figure with its legend and caption; empty if there is nothing to draw.
std::string figure_of(const Chart& chart);

/// The unit of time in which the span is easy to read; 1 unit is `seconds` seconds.
struct TimeUnit {
  double seconds = 1;
  std::string name = "s";
};
TimeUnit unit_of_span(double seconds);

}  // namespace orrery::page
