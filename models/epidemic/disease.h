// SPDX-License-Identifier: Apache-2.0
//
// The disease as a probabilistic timed transition system (PTTS; C. Barrett, K. Bisset, S. Eubank,
// X. Feng, M. Marathe, "EpiSimdemics: an efficient algorithm for simulating the spread of
// infectious disease over large realistic social networks", SC 2008): stages, how long each lasts
// and with what probability each follows. Times and successors are drawn when a stage begins and
// do not change any more, so a person knows when its stage ends, and no event has to be taken back.
//
//                       mild_share            +-> mild ------+
//   susceptible -> latent --------------------+-> ill -------+-> recovered
//        |              1 - mild_share, of it +-> homebound -+
//        +-> protected  home_share
//
// What makes susceptible people leave their stage, contact or vaccine, is their location's affair.
#pragma once

#include <cstdint>

#include "orrery/orrery.h"
#include "person.h"

namespace epidemic {

/// How long a stage lasts: the sum of `shape` exponential times (Erlang). Shape 1 is the
/// exponential time of the differential equations, larger ones scatter less about the same mean.
struct Dwell {
  orrery::Duration mean;
  std::int64_t shape = 1;

  orrery::Duration draw(orrery::Random& random) const;
};

struct Disease {
  Dwell latent, infectious;
  double mild_share = 0;  ///< of the infected
  double home_share = 0;  ///< of those who are not mild cases
  double mild_infectivity = 1;
  double beta_per_s = 0;  ///< infections by somebody fully infectious among susceptible people

  /// What begins with an infection at `now`.
  void infect(Person& person, orrery::Time now, orrery::Random& random) const;
  /// What follows a stage that has come to its end, from that instant on.
  void progress(Person& person, orrery::Random& random) const;

  /// Infections by one case in a population that is susceptible and well mixed (the basic
  /// reproduction number).
  double reproduction_number() const {
    return beta_per_s * infectious.mean.to_seconds() *
           (mild_share * mild_infectivity + (1 - mild_share));
  }

 private:
  Stage variant(orrery::Random& random) const;
};

}  // namespace epidemic
