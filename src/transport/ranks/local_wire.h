// SPDX-License-Identifier: Apache-2.0
//
// Ranks as processes of one machine (local_launch.h starts them). What they send goes through rings
// in memory that they share (shared_rings.h). For each two of them there is a pair of sockets
// besides: it wakes who waits, and tells when the process at its other end is gone, whatever ended
// it.
#pragma once

#include <memory>
#include <vector>

#include "transport/ranks/wire.h"

namespace orrery::transport {

/// `memory`: of SharedRings::create, for as many ranks as there are `sockets`, which are connected
/// to them by rank; -1 for the own one. All are closed with the wire. Throws RankFailure.
std::unique_ptr<Wire> make_local_wire(unsigned rank, int memory, std::vector<int> sockets);

}  // namespace orrery::transport
