// SPDX-License-Identifier: Apache-2.0
//
// Colours: which sets of a cache an address maps to, and which kind of memory uses which sets.
//
// In a set-associative cache a line's set is its address modulo the size of one *way* (cache size /
// associativity). Memory that is touched by every event (model state, pending events) and memory
// that is written once and seldom read again (checkpoints, histories) are kept on disjoint sets, so
// that the stream of the second does not push the first out of the cache (Vitali, Pellegrini,
// Cerasuolo: Cache-aware memory manager for optimistic simulations, SIMUTools 2012). The paper
// divides blocks of the size of the whole *cache*; the lower and the upper part of such a block
// cover the same sets (way after way), so here every way-sized piece of memory is divided:
//
//   offset in the way   0 ........ intensive_bytes ........ way_bytes
//                       intensive                | mild
//
// The physical address decides the set. It agrees with the virtual one modulo the page size, so a
// way of 64 KiB can be controlled only in huge pages. With pages of 4 KiB the separation is by
// chance.
#ifndef ORRERY_MEMORY_COLOUR_H
#define ORRERY_MEMORY_COLOUR_H

#include <cstddef>
#include <cstdint>
#include <string>

#include "memory/size_class.h"

namespace orrery::memory {

// A cache of the core that a worker runs on. `way_bytes` is a power of two.
struct CacheFacts {
  unsigned level = 2;
  std::size_t bytes = 0;
  unsigned ways = 0;
  std::size_t way_bytes = kBlockBytes;
  bool known = false;
  std::string note;  // a sentence, if something is assumed or colouring is impossible
  bool usable = true;
};

// The second-level cache, as hwloc reports it. This cache is large enough to hold working sets, is
// private to a core on most processors, and its sets follow the physical address (a shared third
// level hashes them). If hwloc does not know the cache, a way of 64 KiB is assumed, the most common
// size.
CacheFacts second_level_cache();

// How an arena lays out its memory. The parts of a way are multiples of a page.
struct Colouring {
  bool on = false;
  std::size_t way_bytes = kBlockBytes;
  std::size_t intensive_bytes = kBlockBytes;  // model memory lies in [0, intensive_bytes) of a way
  std::size_t mild_from = kBlockBytes;        // mild memory in [mild_from, way_bytes)
  unsigned worker = 0;  // of `workers`: decides where in an area serving begins, see Arena
  unsigned workers = 1;
  bool huge_pages = true;  // from the first stock on

  // `share` (0 to 1) of each way of `cache` is for intensive memory, the rest for mild memory. At 0
  // or 1 one kind has no area of its own and lies anywhere.
  static Colouring of(const CacheFacts& cache, double share);

  // Offset of an address in its way.
  std::size_t offset(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) & (way_bytes - 1);
  }
};

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_COLOUR_H
