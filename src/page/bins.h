// SPDX-License-Identifier: Apache-2.0
//
// Few bars from the many buckets of a metric's histogram (core/histogram.h: as many buckets as its
// error requires), so that the eye can distinguish the bars. Runs that are compared share the bars'
// edges.
#pragma once

#include <vector>

namespace orrery::page {

/// A bucket as in results.sqlite; histograms are sorted by value.
struct Counted {
  double value = 0, count = 0;
};

/// Edges of bars: one more than the number of bars.
struct Bins {
  std::vector<double> edges;
  bool logarithmic = false;
  bool whole = false;  ///< one bar for each whole number
};

/// Gives each whole number a bar if there are few of them. Otherwise bars have one width on a
/// linear axis, or on a logarithmic axis if two linear bars would hold half of all values.
Bins bins_for(const std::vector<std::vector<Counted>>& histograms);

/// The number of values in each bar. A bucket that spans an edge is split between both bars by
/// width.
std::vector<double> filled(const Bins& bins, const std::vector<Counted>& histogram);

}  // namespace orrery::page
