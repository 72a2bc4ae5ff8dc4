// SPDX-License-Identifier: Apache-2.0
//
// Measures that authorities take from a date on: close locations to visitors, vaccinate, restrict
// travel between regions. A location checks for a measure when it needs to, so no event announces
// the date.
#pragma once

#include <cstdint>

#include "orrery/orrery.h"

namespace epidemic {

struct Interventions {
  double close_share = 0;  ///< of the locations of each region
  orrery::Time close_from;
  double doses_per_s = 0;  ///< rate, for each susceptible person without a dose
  double vaccine_efficacy = 0;
  orrery::Time vaccinate_from;
  double travel_reduction = 0;  ///< share of the trips between regions that are not made
  orrery::Time restrict_from;

  bool closes(orrery::Time now) const { return close_share > 0 && now >= close_from; }
  /// Whether closing locations closes the location `number` of the `locations` of a region.
  bool is_closed(std::uint32_t number, std::uint32_t locations) const {
    return number < close_share * locations;
  }
  bool forbids_trip(orrery::Time now, orrery::Random& random) const {
    return travel_reduction > 0 && now >= restrict_from && random.bernoulli(travel_reduction);
  }
  bool vaccinates(orrery::Time now) const { return doses_per_s > 0 && now >= vaccinate_from; }
};

}  // namespace epidemic
