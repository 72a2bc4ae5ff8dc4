// SPDX-License-Identifier: Apache-2.0
#include "output/student.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "core/assert.h"

namespace orrery {

double student_probability(double t, std::uint64_t degrees) {
  ORRERY_ASSERT(degrees >= 1, "a distribution has degrees of freedom");
  const double nu = static_cast<double>(degrees);
  const double angle = std::atan(t / std::sqrt(nu));
  const double sine = std::sin(angle), square = nu / (nu + t * t);  // of the cosine
  const bool is_odd = degrees % 2 == 1;
  double term = is_odd ? std::sqrt(square) : 1, sum = degrees == 1 ? 0 : term;
  for (std::uint64_t k = is_odd ? 3 : 2; k + 1 < degrees; k += 2) {
    const double order = static_cast<double>(k);
    term *= square * (order - 1) / order;
    if (sum + term == sum) break;
    sum += term;
  }
  if (!is_odd) return sine * sum;
  return 2 / std::numbers::pi * (angle + sine * sum);
}

/// Bisects until no number is left between the ends. Newton's method would need fewer steps, and a
/// proof for the tails; a study needs few quantiles.
double student_quantile(double probability, std::uint64_t degrees) {
  ORRERY_ASSERT(probability > 0 && probability < 1, "a quantile has a probability");
  double low = 0, high = 1;
  while (student_probability(high, degrees) < probability && high < 1e300) {
    low = high;
    high *= 2;
  }
  for (;;) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return high;
    (student_probability(middle, degrees) < probability ? low : high) = middle;
  }
}

double relative_precision(double half_width, double mean) {
  if (half_width == 0) return std::numeric_limits<double>::infinity();
  return half_width / std::fabs(mean);
}

}  // namespace orrery
