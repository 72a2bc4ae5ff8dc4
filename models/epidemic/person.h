// SPDX-License-Identifier: Apache-2.0
//
// A person, as events carry it from place to place. All that there is of somebody on a journey is
// an event on its way, and whoever is at a location lies in its memory (crowd.h), so that nobody
// exists twice and no table of all people has to be shared between LPs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "orrery/orrery.h"

namespace epidemic {

/// States of the transition system; disease.h has the ways between them.
enum class Stage : std::uint8_t {
  susceptible,
  latent,     ///< infected, not yet infectious
  mild,       ///< infectious, with symptoms that nobody notices or none
  ill,        ///< infectious, notices it and goes about as before
  homebound,  ///< infectious, and goes home and stays there
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
  /// When the stage ends by itself; Time::max() for the stages that do not.
  orrery::Time changes = orrery::Time::max();
  orrery::LpId home = 0;
  std::uint16_t leaves_home_min = 0;  ///< minute of the day, if schedule=daily
  Stage stage = Stage::susceptible;
  std::uint8_t vaccinated = 0;  ///< 1: has had a dose, whether it helped or not
};
static_assert(sizeof(Person) == 16 && std::has_unique_object_representations_v<Person>);

/// At the end of the clock's range where the sum lies beyond.
constexpr orrery::Time saturated_sum(orrery::Time time, orrery::Duration duration) {
  return duration > orrery::Time::max() - time ? orrery::Time::max() : time + duration;
}

}  // namespace epidemic
