// SPDX-License-Identifier: Apache-2.0
//
// Distributions from measured data: values with weights, and a continuous distribution given by a
// sample or by points of its distribution function. Both are immutable tables, made once (in
// Model::prepare, shared by all LPs); a draw takes the `Random` of the LP that draws.
//
// Files are text with one row a line: numbers in digits ("2.5", "1e-3"), separated by spaces, tabs,
// commas or semicolons. Empty lines and the text after a '#' are ignored. Values keep the unit of
// the file.
//
// A wrong table throws std::invalid_argument, a wrong file orrery::UsageError with file and line.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "orrery/random.h"

namespace orrery {

/// Values that occur with given weights, by the alias table of orrery::Discrete. 24 bytes a value.
class EmpiricalValues {
 public:
  /// `weights` as for Discrete, one for each value; they need not add up to 1. Values are finite.
  EmpiricalValues(std::span<const double> values, std::span<const double> weights);

  /// From a file whose rows are "value weight", or "value" for a weight of 1.
  static EmpiricalValues read(const std::string& path);

  std::size_t size() const { return values_.size(); }
  double mean() const { return mean_; }

  /// One of the values. 1 draw, in a time independent of the number of values.
  double operator()(Random& random) const { return values_[index_(random)]; }

 private:
  std::vector<double> values_;
  Discrete index_;
  double mean_;
};

/// A continuous distribution whose distribution function is linear between given points, drawn by
/// inversion (Law, "Simulation Modeling and Analysis", 5th ed., 2015, section 8.3.16). Values lie
/// between the first and the last point; there are no tails beyond the data.
class EmpiricalReal {
 public:
  /// From a sample of at least 2 finite values in any order, as Law does: the i-th smallest of n
  /// values has the cumulative share (i - 1) / (n - 1). 8 bytes a value.
  static EmpiricalReal of_sample(std::span<const double> sample);

  /// From at least 2 points: increasing values, each with the share of the distribution that is at
  /// most as large; shares do not decrease. The first share is 0. Shares have any unit (shares,
  /// percent, cumulative counts): the last one is the total. 16 bytes a point.
  static EmpiricalReal of_points(std::span<const double> values,
                                 std::span<const double> cumulative);

  /// From a file whose rows are all "value" (a sample) or all "value cumulative" (points).
  static EmpiricalReal read(const std::string& path);

  std::size_t size() const { return values_.size(); }
  double mean() const;

  /// 1 draw. Of points, the time grows with the logarithm of their number; of a sample, it is
  /// constant.
  double operator()(Random& random) const { return quantile(random.uniform()); }

  /// The value below which a share u of the distribution lies, for u in [0, 1).
  double quantile(double u) const;

 private:
  EmpiricalReal() = default;
  std::vector<double> values_;
  std::vector<double> cumulative_;  // from 0 to 1; empty: evenly spread
};

}  // namespace orrery
