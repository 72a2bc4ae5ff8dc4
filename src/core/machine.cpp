// SPDX-License-Identifier: Apache-2.0
#include "core/machine.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "core/topology.h"

namespace orrery {
namespace {
constexpr std::size_t kUsualCacheBytes = 32 << 20;
}  // namespace

unsigned usable_cores() {
  const hwloc_topology_t topology = machine_topology();
  const int cores = topology ? hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) : 0;
  if (cores > 0) return static_cast<unsigned>(cores);
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<unsigned>(online) : 1;
}

unsigned granted_cores() {
  double least = usable_cores();
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::/")) continue;
    std::string group = line.substr(3);
    if (group == "/") group.clear();
    for (bool is_root = false; !is_root; group.resize(is_root ? 0 : group.rfind('/'))) {
      is_root = group.empty();
      std::ifstream file("/sys/fs/cgroup" + group + "/cpu.max");
      double quota = 0, period = 0;
      if (file >> quota >> period && period > 0) least = std::min(least, quota / period);
    }
  }
  return std::max(1u, static_cast<unsigned>(least));
}

bool bind_to_core(unsigned worker) {
  const hwloc_topology_t topology = machine_topology();
  if (!topology) return false;
  const hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, worker);
  if (core == nullptr) return false;
  hwloc_bitmap_t set = hwloc_bitmap_dup(core->cpuset);
  hwloc_bitmap_singlify(set);
  const bool bound = hwloc_set_cpubind(topology, set, HWLOC_CPUBIND_THREAD) == 0;
  hwloc_bitmap_free(set);
  return bound;
}

std::size_t last_level_cache_bytes() {
  const hwloc_topology_t topology = machine_topology();
  for (const hwloc_obj_type_t level : {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE}) {
    std::size_t bytes = 0;
    for (hwloc_obj_t cache = nullptr;
         topology != nullptr &&
         (cache = hwloc_get_next_obj_by_type(topology, level, cache)) != nullptr;)
      bytes += cache->attr->cache.size;
    if (bytes > 0) return bytes;
  }
  return kUsualCacheBytes;
}

std::uint64_t available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  std::string unit;
  while (file >> name >> kib >> unit)
    if (name == "MemAvailable:") return kib * 1024;
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
}

}  // namespace orrery
