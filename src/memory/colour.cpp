// SPDX-License-Identifier: Apache-2.0
//
// The cache as hwloc reports it, and shares of its ways in whole pages; colour.h says why.
#include "memory/colour.h"

#include <bit>
#include <cmath>

#include "core/topology.h"

namespace orrery::memory {
namespace {

// Fills in size and ways from the first cache of the level, also where the cores of a machine
// differ.
void ask_hwloc(CacheFacts& facts) {
  const hwloc_topology_t topology = machine_topology();
  if (!topology) return;
  if (const hwloc_obj_t cache = hwloc_get_obj_by_type(topology, HWLOC_OBJ_L2CACHE, 0)) {
    facts.bytes = cache->attr->cache.size;
    const int ways = cache->attr->cache.associativity;
    facts.ways = ways > 0 ? static_cast<unsigned>(ways) : 0;
  }
}

std::string kib(std::size_t bytes) {
  return std::to_string(bytes / 1024) + " KiB";
}

}  // namespace

CacheFacts second_level_cache() {
  CacheFacts facts;
  ask_hwloc(facts);
  if (facts.bytes == 0 || facts.ways == 0) {
    facts.note =
        "the system does not report size and associativity of the second-level cache: ways of " +
        kib(facts.way_bytes) + " are assumed";
    return facts;
  }
  facts.known = true;
  facts.way_bytes = facts.bytes / facts.ways;
  if (!std::has_single_bit(facts.way_bytes) || facts.way_bytes > kHugePageBytes ||
      facts.way_bytes < 4 * kPageBytes) {
    facts.usable = false;
    facts.note = "memory is not separated by cache sets: the second-level cache has ways of " +
                 std::to_string(facts.way_bytes) +
                 " bytes; a power of two from 16 KiB to 2 MiB is needed";
  }
  return facts;
}

Colouring Colouring::of(const CacheFacts& cache, double share) {
  Colouring colouring;
  colouring.on = cache.usable;
  colouring.way_bytes = cache.way_bytes;
  const auto pages = static_cast<double>(cache.way_bytes / kPageBytes);
  colouring.intensive_bytes = static_cast<std::size_t>(std::lround(share * pages)) * kPageBytes;
  colouring.mild_from = colouring.intensive_bytes;
  return colouring;
}

}  // namespace orrery::memory
