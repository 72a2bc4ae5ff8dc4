// SPDX-License-Identifier: Apache-2.0
//
// When people travel and how long that takes. Everybody decides alone: somebody at home leaves
// after a stay, comes home after another one, and so on. Times on the way have a least value, which
// is what the lookahead is made of.
#pragma once

#include <cstdint>

#include "orrery/orrery.h"
#include "person.h"

namespace epidemic {

struct Schedule {
  /// Whether people leave home at an hour of their own each day, and not whenever.
  bool daily = false;
  orrery::Duration home_stay, away_stay, far_stay;  ///< means
  orrery::Duration leave_at, leave_spread;          ///< mean and deviation over the people
  orrery::Duration trip_minimum, trip_mean;         ///< within the region
  orrery::Duration far_delay;                       ///< mean, beyond the shortest of a way

  /// The minute of the day at which somebody leaves home.
  std::uint16_t draw_habit(orrery::Random& random) const;
  /// How long a stay at home that begins at `now` will last.
  orrery::Duration at_home(orrery::Time now, const Person& person, orrery::Random& random) const;
  orrery::Duration away(bool far, orrery::Random& random) const;
  orrery::Duration trip(orrery::Random& random) const {
    return trip_minimum + random.exponential(trip_mean - trip_minimum);
  }
  orrery::Duration far_trip(orrery::Duration shortest, orrery::Random& random) const {
    return shortest + random.exponential(far_delay);
  }
};

}  // namespace epidemic
