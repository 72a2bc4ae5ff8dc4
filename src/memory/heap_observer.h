// SPDX-License-Identifier: Apache-2.0
//
// Serves the memory of an LP in place of its heap, for an engine that must see every request. The
// checker needs the requested sizes, the callers, and patterns in memory that is not live.
//
// The ordinary path pays nothing for this. The engine enters application mode with a heap that has
// no arena (LpHeap::kNoArena). Such a heap can neither allocate nor recognise an address, so
// malloc, free and realloc end in their branch for failures, and only that branch looks for an
// observer.
#ifndef ORRERY_MEMORY_HEAP_OBSERVER_H
#define ORRERY_MEMORY_HEAP_OBSERVER_H

#include <cstddef>

namespace orrery::memory {

// All functions are called in platform mode, from the handler that makes the request.
class HeapObserver {
 public:
  // Memory for `bytes` (0 counts as 1) at a multiple of `alignment`, or nullptr.
  virtual void* allocate(std::size_t bytes, std::size_t alignment) noexcept = 0;
  // `pointer` is LP memory. Misuse is reported through report_heap_misuse.
  virtual void deallocate(void* pointer) noexcept = 0;
  // As realloc, for LP memory and `bytes` above 0.
  virtual void* reallocate(void* pointer, std::size_t bytes) noexcept = 0;

 protected:
  ~HeapObserver() = default;
};

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_HEAP_OBSERVER_H
