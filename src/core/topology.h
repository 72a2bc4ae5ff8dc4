// SPDX-License-Identifier: Apache-2.0
//
// The machine as hwloc sees it. Where the system does not describe itself (containers without
// /sys), hwloc continues with less and reports that on standard error, which belongs to the
// program's user. So its messages are suppressed, and callers put missing information into the
// run's notes.
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
