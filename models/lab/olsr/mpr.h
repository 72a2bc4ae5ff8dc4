// SPDX-License-Identifier: Apache-2.0
//
// Which neighbours are to pass messages on: multipoint relays (RFC 3626, 8.3.1), so few that each
// strict two-hop neighbour still hears what is sent. Where the RFC leaves a choice, the lowest
// address is taken, so that a run can be repeated.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "information.h"

namespace orrery::lab::olsr {

struct MprCandidate {
  std::uint8_t willingness = kWillDefault;
  std::size_t degree = 0;     ///< D(y): its neighbours but ours and us
  std::set<Address> reaches;  ///< of the two-hop neighbours that are to be covered
};

/// Of neighbours with one interface; none that is never willing is among them.
std::set<Address> choose_mprs(const std::map<Address, MprCandidate>& candidates);
/// Of all interfaces.
std::set<Address> choose_mprs(const Information& known);

}  // namespace orrery::lab::olsr
