// SPDX-License-Identifier: Apache-2.0
//
// How many servers are there at which time of a day or a week.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "orrery/time.h"

namespace orrery {

/// Numbers of servers that repeat with a period:
///
///   // 3 servers from 8 to 12 and from 13 to 17, 1 between, none at night
///   const orrery::Shifts shifts(Duration::days(1), {{Duration::hours(8), 3},
///     {Duration::hours(12), 1}, {Duration::hours(13), 3}, {Duration::hours(17), 0}});
///
/// Before the first change of a period, the last one of the period before holds, also at time 0. A
/// week is a period of 7 days whose changes are up to 7 days after its beginning.
class Shifts {
 public:
  struct Change {
    Duration at;  ///< since the beginning of the period
    std::uint64_t servers;
  };

  /// Throws std::invalid_argument unless there are changes, each later than the one before, from 0
  /// to below the period.
  Shifts(Duration period, std::vector<Change> changes)
      : period_(period), changes_(std::move(changes)) {
    if (changes_.empty()) throw std::invalid_argument("Shifts: there must be a change at least.");
    Duration least = Duration::zero();
    for (const Change& change : changes_) {
      if (change.at < least || change.at >= period_)
        throw std::invalid_argument(
            "Shifts: changes must come in the order of their times, from 0 to below the period.");
      least = change.at + Duration::from_ticks(1);
    }
  }

  std::uint64_t servers_at(Time time) const {
    std::uint64_t servers = changes_.back().servers;
    for (const Change& change : changes_)
      if (change.at <= in_period(time)) servers = change.servers;
    return servers;
  }
  /// From `time` to the next change after it.
  Duration until_change(Time time) const {
    const Duration now = in_period(time);
    for (const Change& change : changes_)
      if (change.at > now) return change.at - now;
    return period_ - now + changes_.front().at;
  }

 private:
  Duration in_period(Time time) const {
    return Duration::from_ticks(time.ticks() % period_.ticks());
  }

  Duration period_;
  std::vector<Change> changes_;
};

}  // namespace orrery
