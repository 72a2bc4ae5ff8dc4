// SPDX-License-Identifier: Apache-2.0
//
// The routing table (RFC 3626, 10 and 12.6): the fewest hops to each address of each router that is
// known, and to the networks behind gateways.
#pragma once

#include <cstddef>
#include <map>

#include "information.h"

namespace orrery::lab::olsr {

struct Route {
  Address next;               ///< an interface of a neighbour
  std::size_t interface = 0;  ///< ours that leads there
  unsigned hops = 0;
  bool operator==(const Route&) const = default;
};
using Routes = std::map<Network, Route>;

Routes compute_routes(const Information& known);

}  // namespace orrery::lab::olsr
