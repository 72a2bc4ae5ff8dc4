// SPDX-License-Identifier: Apache-2.0
//
// When people travel, and for how long. Each person decides alone: at home, stay, leave, stay
// elsewhere, come home, and so on. Every trip has a least duration, from which the lookahead
// follows.
#pragma once

#include <cstdint>

#include "orrery/orrery.h"
#include "person.h"

namespace epidemic {

struct Schedule {
  /// True: each person leaves home at the same own hour each day. False: after a random stay.
  bool daily = false;
  orrery::Duration home_stay, away_stay, far_stay;  ///< means
  orrery::Duration leave_at, leave_spread;          ///< mean and standard deviation over the people
  orrery::Duration trip_minimum, trip_mean;         ///< within the region
  orrery::Duration far_delay;                       ///< mean, beyond the shortest duration of a way

  /// The minute of the day at which somebody leaves home.
  std::uint16_t draw_habit(orrery::Random& random) const;
  /// Duration of a stay at home that begins at `now`.
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
