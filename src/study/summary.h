// SPDX-License-Identifier: Apache-2.0
//
// What the runs of a study come to: for each point and measure the mean over replications with its
// interval, and, where values of one parameter are compared, their differences.
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
  double confidence = 0;  ///< of its interval
};

/// One for each point and each measure that is a number somewhere, measure by measure. Intervals
/// have the confidence, or the one that the plan's rule for the measure asks for.
std::vector<SummaryRow> summarise(const Plan& plan, const RunTable& runs, double confidence);

/// How two values of a parameter differ where all other parameters are equal. Replications are
/// paired by their seeds: what both points owe to the same random numbers cancels.
struct Difference {
  std::size_t measure = 0;
  Settings setting;           ///< of the other parameters
  std::string first, second;  ///< values of the parameter that is compared
  Estimate estimate;          ///< of second - first
  /// Of this interval alone. With more than two values all intervals of a setting and a measure
  /// hold together with the study's confidence.
  double confidence = 0;

  /// Whether the interval leaves 0 out.
  bool is_certain() const;
};

/// All pairs of values of `parameter`, one of the plan's, measure by measure.
std::vector<Difference> compare(const Plan& plan, const RunTable& runs,
                                const std::string& parameter, double confidence);

}  // namespace orrery::study
