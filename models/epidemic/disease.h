// SPDX-License-Identifier: Apache-2.0
//
// The disease as a probabilistic timed transition system (PTTS; C. Barrett, K. Bisset, S. Eubank,
// X. Feng, M. Marathe, "EpiSimdemics: an efficient algorithm for simulating the spread of
// infectious disease over large realistic social networks", SC 2008): stages, the duration of each,
// and the probability of each successor. Duration and successor are drawn when a stage begins and
// do not change, so the end of a stage is known from its start, and no event has to be cancelled.
//
//                       mild_share            +-> mild ------+
//   susceptible -> latent --------------------+-> ill -------+-> recovered
//        |              1 - mild_share, of it +-> homebound -+
//        +-> protected  home_share
//
// Contact and vaccine, which end the stage `susceptible`, belong to the location (location.h).
#pragma once

#include <cstdint>

#include "orrery/orrery.h"
#include "person.h"

namespace epidemic {

/// Duration of a stage: the sum of `shape` exponential times (Erlang). Shape 1 is the exponential
/// time of the differential equations; larger shapes scatter less about the same mean.
struct Dwell {
  orrery::Duration mean;
  std::int64_t shape = 1;

  orrery::Duration draw(orrery::Random& random) const;
};

struct Disease {
  Dwell latent, infectious;
  double mild_share = 0;  ///< of the infected people
  double home_share = 0;  ///< of the people who are not mild cases
  double mild_infectivity = 1;
  double beta_per_s = 0;  ///< infections by one fully infectious person, all others susceptible

  /// Starts the stage that an infection at `now` begins.
  void infect(Person& person, orrery::Time now, orrery::Random& random) const;
  /// Starts the stage after the one that ends at `person.changes`, from that time on.
  void progress(Person& person, orrery::Random& random) const;

  /// Number of infections by one case in a susceptible, well-mixed population (the basic
  /// reproduction number).
  double reproduction_number() const {
    return beta_per_s * infectious.mean.to_seconds() *
           (mild_share * mild_infectivity + (1 - mild_share));
  }

 private:
  Stage variant(orrery::Random& random) const;
};

}  // namespace epidemic
