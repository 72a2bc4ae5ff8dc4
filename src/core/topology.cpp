// SPDX-License-Identifier: Apache-2.0
#include "core/topology.h"

#include <cstdlib>

namespace orrery {

Topology load_topology() {
  setenv("HWLOC_HIDE_ERRORS", "2", 0);  // unless the user has set it to see them
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  Topology owned(topology);
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING);
  hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(topology) != 0) return nullptr;
  return owned;
}

}  // namespace orrery
