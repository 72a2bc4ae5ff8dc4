// SPDX-License-Identifier: Apache-2.0
//
// orrery/math.h: the special cases around the kernels of stable_math.h. They follow ISO C Annex F.
#include "stable_math.h"

#include <cmath>
#include <limits>

#include "orrery/math.h"

namespace orrery::math {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool is_positive_and_finite(double x) {
  return x > 0 && x < kInfinity;
}

/// The logarithm (to any base above 1) of an argument that is not positive and finite.
double log_special(double x) {
  if (x == 0) return -kInfinity;
  return x < 0 ? kNaN : x;  // infinity and NaN are returned unchanged
}

double log_to_base(double x, kernel::Pair inverse_of_ln_base) {
  if (!is_positive_and_finite(x)) return log_special(x);
  const kernel::Pair result = kernel::multiply(kernel::log_pair(x), inverse_of_ln_base);
  return result.high + result.low;
}

bool is_integer(double y) {
  if (!(std::abs(y) < 0x1p53)) return std::abs(y) < kInfinity;
  return static_cast<double>(static_cast<std::int64_t>(y)) == y;
}

bool is_odd_integer(double y) {
  return std::abs(y) < 0x1p53 && is_integer(y) && (static_cast<std::int64_t>(y) & 1) != 0;
}

/// For x or y infinite, or x zero; neither is a NaN, y is not zero and x is not one.
double pow_special(double x, double y) {
  const double size = std::abs(x);
  if (std::abs(y) == kInfinity) {
    if (size == 1) return 1;
    return (size > 1) == (y > 0) ? kInfinity : 0.0;
  }
  const double magnitude = (size == kInfinity) == (y > 0) ? kInfinity : 0.0;
  return is_odd_integer(y) ? std::copysign(magnitude, x) : magnitude;
}

/// x^y for x positive and finite, y finite. The logarithm needs ten bits more than a double has,
/// since the exponential turns its absolute error into a relative one.
double pow_of_positive(double x, double y) {
  if (x == 1) return 1;  // below, |ln x| > 2^-54 and so |y| < 2^64: no overflow in the pair
  const kernel::Pair ln_x = kernel::log_pair(x);
  const double estimate = product(y, ln_x.high);
  if (estimate > 800) return kInfinity;
  if (estimate < -800) return 0;
  const kernel::Pair exponent = kernel::two_product(y, ln_x.high);
  return kernel::exp_of_sum(exponent.high, exponent.low + product(y, ln_x.low));
}

}  // namespace

double log(double x) {
  return is_positive_and_finite(x) ? kernel::log_of_positive(x) : log_special(x);
}

double log2(double x) {
  return log_to_base(x, {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56});
}

double log10(double x) {
  return log_to_base(x, {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57});
}

double exp(double x) {
  if (std::abs(x) <= 800) return kernel::exp_of_sum(x, 0);
  if (x > 0) return kInfinity;
  return x < 0 ? 0.0 : x;
}

double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return kNaN;
  if (x == 0 || std::abs(x) == kInfinity || std::abs(y) == kInfinity) return pow_special(x, y);
  if (x > 0) return pow_of_positive(x, y);
  if (!is_integer(y)) return kNaN;
  const double magnitude = pow_of_positive(-x, y);
  return is_odd_integer(y) ? -magnitude : magnitude;
}

}  // namespace orrery::math
