// SPDX-License-Identifier: Apache-2.0
//
// Connects ranks that are processes of one machine (local_launch.h starts them). Their messages go
// through rings in shared memory (shared_rings.h). Each two ranks also have a pair of sockets,
// which wakes a rank that waits, and shows when the other process has ended for any reason.
#pragma once

#include <memory>
#include <vector>

#include "transport/ranks/wire.h"

namespace orrery::transport {

/// `memory`: of SharedRings::create, for as many ranks as there are `sockets`. `sockets`: connected
/// to the other ranks, by rank; -1 for the own one. The wire closes all of them. Throws
/// RankFailure.
std::unique_ptr<Wire> make_local_wire(unsigned rank, int memory, std::vector<int> sockets);

}  // namespace orrery::transport
