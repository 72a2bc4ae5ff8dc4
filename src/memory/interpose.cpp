// SPDX-License-Identifier: Apache-2.0
//
// malloc and its family, and every form of operator new and delete, for the whole process. In
// application mode they serve the running LP's heap, in platform mode the system's allocator, so
// that a model is ordinary C++. application_mode.h has the rules for memory that crosses the
// border.
//
// A definition in the executable takes precedence over those of shared libraries, also of libraries
// loaded later with dlopen. Hence this file is linked as an object into executables, never put into
// a library. Platform mode reaches glibc's allocator by its second names (__libc_malloc, ...).
// AddressSanitizer and ThreadSanitizer export their allocators under second names, too
// (__interceptor_malloc, ...), so sanitized builds keep all checks of system memory but one: malloc
// serves operator new here, so a mismatch such as free of memory from operator new goes unnoticed.
//
// The routes of platform mode are not instrumented, since they also run where a sanitizer has no
// state for the thread: before the thread has started, while it starts, and when it ends.
//
// The heap is not reentrant, and a preempted event may be dropped at any instruction of application
// mode. So each heap operation sets `in_heap` or leaves application mode while it lasts.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>

#include "memory/application_mode.h"
#include "memory/heap_observer.h"
#include "memory/lp_heap.h"
#include "memory/poison.h"
#include "memory/region.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ORRERY_SANITIZED 1
extern "C" {
void* __interceptor_malloc(std::size_t) noexcept;
void __interceptor_free(void*) noexcept;
void* __interceptor_calloc(std::size_t, std::size_t) noexcept;
void* __interceptor_realloc(void*, std::size_t) noexcept;
void* __interceptor_memalign(std::size_t, std::size_t) noexcept;
std::size_t __interceptor_malloc_usable_size(void*) noexcept;
}
#else
extern "C" {
void* __libc_malloc(std::size_t) noexcept;
void __libc_free(void*) noexcept;
void* __libc_calloc(std::size_t, std::size_t) noexcept;
void* __libc_realloc(void*, std::size_t) noexcept;
void* __libc_memalign(std::size_t, std::size_t) noexcept;
}
#endif

namespace orrery::memory {
namespace {

#ifdef ORRERY_SANITIZED
#define ORRERY_SYSTEM(function) __interceptor_##function
#else
#define ORRERY_SYSTEM(function) __libc_##function
#endif
// For functions that may run in platform mode. The compiler inlines no instrumented code into
// these, except functions marked always_inline.
#define ORRERY_PLAIN __attribute__((no_sanitize("address,thread,undefined")))

// The routes end in tail calls (this file is compiled with optimisation in every build), so that
// they add no frame of their own to the stacks that a sanitizer records and judges by.
#define ORRERY_ROUTE [[gnu::always_inline]] ORRERY_PLAIN inline

// The quick paths of application mode. They are inlined into malloc and free, except in sanitized
// builds, whose instrumented code must stay out of the routes.
#ifdef ORRERY_SANITIZED
#define ORRERY_QUICK [[gnu::noinline]]
#else
#define ORRERY_QUICK [[gnu::always_inline]] inline
#endif

#ifndef ORRERY_SANITIZED
// glibc has no second name for malloc_usable_size. It is rare, so it is looked up at first use.
// Relaxed suffices: two threads that look it up at once store the same value, and nothing else is
// published by it.
std::size_t __libc_malloc_usable_size(void* pointer) {
  using Function = std::size_t (*)(void*);
  static constinit std::atomic<Function> function{nullptr};
  Function known = function.load(std::memory_order_relaxed);
  if (known == nullptr) {
    const PlatformMode platform;
    known = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "malloc_usable_size"));
    function.store(known, std::memory_order_relaxed);
  }
  return known(pointer);
}
#endif

void* fail() noexcept {
  errno = ENOMEM;
  return nullptr;
}

void* refuse(std::size_t bytes) noexcept {
  note_refusal(bytes);
  return fail();
}

// ---- Application mode: the slower half of each function
// ------------------------------------------

// The running heap cannot serve: memory is exhausted, or an observer serves the LP.
[[gnu::noinline, gnu::cold]] void* allocate_otherwise(
    std::size_t bytes, std::size_t alignment = kMinAlignmentBytes) noexcept {
  HeapObserver* const observer = thread_context.observer;
  if (observer == nullptr) {
    return refuse(bytes);
  }
  // Reading the frame address makes the compiler keep the frame pointer in this function: an
  // observer follows the chain of frames to the model code that allocates. The callers on the way
  // are tail calls.
  asm volatile("" : : "r"(__builtin_frame_address(0)));
  const PlatformMode platform;
  void* const pointer = observer->allocate(bytes, alignment);
  return pointer != nullptr ? pointer : fail();
}

// `alignment` is left out where malloc's alignment suffices.
template <typename... Alignment>
[[gnu::noinline]] void* allocate_slowly(LpHeap& heap, std::size_t bytes,
                                        Alignment... alignment) noexcept {
  leave_application_mode();
  void* const pointer = heap.allocate(bytes, alignment...);
  enter_application_mode(heap);
  heed_attention(__builtin_return_address(0));
  return pointer != nullptr ? pointer : allocate_otherwise(bytes, alignment...);
}

template <std::same_as<std::size_t> Alignment>
void* allocate_for(LpHeap& heap, std::size_t bytes, Alignment alignment) noexcept {
  return allocate_slowly(heap, bytes, alignment);
}

// The quick path for a heap of many runs.
[[gnu::noinline]] void* allocate_otherwise_quickly(LpHeap& heap, std::size_t bytes) noexcept {
  if (heap.has_many_runs()) {
    enter_heap();
    void* const pointer = heap.allocate_quickly_of_many(bytes);
    leave_heap();
    if (pointer != nullptr) [[likely]] {
      return pointer;
    }
  }
  return allocate_slowly(heap, bytes);
}

// The slow paths are tail calls, so that this function need not save registers.
ORRERY_QUICK void* allocate_for(LpHeap& heap, std::size_t bytes) noexcept {
  enter_heap();
  void* const pointer = heap.allocate_quickly(bytes);
  leave_heap();
  return pointer != nullptr ? pointer : allocate_otherwise_quickly(heap, bytes);
}

// The running heap refused: the model misuses its heap, or an observer serves its memory.
[[gnu::noinline, gnu::cold]] void free_otherwise(FreeStatus status, void* pointer) noexcept {
  HeapObserver* const observer = thread_context.observer;
  if (observer == nullptr) {
    report_heap_misuse(misuse_of(status), pointer);
    return;
  }
  const PlatformMode platform;
  observer->deallocate(pointer);
}

[[gnu::noinline]] void free_slowly(LpHeap& heap, void* pointer) noexcept {
  leave_application_mode();
  const FreeStatus status = heap.free_slowly(pointer);
  enter_application_mode(heap);
  heed_attention(__builtin_return_address(0));
  if (status != FreeStatus::ok) [[unlikely]] {
    free_otherwise(status, pointer);
  }
}

// Leaves memory of the system's allocator allocated, since the event may be rolled back. A pointer
// that is no multiple of 8 comes from no allocator and is reported. Reading a byte makes the free()
// of an invalid address crash here, as it would later in the allocator.
[[gnu::noinline, gnu::cold]] void free_of_system_memory(const void* pointer) noexcept {
#ifndef ORRERY_SANITIZED
  constexpr std::uintptr_t kLeastAlignmentBytes = 8;
  if (reinterpret_cast<std::uintptr_t>(pointer) % kLeastAlignmentBytes != 0) {
    report_heap_misuse(HeapMisuse::not_start, pointer);
  } else {
    static_cast<void>(*static_cast<const volatile char*>(pointer));
  }
#else
  static_cast<void>(pointer);
#endif
}

ORRERY_QUICK void free_for(LpHeap& heap, void* pointer) noexcept {
  enter_heap();
  const bool done = heap.free_quickly(pointer);
  leave_heap();
  if (!done) [[unlikely]] {
    free_slowly(heap, pointer);
  }
}

// ---- The routes
// ----------------------------------------------------------------------------------

ORRERY_PLAIN std::size_t usable_bytes(void* pointer) noexcept {
  return is_lp_pointer(pointer) ? chunk_bytes_at(pointer)
                                : ORRERY_SYSTEM(malloc_usable_size)(pointer);
}

ORRERY_ROUTE void* route_allocate(std::size_t bytes) noexcept {
  LpHeap* const heap = running_heap();
  return heap == nullptr ? ORRERY_SYSTEM(malloc)(bytes) : allocate_for(*heap, bytes);
}

ORRERY_ROUTE void* route_allocate(std::size_t bytes, std::size_t alignment) noexcept {
  LpHeap* const heap = running_heap();
  return heap == nullptr ? ORRERY_SYSTEM(memalign)(alignment, bytes)
                         : allocate_for(*heap, bytes, alignment);
}

// Memory on the other side of the border stays allocated; application_mode.h says why.
ORRERY_ROUTE void route_free(void* pointer) noexcept {
  LpHeap* const heap = running_heap();
  if (heap == nullptr) {
    return is_lp_pointer(pointer) ? void() : ORRERY_SYSTEM(free)(pointer);
  }
  if (is_lp_pointer(pointer)) [[likely]] {
    free_for(*heap, pointer);
  } else if (pointer != nullptr) {
    free_of_system_memory(pointer);
  }
}

// Moves the contents to new memory of this mode's side; the old memory is freed by the rules.
void* move_across(void* pointer, std::size_t bytes) noexcept {
  void* const moved = route_allocate(bytes);
  if (moved != nullptr) {
    copy_poisoned(moved, pointer, std::min(bytes, usable_bytes(pointer)));
    route_free(pointer);
  }
  return moved;
}

void* reallocate_for(LpHeap& heap, void* pointer, std::size_t bytes) noexcept {
  if (bytes == 0) {  // as glibc does
    free_for(heap, pointer);
    return nullptr;
  }
  leave_application_mode();
  const bool live = heap.usable_size(pointer) != 0;
  void* const moved = live ? heap.reallocate(pointer, bytes) : nullptr;
  enter_application_mode(heap);
  heed_attention(__builtin_return_address(0));
  if (!live) {
    if (HeapObserver* const observer = thread_context.observer; observer != nullptr) {
      const PlatformMode platform;
      return observer->reallocate(pointer, bytes);
    }
    free_for(heap, pointer);  // reports the error
    return nullptr;
  }
  return moved != nullptr ? moved : refuse(bytes);
}

ORRERY_ROUTE void* route_reallocate(void* pointer, std::size_t bytes) noexcept {
  LpHeap* const heap = running_heap();
  if (pointer == nullptr) {
    return route_allocate(bytes);
  }
  if (is_lp_pointer(pointer) != (heap != nullptr)) {
    return move_across(pointer, bytes);
  }
  return heap == nullptr ? ORRERY_SYSTEM(realloc)(pointer, bytes)
                         : reallocate_for(*heap, pointer, bytes);
}

void* callocate_for(LpHeap& heap, std::size_t n, std::size_t bytes) noexcept {
  std::size_t total = 0;
  if (__builtin_mul_overflow(n, bytes, &total)) {
    return fail();
  }
  void* const pointer = allocate_for(heap, total);
  return pointer != nullptr ? std::memset(pointer, 0, total) : nullptr;
}

ORRERY_ROUTE void* route_callocate(std::size_t n, std::size_t bytes) noexcept {
  LpHeap* const heap = running_heap();
  return heap == nullptr ? ORRERY_SYSTEM(calloc)(n, bytes) : callocate_for(*heap, n, bytes);
}

// The retry of operator new when there is no memory: calls the new-handler until it gives up.
template <typename Allocate>
[[gnu::noinline, gnu::cold]] void* retry_new(std::size_t bytes, Allocate allocate) {
  if (running_heap() == nullptr) {
    note_refusal(bytes);  // models of engines without LP heaps, too
  }
  for (;;) {
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) {
      thread_context.thrown_bytes = bytes;
      throw std::bad_alloc();
    }
    handler();
    if (void* const pointer = allocate()) {
      return pointer;
    }
  }
}

ORRERY_PLAIN inline void* new_object(std::size_t bytes) {
  void* const pointer = route_allocate(bytes);
  return pointer != nullptr ? pointer : retry_new(bytes, [=]() { return route_allocate(bytes); });
}

ORRERY_PLAIN inline void* new_object(std::size_t bytes, std::align_val_t alignment) {
  const auto wanted = static_cast<std::size_t>(alignment);
  void* const pointer = route_allocate(bytes, wanted);
  return pointer != nullptr ? pointer
                            : retry_new(bytes, [=]() { return route_allocate(bytes, wanted); });
}

template <typename... Alignment>
void* new_object_or_null(std::size_t bytes, Alignment... alignment) noexcept {
  try {
    return new_object(bytes, alignment...);
  } catch (...) {
    thread_context.thrown_bytes = 0;
    return nullptr;
  }
}

}  // namespace
}  // namespace orrery::memory

namespace routes = orrery::memory;

#define ORRERY_EXPORT extern "C" __attribute__((visibility("default"))) ORRERY_PLAIN

ORRERY_EXPORT void* malloc(std::size_t bytes) noexcept {
  return routes::route_allocate(bytes);
}
ORRERY_EXPORT void free(void* pointer) noexcept {
  routes::route_free(pointer);
}
ORRERY_EXPORT void cfree(void* pointer) noexcept {
  routes::route_free(pointer);
}
ORRERY_EXPORT void* calloc(std::size_t n, std::size_t bytes) noexcept {
  return routes::route_callocate(n, bytes);
}
ORRERY_EXPORT void* realloc(void* pointer, std::size_t bytes) noexcept {
  return routes::route_reallocate(pointer, bytes);
}
ORRERY_EXPORT void* reallocarray(void* pointer, std::size_t n, std::size_t bytes) noexcept {
  std::size_t total = 0;
  return __builtin_mul_overflow(n, bytes, &total) ? routes::fail()
                                                  : routes::route_reallocate(pointer, total);
}
ORRERY_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  if (alignment > routes::kLargestRequestBytes) {
    errno = EINVAL;
    return nullptr;
  }
  std::size_t power = routes::kMinAlignmentBytes;
  while (power < alignment) {  // glibc rounds up, too
    power *= 2;
  }
  return routes::route_allocate(bytes, power);
}
ORRERY_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return memalign(alignment, bytes);
}
ORRERY_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) noexcept {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment % sizeof(void*) != 0) {
    return EINVAL;
  }
  const int before = errno;  // POSIX: the error is returned, errno stays
  void* const pointer = routes::route_allocate(bytes, alignment);
  errno = before;
  if (pointer == nullptr) {
    return ENOMEM;
  }
  *result = pointer;
  return 0;
}
ORRERY_EXPORT void* valloc(std::size_t bytes) noexcept {
  return routes::route_allocate(bytes, routes::kPageBytes);
}
ORRERY_EXPORT void* pvalloc(std::size_t bytes) noexcept {
  if (bytes > std::numeric_limits<std::size_t>::max() - routes::kPageBytes) {
    return routes::fail();
  }
  const std::size_t pages = (bytes + routes::kPageBytes - 1) / routes::kPageBytes;
  return routes::route_allocate(std::max<std::size_t>(pages, 1) * routes::kPageBytes,
                                routes::kPageBytes);
}
ORRERY_EXPORT std::size_t malloc_usable_size(void* pointer) noexcept {
  return pointer == nullptr ? 0 : routes::usable_bytes(pointer);
}

#ifdef ORRERY_SANITIZED
// The sanitizers' versions of these take memory from their allocators without asking malloc.
ORRERY_EXPORT char* strndup(const char* text, std::size_t limit) noexcept {
  const std::size_t bytes = strnlen(text, limit);
  auto* const copy = static_cast<char*>(routes::route_allocate(bytes + 1));
  if (copy != nullptr) {
    std::memcpy(copy, text, bytes);
    copy[bytes] = '\0';
  }
  return copy;
}
ORRERY_EXPORT char* __strndup(const char* text, std::size_t limit) noexcept {
  return strndup(text, limit);
}
ORRERY_EXPORT char* strdup(const char* text) noexcept {
  return strndup(text, std::strlen(text));
}
ORRERY_EXPORT char* __strdup(const char* text) noexcept {
  return strdup(text);
}
#endif

#define ORRERY_NEW __attribute__((visibility("default"))) ORRERY_PLAIN void*
#define ORRERY_DELETE __attribute__((visibility("default"))) ORRERY_PLAIN void

ORRERY_NEW operator new(std::size_t n) {
  return routes::new_object(n);
}
ORRERY_NEW operator new[](std::size_t n) {
  return routes::new_object(n);
}
ORRERY_NEW operator new(std::size_t n, std::align_val_t a) {
  return routes::new_object(n, a);
}
ORRERY_NEW operator new[](std::size_t n, std::align_val_t a) {
  return routes::new_object(n, a);
}
ORRERY_NEW operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return routes::new_object_or_null(n);
}
ORRERY_NEW operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  return routes::new_object_or_null(n);
}
ORRERY_NEW operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return routes::new_object_or_null(n, a);
}
ORRERY_NEW operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return routes::new_object_or_null(n, a);
}

ORRERY_DELETE operator delete(void* p) noexcept {
  routes::route_free(p);
}
ORRERY_DELETE operator delete[](void* p) noexcept {
  routes::route_free(p);
}
ORRERY_DELETE operator delete(void* p, std::size_t) noexcept {
  routes::route_free(p);
}
ORRERY_DELETE operator delete[](void* p, std::size_t) noexcept {
  routes::route_free(p);
}
ORRERY_DELETE operator delete(void* p, std::align_val_t) noexcept {
  routes::route_free(p);
}
ORRERY_DELETE operator delete[](void* p, std::align_val_t) noexcept {
  routes::route_free(p);
}
ORRERY_DELETE operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  routes::route_free(p);
}
ORRERY_DELETE operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  routes::route_free(p);
}
ORRERY_DELETE operator delete(void* p, const std::nothrow_t&) noexcept {
  routes::route_free(p);
}
ORRERY_DELETE operator delete[](void* p, const std::nothrow_t&) noexcept {
  routes::route_free(p);
}
ORRERY_DELETE operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept {
  routes::route_free(p);
}
ORRERY_DELETE operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept {
  routes::route_free(p);
}
