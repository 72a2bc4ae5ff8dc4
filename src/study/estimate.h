// SPDX-License-Identifier: Apache-2.0
//
// Estimates of a mean from replications. Runs with different seeds are independent and identically
// distributed, so their results are a sample, and the confidence interval is Student's ("Student" =
// W. S. Gosset, "The probable error of a mean", Biometrika 6(1), 1908). Values within one run are
// not independent and are never taken as a sample.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace orrery::study {

struct Estimate {
  std::uint64_t count = 0;
  double mean = 0;
  double deviation = 0;  ///< sample standard deviation, with divisor count - 1; 0 for one value
  /// The interval is mean +/- half_width. Nothing for fewer than two values.
  std::optional<double> half_width;

  /// half_width / |mean|; 0 if both are 0, infinite if only the mean is 0 or if there is no
  /// interval.
  double relative_half_width() const;
};

/// The values are added in their order, so the same replications give the same bits. `confidence`:
/// the probability that the interval covers the mean, such as 0.95.
Estimate estimate(std::span<const double> values, double confidence);

/// The confidence that each of `intervals` needs so that all of them together cover with confidence
/// `whole` (C. E. Bonferroni; see A. M. Law, "Simulation Modeling and Analysis", 5th ed., 2015,
/// 9.7).
double simultaneous_confidence(double whole, std::uint64_t intervals);

}  // namespace orrery::study
