// SPDX-License-Identifier: Apache-2.0
//
// Axes of pictures: the position of a value, and round numbers for the marks.
#pragma once

#include <string>
#include <vector>

namespace orrery::page {

struct Scale {
  double low = 0, high = 1;   ///< of the values
  double begin = 0, end = 1;  ///< coordinates in the picture
  bool logarithmic = false;
  bool whole = false;  ///< no marks between whole numbers, since values there have no meaning
  double at(double value) const;
};

/// 1, 2 or 5 times a power of ten, so that about `count` steps fit into the span.
double tick_step(double span, double count = 6);
/// The text of a mark, if marks are `step` apart.
std::string tick_text(double value, double step);

/// A scale that ends at ticks, and includes 0 if 0 is near the values.
Scale scale_of(double low, double high, double begin, double end, double count = 6);
/// The distance of the marks of a linear scale.
double step_of(const Scale& scale, double count = 6);
/// The marks within the scale; for a logarithmic scale, powers of ten or parts of them.
std::vector<double> ticks_of(const Scale& scale, double count = 6);

}  // namespace orrery::page
