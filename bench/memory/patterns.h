// SPDX-License-Identifier: Apache-2.0
//
// What the two programs of bench/memory differ in: whose heap serves the patterns.
#pragma once

namespace orrery::bench {

/// Runs `work` where malloc is served by the heap to be measured: lp_heap.cpp gives it an LP's heap
/// through the interposed malloc, system_heap.cpp leaves the system's (or a preloaded one).
void run_in_heap(void (*work)(void*), void* argument);

}  // namespace orrery::bench
