// SPDX-License-Identifier: Apache-2.0
//
// The patterns in application mode: every malloc goes the way that a model's does, through the
// interposed functions to the heap of the running LP.
#include "memory/lp_heap.h"

#include "memory/application_mode.h"
#include "memory/patterns.h"

namespace orrery::bench {

void run_in_heap(void (*work)(void*), void* argument) {
  memory::Arena arena;
  memory::LpHeap heap(arena);
  if (heap.allocate(64) == nullptr) return;  // an LP has its object, beside what it allocates
  const memory::ApplicationMode application(heap);
  work(argument);
}

}  // namespace orrery::bench
