// SPDX-License-Identifier: Apache-2.0
//
// What a metric's histogram keeps (core/histogram.h: as many buckets as its error asks for) in as
// few bars as an eye can tell apart. Runs that are compared share the bars' edges.
#pragma once

#include <vector>

namespace orrery::page {

/// As results.sqlite has them, by value.
struct Counted {
  double value = 0, count = 0;
};

/// Edges of bars, one more than there are bars.
struct Bins {
  std::vector<double> edges;
  bool logarithmic = false;
  bool whole = false;  ///< a bar for each whole number
};

/// Whole numbers, if they are few, have a bar each. Other bars have one width on a linear axis, or,
/// if these would have half of all values in the first two, on a logarithmic one.
Bins bins_for(const std::vector<std::vector<Counted>>& histograms);

/// How many of the values are in each bar. A bucket that spans an edge counts on both sides of it,
/// by its parts.
std::vector<double> filled(const Bins& bins, const std::vector<Counted>& histogram);

}  // namespace orrery::page
