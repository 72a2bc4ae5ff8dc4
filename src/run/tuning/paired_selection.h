// SPDX-License-Identifier: Apache-2.0
//
// Decides which of two systems costs less, by a sequential test on paired observations: the fully
// sequential procedure for two systems of
//   S.-H. Kim, B. L. Nelson: A fully sequential procedure for indifference-zone selection in
//   simulation. ACM TOMACS 11(3), 2001,
// with the variance renewed after each pair, as in
//   S.-H. Kim, B. L. Nelson: On the asymptotic validity of fully sequential selection procedures
//   for steady-state simulation. Operations Research 54(3), 2006.
//
// The sum of the pairs' differences is a random walk. It goes on while it stays within a triangle
// that narrows with the number of pairs n,
//   |sum| < d/2 (h^2 S^2 / d^2 - n),   h^2 = 2 eta (n - 1),   eta = ((2 a)^(-2/(n-1)) - 1) / 2
// where S^2 is the variance of a difference, d the indifference and a the admitted error. So a
// clear difference is found after a few pairs, a small one after as many pairs as its noise
// requires, and the test always ends. If the systems differ by d or more, the better one is
// selected with probability 1 - a; if they differ by less, either may be selected, which does not
// matter.
#pragma once

#include <algorithm>
#include <cmath>

namespace orrery::tuning {

class PairedSelection {
 public:
  enum class Verdict { open, first, second };

  /// Adds the difference of a pair: positive if the second system costs more. A difference beyond
  /// kLargest is an accident (a thread was interrupted), so it is cut to kLargest.
  void add(double difference) {
    const double taken = std::clamp(difference, -kLargest, kLargest);
    const double from_mean = taken - mean_;
    mean_ += from_mean / ++pairs_;
    squares_ += from_mean * (taken - mean_);
  }
  double pairs() const { return pairs_; }
  double mean() const { return mean_; }

  /// Which system costs less, or `open` if more pairs are needed.
  Verdict verdict() const {
    if (pairs_ < kFirstStage) return Verdict::open;
    const double degrees = pairs_ - 1;
    const double eta = (std::pow(2 * kError, -2 / degrees) - 1) / 2;
    const double most_pairs = 2 * eta * squares_ / (kIndifference * kIndifference);
    const double bound = std::max(kIndifference / 2 * (most_pairs - pairs_), 0.0);
    const double sum = mean_ * pairs_;
    if (std::abs(sum) < bound) return Verdict::open;
    return sum < 0 ? Verdict::second : Verdict::first;
  }

  static constexpr double kIndifference = 0.02;
  static constexpr double kError = 0.05;

 private:
  static constexpr double kFirstStage = 3;
  static constexpr double kLargest = 0.7;

  double pairs_ = 0, mean_ = 0;
  double squares_ = 0;  ///< sum of squared distances from the mean
};

}  // namespace orrery::tuning
