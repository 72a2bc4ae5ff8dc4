// SPDX-License-Identifier: Apache-2.0
//
// Colourings that do not depend on the caches of the machine.
#pragma once

#include <cstddef>

#include "memory/colour.h"

namespace orrery::memory::testing {

inline CacheFacts cache_with_ways_of(std::size_t bytes) {
  CacheFacts facts;
  facts.way_bytes = bytes;
  return facts;
}

inline Colouring colouring(double share, std::size_t way_bytes = kBlockBytes) {
  Colouring its = Colouring::of(cache_with_ways_of(way_bytes), share);
  its.huge_pages = false;
  return its;
}

}  // namespace orrery::memory::testing
