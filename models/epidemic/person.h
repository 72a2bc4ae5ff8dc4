// SPDX-License-Identifier: Apache-2.0
//
// A person, the payload of events between places. A person on a journey exists only as an event, a
// person at a location only in the memory of that location (crowd.h). So nobody exists twice, and
// LPs share no table of all people.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "orrery/orrery.h"

namespace epidemic {

/// States of the transition system; disease.h has the transitions.
enum class Stage : std::uint8_t {
  susceptible,
  latent,     ///< infected, not yet infectious
  mild,       ///< infectious, with no symptoms or symptoms that nobody notices
  ill,        ///< infectious, notices the illness and goes about as before
  homebound,  ///< infectious, goes home and stays there
  recovered,
  protected_by_vaccine
};
inline constexpr std::size_t kStages = 7;

constexpr std::size_t index_of(Stage stage) {
  return static_cast<std::size_t>(stage);
}
constexpr bool is_infectious(Stage stage) {
  return stage == Stage::mild || stage == Stage::ill || stage == Stage::homebound;
}

/// 16 bytes without padding, so that they enter the fingerprint.
struct Person {
  /// When the stage ends by itself; Time::max() for stages that do not end by themselves.
  orrery::Time changes = orrery::Time::max();
  orrery::LpId home = 0;
  std::uint16_t leaves_home_min = 0;  ///< minute of the day, if schedule=daily
  Stage stage = Stage::susceptible;
  std::uint8_t vaccinated = 0;  ///< 1: has had a dose, whether it helped or not
};
static_assert(sizeof(Person) == 16 && std::has_unique_object_representations_v<Person>);

/// `time + duration`, or Time::max() if the sum is beyond the clock's range.
constexpr orrery::Time saturated_sum(orrery::Time time, orrery::Duration duration) {
  return duration > orrery::Time::max() - time ? orrery::Time::max() : time + duration;
}

}  // namespace epidemic
