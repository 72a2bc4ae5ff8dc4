// SPDX-License-Identifier: Apache-2.0
#include "core/topology.h"

#include <memory>
#include <type_traits>

namespace orrery {
namespace {

struct TopologyCloser {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, TopologyCloser>;

Topology load_topology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  Topology owned(topology);
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING);
  hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(topology) != 0) return nullptr;
  return owned;
}

}  // namespace

hwloc_topology_t machine_topology() {
  static const Topology topology = load_topology();
  return topology.get();
}

}  // namespace orrery
