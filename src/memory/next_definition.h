// SPDX-License-Identifier: Apache-2.0
//
// The definition of a function that the one of the same name in this executable hides, for the
// functions that wrap others of the C library.
#ifndef ORRERY_MEMORY_NEXT_DEFINITION_H
#define ORRERY_MEMORY_NEXT_DEFINITION_H

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

#include "memory/application_mode.h"

namespace orrery::memory {

// Looked up at first use and kept in `known`. Threads that look it up at once store the same value
// and nothing else is published by it, so relaxed suffices. Also called before a sanitizer has
// state for the thread: not instrumented.
template <typename Function>
__attribute__((no_sanitize("address,thread,undefined"))) Function* next_definition(
    std::atomic<Function*>& known, const char* name) noexcept {
  Function* function = known.load(std::memory_order_relaxed);
  if (function == nullptr) {
    const PlatformMode platform;
    function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    if (function == nullptr) {
      std::abort();  // what is wrapped is in every C library
    }
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_NEXT_DEFINITION_H
