// SPDX-License-Identifier: Apache-2.0
//
// Charts as SVG within a page: lines, bands, bars, markers, and stretches of the horizontal axis in
// a shade of their own. Colours are classes (c0 to c6) that the page's style sheet fills in, so
// that a chart follows the page into the dark and onto paper. A chart has no script: what the
// pointer shows are titles.
#pragma once

#include <string>
#include <vector>

namespace orrery::page {

struct Point {
  double x = 0, y = 0;
};

struct Line {
  std::string name;           ///< for the legend; empty: none
  std::vector<Point> points;  ///< by x
  bool steps = false;         ///< each value holds from the point before
  bool dashed = false;
};

/// Between two lines, behind all else.
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
  std::string title;  ///< what there is to see, also for those who cannot
  std::string x_label = {}, y_label = {};
  std::vector<Line> lines = {};
  std::vector<Band> bands = {};
  std::vector<Bar> bars = {};
  std::vector<Marker> markers = {};
  std::vector<Stretch> stretches = {};
  bool from_zero = true;  ///< the vertical axis begins at 0
  bool logarithmic_x = false;
  bool whole_x = false, whole_y = false;  ///< only whole numbers are marked
};

/// A figure with its legend and caption; empty if there is nothing to draw.
std::string figure_of(const Chart& chart);

/// A unit of time in which the span is a number to read: 1 s is 1 / `seconds` of it.
struct TimeUnit {
  double seconds = 1;
  std::string name = "s";
};
TimeUnit unit_of_span(double seconds);

}  // namespace orrery::page
