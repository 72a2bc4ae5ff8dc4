// SPDX-License-Identifier: Apache-2.0
#include "advise/scaling.h"

#include <algorithm>

namespace orrery::advise {

std::optional<Scaled> scale_to(std::span<const ScalingPoint> points, unsigned executors) {
  if (points.empty()) return std::nullopt;
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  for (const ScalingPoint& one : points) {
    mean_x += 1.0 / one.executors / static_cast<double>(points.size());
    mean_y += one.per_event / static_cast<double>(points.size());
  }
  for (const ScalingPoint& one : points) {
    const double x = 1.0 / one.executors - mean_x;
    xx += x * x;
    xy += x * (one.per_event - mean_y);
  }
  if (xx == 0) return std::nullopt;
  const ScalingPoint& most =
      *std::max_element(points.begin(), points.end(),
                        [](const auto& a, const auto& b) { return a.executors < b.executors; });
  Scaled scaled;
  scaled.highest = most.per_event;
  scaled.lowest = most.per_event * most.executors / executors;
  const double parallel = xy / xx;
  scaled.per_event =
      std::clamp(mean_y + parallel * (1.0 / executors - mean_x), scaled.lowest, scaled.highest);
  return scaled;
}

}  // namespace orrery::advise
