// SPDX-License-Identifier: Apache-2.0
//
// Finds the next definition of a function, which a function of the same name in this executable
// hides. For functions that wrap functions of the C library.
#ifndef ORRERY_MEMORY_NEXT_DEFINITION_H
#define ORRERY_MEMORY_NEXT_DEFINITION_H

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

#include "memory/application_mode.h"

namespace orrery::memory {

// Looks `name` up at first use and keeps it in `known`. Relaxed suffices: threads that look it up
// at the same time store the same value, and nothing else is published. Not instrumented, since it
// also runs before a sanitizer has state for the thread.
template <typename Function>
__attribute__((no_sanitize("address,thread,undefined"))) Function* next_definition(
    std::atomic<Function*>& known, const char* name) noexcept {
  Function* function = known.load(std::memory_order_relaxed);
  if (function == nullptr) {
    const PlatformMode platform;
    function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    if (function == nullptr) {
      std::abort();  // every C library has the functions that are wrapped
    }
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_NEXT_DEFINITION_H
