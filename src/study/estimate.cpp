// SPDX-License-Identifier: Apache-2.0
#include "study/estimate.h"

#include <cmath>
#include <limits>

#include "output/student.h"

namespace orrery::study {

double Estimate::relative_half_width() const {
  if (!half_width) return std::numeric_limits<double>::infinity();
  if (*half_width == 0) return 0;
  return *half_width / std::fabs(mean);
}

/// Two passes: sums of differences from the mean do not cancel, as a sum of squares would.
Estimate estimate(std::span<const double> values, double confidence) {
  Estimate result;
  result.count = values.size();
  if (values.empty()) return result;
  const double count = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  result.mean = sum / count;
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / (count - 1));
  result.half_width =
      student_quantile(confidence, values.size() - 1) * result.deviation / std::sqrt(count);
  return result;
}

double simultaneous_confidence(double whole, std::uint64_t intervals) {
  return 1 - (1 - whole) / static_cast<double>(intervals);
}

}  // namespace orrery::study
