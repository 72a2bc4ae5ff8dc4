// SPDX-License-Identifier: Apache-2.0
//
// What authorities do from a date on: close locations to visitors, vaccinate, restrict travel
// between regions. All are questions that a location asks when it has to know, so no event tells
// anybody that the date has come.
#pragma once

#include <cstdint>

#include "orrery/orrery.h"

namespace epidemic {

struct Interventions {
  double close_share = 0;  ///< of the locations of each region
  orrery::Time close_from;
  double doses_per_s = 0;  ///< for each susceptible person without one, as a rate
  double vaccine_efficacy = 0;
  orrery::Time vaccinate_from;
  double travel_reduction = 0;  ///< part of the trips between regions that is not made
  orrery::Time restrict_from;

  bool closes(orrery::Time now) const { return close_share > 0 && now >= close_from; }
  /// Whether, where locations are closed, the one numbered `number` of `locations` in a region is.
  bool is_closed(std::uint32_t number, std::uint32_t locations) const {
    return number < close_share * locations;
  }
  bool forbids_trip(orrery::Time now, orrery::Random& random) const {
    return travel_reduction > 0 && now >= restrict_from && random.bernoulli(travel_reduction);
  }
  bool vaccinates(orrery::Time now) const { return doses_per_s > 0 && now >= vaccinate_from; }
};

}  // namespace epidemic
