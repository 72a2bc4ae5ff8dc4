// SPDX-License-Identifier: Apache-2.0
#include "core/topology.h"

namespace orrery {
namespace {

hwloc_topology_t load_topology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING);
  hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(topology) == 0) return topology;
  hwloc_topology_destroy(topology);
  return nullptr;
}

}  // namespace

hwloc_topology_t machine_topology() {
  static const hwloc_topology_t topology = load_topology();
  return topology;
}

}  // namespace orrery
