// SPDX-License-Identifier: Apache-2.0
//
// The summary of a study's runs: for each point and measure the mean over replications with its
// interval, and, if a parameter is compared, the differences between its values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "study/estimate.h"
#include "study/records.h"

namespace orrery::study {

struct SummaryRow {
  std::size_t point = 0, measure = 0;
  Estimate estimate;
  double confidence = 0;  ///< of the interval
};

/// The highest confidence of the plan's rules for a measure; `otherwise` without a rule.
double confidence_of(const Plan& plan, const std::string& measure, double otherwise);

/// One row for each point and each measure that is a number in some run, sorted by measure.
/// Intervals have the given confidence, or that of the plan's rule for the measure.
std::vector<SummaryRow> summarise(const Plan& plan, const RunTable& runs, double confidence);

/// The difference between two values of a parameter if all other parameters are equal. Replications
/// are paired by their seeds, so the effect of common random numbers cancels.
struct Difference {
  std::size_t measure = 0;
  Settings setting;           ///< the other parameters
  std::string first, second;  ///< values of the compared parameter
  Estimate estimate;          ///< of second - first
  /// Of this interval alone. With more than two values, all intervals of a setting and a measure
  /// together have the study's confidence.
  double confidence = 0;

  /// Whether the interval excludes 0.
  bool is_certain() const;
};

/// All pairs of values of `parameter`, which must vary in the plan, sorted by measure.
std::vector<Difference> compare(const Plan& plan, const RunTable& runs,
                                const std::string& parameter, double confidence);

}  // namespace orrery::study
