// SPDX-License-Identifier: Apache-2.0
#include "schedule.h"

#include "disease.h"

namespace epidemic {

using orrery::Duration;
using orrery::Random;
using orrery::Time;

namespace {

constexpr Duration kMinute = Duration::seconds(60);
constexpr Duration kDay = Duration::seconds(86'400);
constexpr std::int64_t kMinutesOfDay = 1440;
/// Standard deviation of the time of departure about a person's habit.
constexpr double kPunctuality_s = 600;
/// A person who comes home less than this before the usual hour leaves on the next day.
constexpr Duration kRest = Duration::seconds(2 * 3600);
/// Erlang shape of a day out: with 4 stages the standard deviation is half of the mean.
constexpr std::int64_t kDayOutShape = 4;

}  // namespace

std::uint16_t Schedule::draw_habit(Random& random) const {
  const double seconds = random.normal(leave_at.to_seconds(), leave_spread.to_seconds());
  const std::int64_t minute = Duration::from_seconds(seconds) / kMinute % kMinutesOfDay;
  return static_cast<std::uint16_t>(minute < 0 ? minute + kMinutesOfDay : minute);
}

Duration Schedule::at_home(Time now, const Person& person, Random& random) const {
  if (!daily) return random.exponential(home_stay);
  const Duration unpunctual = Duration::from_seconds(random.normal(0, kPunctuality_s));
  const Duration habit = std::int64_t{person.leaves_home_min} * kMinute + unpunctual;
  const Duration hour = Duration::from_ticks(now.ticks() % kDay.ticks());
  Duration wait = habit - hour;
  while (wait < kRest) wait += kDay;
  return wait;
}

Duration Schedule::away(bool far, Random& random) const {
  const Duration mean = far ? far_stay : away_stay;
  return daily ? Dwell{mean, kDayOutShape}.draw(random) : random.exponential(mean);
}

}  // namespace epidemic
