// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/interval.h"

#include <algorithm>
#include <cmath>

namespace orrery::checkpoint {

void Interval::adjust(double executed, double rollbacks, double checkpoint_cost,
                      double event_cost) {
  if (!automatic_ || checkpoint_cost <= 0 || event_cost <= 0) return;
  constexpr double kMost = kLongestAutomatic;
  constexpr double kPresumedEvents = 64, kPresumedRate = 0.05;
  const double rate = (rollbacks + kPresumedEvents * kPresumedRate) / (executed + kPresumedEvents);
  const double best = std::sqrt(2.0 * checkpoint_cost / (rate * event_cost));
  events_ = static_cast<std::uint32_t>(std::lround(std::clamp(best, 1.0, kMost)));
}

}  // namespace orrery::checkpoint
