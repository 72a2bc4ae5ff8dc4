// SPDX-License-Identifier: Apache-2.0
//
// Implements the hint of orrery/memory.h: chunks of the running LP's heap on the cache sets of mild
// memory. The functions call the heap directly, so that malloc need not look for a hint.
#include <new>

#include "memory/application_mode.h"
#include "memory/lp_heap.h"
#include "memory/region.h"
#include "orrery/memory.h"

namespace orrery {

void* allocate_mild(std::size_t bytes) {
  memory::LpHeap* const heap = memory::running_heap();
  // Memory that an observer serves (heap_observer.h) goes through the interposed functions.
  if (heap == nullptr || memory::thread_context.observer != nullptr) return ::operator new(bytes);
  void* pointer = nullptr;
  {
    const memory::PlatformMode platform;
    pointer = heap->allocate(bytes, memory::kMinAlignmentBytes, memory::Access::mild);
    if (pointer == nullptr) memory::note_refusal(bytes);
  }
  if (pointer == nullptr) memory::throw_refused(bytes);
  return pointer;
}

void free_mild(void* pointer) noexcept {
  memory::LpHeap* const heap = memory::running_heap();
  // In platform mode, or for system memory, the interposed functions decide.
  if (heap == nullptr || memory::thread_context.observer != nullptr ||
      !memory::is_lp_pointer(pointer))
    return ::operator delete(pointer);
  memory::FreeStatus status;
  {
    const memory::PlatformMode platform;
    status = heap->deallocate(pointer);
  }
  if (status != memory::FreeStatus::ok)
    memory::report_heap_misuse(memory::misuse_of(status), pointer);
}

}  // namespace orrery
