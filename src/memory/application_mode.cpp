// SPDX-License-Identifier: Apache-2.0
//
// The thread's context, and the default action when a model misuses its heap.
#include "memory/application_mode.h"

#include <cstdio>
#include <cstdlib>

#include "memory/platform_local.h"

namespace orrery::memory {

constinit thread_local ThreadContext thread_context;
static const PlatformLocal context_is_of_the_platform([] { return &thread_context; });

const char* describe(HeapMisuse what) noexcept {
  switch (what) {
    case HeapMisuse::not_live:
      return "free of memory that is not allocated (freed twice?)";
    case HeapMisuse::foreign:
      return "free of memory that belongs to another LP";
    case HeapMisuse::not_start:
      return "free of an address that no allocation starts at";
  }
  return "misuse of the LP's heap";
}

void report_heap_misuse(HeapMisuse what, const void* pointer) noexcept {
  LpHeap* const heap = running_heap();
  const PlatformMode platform;
  if (thread_context.on_misuse != nullptr) {
    thread_context.on_misuse(what, pointer, heap);
    return;
  }
  std::fprintf(stderr, "orrery: %s: %p\n", describe(what), pointer);
  std::abort();
}

}  // namespace orrery::memory
