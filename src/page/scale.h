// SPDX-License-Identifier: Apache-2.0
//
// Axes of pictures: where a value lies, and round numbers for the marks beside them.
#pragma once

#include <string>
#include <vector>

namespace orrery::page {

struct Scale {
  double low = 0, high = 1;   ///< of the values
  double begin = 0, end = 1;  ///< on the picture
  bool logarithmic = false;
  bool whole = false;  ///< values between whole numbers mean nothing: no marks there
  double at(double value) const;
};

/// 1, 2 or 5 times a power of ten, so that there are about `count` of them in the span.
double tick_step(double span, double count = 6);
/// A mark's value, where marks are `step` apart.
std::string tick_text(double value, double step);

/// Values between whole ticks, with 0 where it is near.
Scale scale_of(double low, double high, double begin, double end, double count = 6);
/// Of the marks of a linear scale.
double step_of(const Scale& scale, double count = 6);
/// The marks within the scale; powers of ten, or their parts, of a logarithmic one.
std::vector<double> ticks_of(const Scale& scale, double count = 6);

}  // namespace orrery::page
