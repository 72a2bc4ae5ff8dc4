// SPDX-License-Identifier: Apache-2.0
#include "core/level_state.h"

#include <algorithm>

namespace orrery {

void LevelState::set(double next, Time now, Time from) {
  if (changes++ == 0) {
    begun = since = std::max(now, from);
  } else {
    advance(now);
  }
  value = next;
}

void LevelState::advance(Time to) {
  if (to <= since) return;
  const auto ticks = static_cast<double>((to - since).ticks());
  const auto before = static_cast<double>((since - begun).ticks());
  since = to;
  if (before == 0) {
    area = value * ticks;
    minimum = maximum = value;
    return;
  }
  const double distance = value - area / before;
  area += value * ticks;
  squares += ticks * distance * (value - area / (before + ticks));
  minimum = std::min(minimum, value);
  maximum = std::max(maximum, value);
}

LevelSummary LevelState::summary() const {
  LevelSummary one;
  one.lps = changes > 0 ? 1 : 0;
  one.changes = changes;
  one.ticks = static_cast<double>((since - begun).ticks());
  one.area = area;
  one.squares = squares;
  one.minimum = minimum;
  one.maximum = maximum;
  one.total = one.ticks == 0 ? 0 : one.mean();
  one.current_total = one.current_minimum = one.current_maximum = value;
  return one;
}

}  // namespace orrery
