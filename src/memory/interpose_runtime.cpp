// SPDX-License-Identifier: Apache-2.0
//
// Language-runtime calls that keep memory for longer than an event run in platform mode, whichever
// code calls them. Otherwise the first event that runs them would leave pointers into its LP's heap
// in places that no rollback restores:
//   - a function-local static, initialised at its first use: its guard is not rolled back, so the
//     object's memory must not be either. Nor may the initialisation be preempted: other threads
//     wait for it. It counts as platform code from __cxa_guard_acquire to __cxa_guard_release.
//   - the lists of destructors to run at exit (of statics) and at the end of a thread (of
//     thread_local objects): glibc extends them with calloc.
// Statics that model code changes after their initialisation remain the model's fault, which the
// checker engine finds: they are state outside of the LP.
//
// The real functions are found with dlsym; a statically linked libstdc++ is not supported.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "memory/application_mode.h"

namespace orrery::memory {
namespace {

// Depth of statics whose initialisers initialise other statics.
constexpr unsigned kMaxNestedGuards = 64;

struct GuardStack {
  std::array<LpHeap*, kMaxNestedGuards> heaps{};
  unsigned depth = 0;
};

// Not a PlatformLocal: the statics that a handler is initialising are the handler's.
constinit thread_local GuardStack guard_stack [[gnu::tls_model("initial-exec")]];

// Finds the next definition of a function of the runtime. Relaxed suffices: threads that look it up
// at once store the same value and nothing else is published by it.
template <typename Function>
Function* next(std::atomic<Function*>& known, const char* name) noexcept {
  Function* function = known.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    if (function == nullptr) {
      std::abort();  // no C++ program starts without it
    }
    known.store(function, std::memory_order_relaxed);
  }
  return function;
}

void set_mode(LpHeap* heap) noexcept {
  if (heap == nullptr) {
    leave_application_mode();
  } else {
    enter_application_mode(*heap);
  }
}

void push_mode(LpHeap* heap) noexcept {
  if (guard_stack.depth == kMaxNestedGuards) {
    std::abort();  // deeper than any sane nesting, and the mode would be lost
  }
  guard_stack.heaps[guard_stack.depth++] = heap;
}

void pop_mode() noexcept {
  set_mode(guard_stack.heaps[--guard_stack.depth]);
}

}  // namespace
}  // namespace orrery::memory

namespace rt = orrery::memory;

#define ORRERY_EXPORT extern "C" __attribute__((visibility("default")))

ORRERY_EXPORT int __cxa_guard_acquire(std::int64_t* guard) {
  static constinit std::atomic<int (*)(std::int64_t*)> known{nullptr};
  rt::LpHeap* const heap = rt::running_heap();
  rt::leave_application_mode();
  const int must_initialise = rt::next(known, "__cxa_guard_acquire")(guard);
  if (must_initialise != 0) {
    rt::push_mode(heap);
  } else {
    rt::set_mode(heap);
  }
  return must_initialise;
}

ORRERY_EXPORT void __cxa_guard_release(std::int64_t* guard) noexcept {
  static constinit std::atomic<void (*)(std::int64_t*)> known{nullptr};
  rt::next(known, "__cxa_guard_release")(guard);
  rt::pop_mode();
}

ORRERY_EXPORT void __cxa_guard_abort(std::int64_t* guard) noexcept {
  static constinit std::atomic<void (*)(std::int64_t*)> known{nullptr};
  rt::next(known, "__cxa_guard_abort")(guard);
  rt::pop_mode();
}

ORRERY_EXPORT int __cxa_atexit(void (*destroy)(void*), void* object, void* library) noexcept {
  static constinit std::atomic<int (*)(void (*)(void*), void*, void*)> known{nullptr};
  const rt::PlatformMode platform;
  return rt::next(known, "__cxa_atexit")(destroy, object, library);
}

ORRERY_EXPORT int __cxa_thread_atexit_impl(void (*destroy)(void*), void* object, void* library) {
  static constinit std::atomic<int (*)(void (*)(void*), void*, void*)> known{nullptr};
  const rt::PlatformMode platform;
  return rt::next(known, "__cxa_thread_atexit_impl")(destroy, object, library);
}
