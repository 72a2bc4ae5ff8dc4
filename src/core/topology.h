// SPDX-License-Identifier: Apache-2.0
//
// The machine as hwloc sees it. Where the system does not describe itself (containers without
// /sys), hwloc goes on with less and says so on standard error, which belongs to the program's
// user: here it stays silent, and those who ask tell in the run's notes what is not known.
#pragma once

#include <hwloc.h>

#include <memory>
#include <type_traits>

namespace orrery {

struct TopologyCloser {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, TopologyCloser>;

/// Only the cores that this process may run on (taskset, containers); all caches. Null if hwloc
/// fails.
Topology load_topology();

}  // namespace orrery
