// SPDX-License-Identifier: Apache-2.0
//
// The routing table (RFC 3626, 10 and 12.6): routes with the fewest hops to each address of each
// known router, and to the networks behind gateways.
#pragma once

#include <cstddef>
#include <map>

#include "information.h"

namespace orrery::lab::olsr {

struct Route {
  Address next;               ///< address of the neighbour's interface
  std::size_t interface = 0;  ///< this router's interface to the neighbour
  unsigned hops = 0;
  bool operator==(const Route&) const = default;
};
using Routes = std::map<Network, Route>;

Routes compute_routes(const Information& known);

}  // namespace orrery::lab::olsr
