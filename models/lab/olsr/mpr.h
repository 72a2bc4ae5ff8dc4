// SPDX-License-Identifier: Apache-2.0
//
// Chooses the neighbours that forward messages: multipoint relays (RFC 3626, 8.3.1). They are few,
// but reach each strict two-hop neighbour. Where the RFC leaves a choice, the lowest address is
// taken, so that a run can be repeated.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "information.h"

namespace orrery::lab::olsr {

struct MprCandidate {
  std::uint8_t willingness = kWillDefault;
  std::size_t degree = 0;     ///< D(y): its neighbours except our neighbours and us
  std::set<Address> reaches;  ///< two-hop neighbours to be covered that it reaches
};

/// For neighbours at one interface; none of them may have the willingness kWillNever.
std::set<Address> choose_mprs(const std::map<Address, MprCandidate>& candidates);
/// For all interfaces.
std::set<Address> choose_mprs(const Information& known);

}  // namespace orrery::lab::olsr
