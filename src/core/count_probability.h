// SPDX-License-Identifier: Apache-2.0
//
// Logarithms of the probabilities of counts, for the rejection methods of Poisson and binomial
// variates. They have the saddle-point form of C. Loader, "Fast and accurate computation of
// binomial probabilities" (2000), which avoids large terms that cancel, so that a mean of 2^50
// loses no more digits than one of 10.
#pragma once

#include <array>
#include <cmath>

#include "core/stable_math.h"
#include "orrery/math.h"

namespace orrery::probability {

using math::product;

inline constexpr double kLogRootTwoPi = 0.91893853320467274178;

/// ln(k!) less Stirling's main term (k + 1/2) ln k - k + ln(2 pi) / 2, for k >= 10.
inline double stirling_error(double k) {
  const double inverse = 1 / k;
  const double square = product(inverse, inverse);
  constexpr double kSeries[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188};
  return product(inverse, math::kernel::polynomial(square, kSeries));
}

/// The same for 1 to 9, where the series does not converge fast enough: from its definition.
inline constexpr std::array<double, 10> kSmallStirlingErrors = [] {
  std::array<double, 10> errors{};
  double factorial = 1;
  for (int k = 1; k < 10; ++k) {
    factorial *= k;
    errors[static_cast<std::size_t>(k)] =
        math::kernel::log_of_positive(factorial) -
        (product(k + 0.5, math::kernel::log_of_positive(k)) - k + kLogRootTwoPi);
  }
  return errors;
}();

/// For any whole k >= 1.
inline double any_stirling_error(double k) {
  return k < 10 ? kSmallStirlingErrors[static_cast<std::size_t>(k)] : stirling_error(k);
}

/// k ln(k / mean) + mean - k, without the cancellation that this form has for k near the mean. With
/// v = (k - mean) / (k + mean), ln(k / mean) = 2 artanh v, and the linear terms combine exactly.
inline double deviance(double k, double mean) {
  const double v = (k - mean) / (k + mean);
  if (std::abs(v) > 0.1) return product(k, math::log(k / mean)) + mean - k;
  constexpr double kSeries[] = {1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15};
  const double square = product(v, v);
  const double series = product(product(square, v), math::kernel::polynomial(square, kSeries));
  return product(v, k - mean) + product(2 * k, series);
}

/// ln(mean^k e^-mean / k!), k a non-negative integer.
inline double log_poisson(double k, double mean) {
  if (k >= 10) {
    return -stirling_error(k) - deviance(k, mean) - kLogRootTwoPi - 0.5 * math::log(k);
  }
  double factorial = 1;
  for (double i = 2; i <= k; ++i) factorial *= i;
  return product(k, math::log(mean)) - mean - math::log(factorial);
}

/// ln(n! / (k! (n-k)!) p^k q^(n-k)), q = 1 - p; 0 < p <= 1/2, k and n whole, 0 <= k <= n, n >= 1.
/// At the ends it is n ln q or n ln p, each in terms of its deviance.
inline double log_binomial(double k, double n, double p) {
  const double q = 1 - p, rest = n - k;
  if (k == 0) return -deviance(n, product(n, q)) - product(n, p);
  if (rest == 0) return -deviance(n, product(n, p)) - product(n, q);
  return any_stirling_error(n) - any_stirling_error(k) - any_stirling_error(rest) -
         deviance(k, product(n, p)) - deviance(rest, product(n, q)) - kLogRootTwoPi -
         0.5 * math::log(k / n * rest);
}

}  // namespace orrery::probability
