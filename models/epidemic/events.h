// SPDX-License-Identifier: Apache-2.0
//
// What LPs of the epidemic model send.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "orrery/orrery.h"
#include "person.h"

namespace epidemic {

/// Somebody comes to a location.
struct Arrival {
  Person person;
};
/// A stay at a location ends.
struct Departure {
  std::uint32_t slot;
};
/// A step of the table `curves` ends.
struct StepEnd {};

/// How often what has happened to people.
enum class Happening : std::uint8_t {
  infected,
  mild,  ///< has become infectious as such a case, like the next two
  ill,
  homebound,
  mild_over,  ///< such a case has recovered
  ill_over,
  homebound_over,
  protected_by_vaccine
};
inline constexpr std::size_t kHappenings = 8;
using HappeningCounts = std::array<std::uint32_t, kHappenings>;

/// A location tells the health office of the region in which people live what has happened to them
/// in the step.
struct Tally {
  HappeningCounts counts;
};
/// A location tells the health office of its own region when somebody infectious was there for the
/// first time, and when somebody was infected there for the first time. Time::max(): not yet.
struct Sighting {
  orrery::Time first_case, first_infection;
};

static_assert(orrery::event_payload_is_hashed<Arrival> && orrery::event_payload_is_hashed<Tally> &&
              orrery::event_payload_is_hashed<Sighting>);

}  // namespace epidemic
