// SPDX-License-Identifier: Apache-2.0
//
// --until-precision: adds replications until the interval of a mean is narrow enough.
//
// The rule is sequential (Y. S. Chow, H. Robbins, "On the asymptotic theory of fixed-width
// sequential confidence intervals for the mean", Annals of Mathematical Statistics 36(2), 1965; for
// relative widths A. M. Law, "Simulation Modeling and Analysis", 5th ed., 2015, 9.4.1): stop at the
// first check at which the interval is narrow enough. A sample whose deviation is small by chance
// stops a study early, so fewer intervals cover the mean than their confidence says. Three rules
// keep this error small. The first check is at ten replications. Checks are rare: after each check
// the number of replications grows to the number that the present deviation requires, but at most
// doubles. And with n replications the interval has to be narrower than requested by a factor of 1
// + 2/n, which has the function of the 1/n that Chow and Robbins add to the variance.
//
// In simulations with 6,000 studies each of means of exponential values, the share of intervals
// that cover was 93.4 to 94.4 % if these checks stopped between 15 and 40 replications, for means
// of 16 or 100 values (92.8 to 93.6 % for means of 4, which are skewed); without the factor it was
// 93.2 to 94.0 %. With a check at every replication it was 92.8 % (1,500 studies).
//
// A check depends only on the first replications of a point in the order of their seeds, never on
// which run ended when. So the number of replications does not depend on the number of parallel
// runs.
#pragma once

#include <cstdint>
#include <string>

#include "study/estimate.h"

namespace orrery::study {

inline constexpr std::uint64_t kLeastReplications = 10;

struct PrecisionRule {
  std::string measure;
  double share = 0;          ///< greatest half-width / |mean|
  double confidence = 0.95;  ///< of the interval

  /// "throughput=0.01@0.95", or without the confidence. Throws UsageError.
  static PrecisionRule parse(const std::string& text, double default_confidence);

  /// half_width / |mean|; infinite if it is unknown.
  static double share_of(const Estimate& now);
  bool is_met_by(const Estimate& now) const { return excess(now) <= 1; }
  /// The number of replications at the next check. For a measure that no run has: enough to see
  /// whether other runs have it.
  std::uint64_t next_count(const Estimate& now) const;

 private:
  /// The width of the interval divided by the greatest width allowed.
  double excess(const Estimate& now) const;
};

/// A confidence or a share: above 0 and below 1. Throws UsageError that begins with `what` and ends
/// with an example.
double read_probability(const std::string& what, const std::string& text,
                        const char* example = "0.95");

}  // namespace orrery::study
