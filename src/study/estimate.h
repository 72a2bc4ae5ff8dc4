// SPDX-License-Identifier: Apache-2.0
//
// What replications say of a mean. Runs with different seeds are independent and alike, so their
// results are a sample, and the interval is Student's ("Student" = W. S. Gosset, "The probable
// error of a mean", Biometrika 6(1), 1908). Within one run nothing is independent: values of one
// run are never taken as a sample.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace orrery::study {

struct Estimate {
  std::uint64_t count = 0;
  double mean = 0;
  double deviation = 0;  ///< of the sample, divided by count - 1; 0 for one value
  /// The interval is mean +/- this. Nothing for fewer than two values.
  std::optional<double> half_width;

  /// half_width / |mean|; 0 where both are 0, infinite where only the mean is, or where there is no
  /// interval.
  double relative_half_width() const;
};

/// The values are added in their order, so the same replications give the same bits.
/// `confidence`: the probability that the interval covers the mean, such as 0.95.
Estimate estimate(std::span<const double> values, double confidence);

/// The confidence that each of `intervals` needs so that all cover together with that of the whole
/// (C. E. Bonferroni; see A. M. Law, "Simulation Modeling and Analysis", 5th ed., 2015, 9.7).
double simultaneous_confidence(double whole, std::uint64_t intervals);

}  // namespace orrery::study
