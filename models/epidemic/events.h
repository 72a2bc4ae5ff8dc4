// SPDX-License-Identifier: Apache-2.0
//
// The events of the epidemic model.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "orrery/orrery.h"
#include "person.h"

namespace epidemic {

/// A person arrives at a location.
struct Arrival {
  Person person;
};
/// A stay at a location ends.
struct Departure {
  std::uint32_t slot;
};
/// A step of the table `curves` ends.
struct StepEnd {};

/// Kinds of changes of people that are counted.
enum class Happening : std::uint8_t {
  infected,
  mild,  ///< has become infectious as a mild case; the next two likewise
  ill,
  homebound,
  mild_over,  ///< a mild case has recovered; the next two likewise
  ill_over,
  homebound_over,
  protected_by_vaccine
};
inline constexpr std::size_t kHappenings = 8;
using HappeningCounts = std::array<std::uint32_t, kHappenings>;

/// A location reports to the health office of a region what happened in the step to people who live
/// in that region.
struct Tally {
  HappeningCounts counts;
};
/// A location reports to its own region's health office when an infectious person was there first,
/// and when a person was infected there first. Time::max(): not yet.
struct Sighting {
  orrery::Time first_case, first_infection;
};

static_assert(orrery::event_payload_is_hashed<Arrival> && orrery::event_payload_is_hashed<Tally> &&
              orrery::event_payload_is_hashed<Sighting>);

}  // namespace epidemic
