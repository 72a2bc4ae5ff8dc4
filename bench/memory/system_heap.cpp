// SPDX-License-Identifier: Apache-2.0
//
// The patterns on whatever serves malloc in an ordinary process: glibc, or what LD_PRELOAD names.
#include "memory/patterns.h"

namespace orrery::bench {

void run_in_heap(void (*work)(void*), void* argument) {
  work(argument);
}

}  // namespace orrery::bench
