// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/interval.h"

#include <algorithm>
#include <cmath>

namespace orrery::checkpoint {

void Interval::adjust(std::uint64_t executed, std::uint64_t rollbacks, double checkpoint_cost,
                      double event_cost) {
  if (!automatic_ || executed == 0) return;
  constexpr double kMost = kLongestAutomatic;
  double best = kMost;  // no rollback seen: rarely, but not never
  if (rollbacks > 0 && event_cost > 0) {
    best = std::sqrt(2.0 * static_cast<double>(executed) * checkpoint_cost /
                     (static_cast<double>(rollbacks) * event_cost));
  }
  // Halfway to the new estimate: measurements of one period are noisy.
  const double next = std::sqrt(std::clamp(best, 1.0, kMost) * events_);
  events_ = static_cast<std::uint32_t>(std::lround(std::clamp(next, 1.0, kMost)));
}

}  // namespace orrery::checkpoint
