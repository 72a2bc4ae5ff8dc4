// SPDX-License-Identifier: Apache-2.0
//
// Application mode and platform mode of a thread.
//
// While a thread runs model code it is in application mode: it has a running LP, and the interposed
// malloc, free and operator new serve that LP's heap. Otherwise it is in platform mode and they
// serve the system. The mode is one thread-local pointer, which the local-exec TLS model makes one
// instruction to read (the platform is linked into executables only). It hangs off the thread and
// not off a run object because malloc has no argument that could lead to one. For the same reason
// the region of LP memory is the process' (region.h), as is what has been prepared of the C library
// (library_state.h); the registries of models and engines are too, which static initialisers fill.
//
// The mode also tells a preemption signal whether it may take the processor away: platform mode is
// never interrupted, nor is an operation on the running heap (`in_heap`; what needs a signal
// handler asks may_be_preempted). The quick ways of malloc and free set the flag instead of leaving
// application mode, because the flag is only stored: the heap's pointer, stored and loaded again by
// each operation, would be a chain through memory from one to the next. Their slow ways, which may
// call the system's malloc, run in platform mode. The compiler fences below keep the compiler from
// moving the switch across the work that it protects. They are signal fences because only a signal
// handler of the same thread observes the order.
//
// Memory is routed by address, not by mode:
//   free in application mode of the running LP's memory   the ordinary case
//   ... of another LP's memory, or freed before           heap misuse, see on_misuse
//   ... of system memory          left allocated: a free cannot be rolled back, and the LP may be
//   free in platform mode of LP memory                    left allocated. The caller need not be
//                                 the owner's worker, so no heap can be touched; the chunk goes
//                                 with its heap. Code that wants it freed enters the owner's
//                                 application mode first.
//   realloc across the border                             copies, and treats the old memory so
//
// An engine that switches stacks inside a handler must not carry the address of thread_context over
// to another thread; the accessors below read it afresh when called.
#ifndef ORRERY_MEMORY_APPLICATION_MODE_H
#define ORRERY_MEMORY_APPLICATION_MODE_H

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/assert.h"

namespace orrery::memory {

class HeapObserver;
class LpHeap;

enum class HeapMisuse : std::uint8_t {
  not_live,   // freed twice, or freed after a rollback took the allocation back
  foreign,    // memory of another LP
  not_start,  // an address inside of an allocation, or one that malloc never returned
};

// A sentence fragment for messages, as in "free of memory that is not allocated (freed twice?)".
const char* describe(HeapMisuse what) noexcept;

// What a heap served quickly. Its free is common soon after, and then need not go through memory. A
// hint, which free compares with the heap's table: the heap that it was in may be gone.
struct LastAllocation {
  const std::byte* address = nullptr;
  std::uint32_t run = 0;
  std::uint32_t chunk = 0;
};

struct ThreadContext {
  LpHeap* heap = nullptr;  // the running LP's heap; nullptr is platform mode

  // While malloc or free works on the heap: application mode, and not to be interrupted.
  bool in_heap = false;

  LastAllocation last;  // of the heaps that this thread has run

  // Called in platform mode when the model misuses `pointer`; nullptr prints a sentence and aborts.
  // If it returns, the call of the model does nothing. It may also leave by switching stacks. It
  // must not throw: free and operator delete may not.
  void (*on_misuse)(HeapMisuse what, const void* pointer, LpHeap* heap) = nullptr;

  // What platform code heeds on the way back to model code (kOverrun, kLook), if anything. kLook is
  // set by other threads, too. Relaxed: it carries no data, what it is about comes through channels
  // of its own, and a bit that is seen late is only heeded late.
  std::atomic<std::uint8_t> attention{0};
  void (*on_attention)(const void* caller) = nullptr;

  // What of it is set when the thread has taken much memory, which the handler that runs may go on
  // doing; 0: nothing.
  std::uint8_t growth_attention = 0;

  // Set when a heap with one chunk gets room for more: its owner may keep less for simple heaps, or
  // do less.
  bool heap_grew = false;

  // Locks of the C library that model code holds: see interpose_locks.cpp.
  std::uint32_t locks = 0;

  // Serves the model's memory where the running heap has no arena; see heap_observer.h.
  HeapObserver* observer = nullptr;
  // Requests for memory that were refused, and the size of the last one: for the sentence of the
  // fault that follows, and for notes about models that go on with nullptr.
  std::uint64_t refusals = 0;
  std::size_t refused_bytes = 0;
  std::size_t thrown_bytes = 0;  // of the last one that ended in std::bad_alloc
  // Larger requests are refused on this thread by option (--oversize deny).
  std::size_t denies_above_bytes = ~std::size_t{0};
};

// Bits of ThreadContext::attention.
// Platform code has run out of stack and goes on in a reserve (core/model_stack.h).
inline constexpr std::uint8_t kOverrun = 1;
// Something more urgent than the handler that runs may wait (run/preemption.h).
inline constexpr std::uint8_t kLook = 2;

extern constinit thread_local ThreadContext thread_context [[gnu::tls_model("local-exec")]];

// The running LP's heap, or nullptr in platform mode.
[[gnu::always_inline]] inline LpHeap* running_heap() noexcept {
  return thread_context.heap;
}

// For signal handlers: whether the interrupted code is a model's own.
inline bool may_be_preempted() noexcept {
  return thread_context.heap != nullptr && !thread_context.in_heap;
}

// Around the quick operations on the running heap.
[[gnu::always_inline]] inline void enter_heap() noexcept {
  thread_context.in_heap = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
[[gnu::always_inline]] inline void leave_heap() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread_context.in_heap = false;
}

// The same for platform code that model code calls and that must not be dropped in the middle.
class HeapScope {
 public:
  HeapScope() noexcept { enter_heap(); }
  ~HeapScope() { leave_heap(); }
  HeapScope(const HeapScope&) = delete;
  HeapScope& operator=(const HeapScope&) = delete;
};

inline void enter_application_mode(LpHeap& heap) noexcept {
  ORRERY_ASSERT(thread_context.heap == nullptr, "model code is not entered from model code");
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread_context.heap = &heap;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

inline void leave_application_mode() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread_context.heap = nullptr;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

inline void ask_attention(std::uint8_t bit) noexcept {
  thread_context.attention.fetch_or(bit, std::memory_order_relaxed);
}
inline void end_attention(std::uint8_t bit) noexcept {
  thread_context.attention.fetch_and(static_cast<std::uint8_t>(~bit), std::memory_order_relaxed);
}
// By those who take memory from the system in large pieces.
inline void note_growth() noexcept {
  if (thread_context.growth_attention != 0) ask_attention(thread_context.growth_attention);
}
[[gnu::always_inline]] inline bool attention_asked(std::uint8_t bit) noexcept {
  return (thread_context.attention.load(std::memory_order_relaxed) & bit) != 0;
}

// Where platform code returns to model code. `caller`: where to, if another library may have called
// the platform on the model's behalf, with a lock held; nullptr: the model itself has.
[[gnu::always_inline]] inline void heed_attention(const void* caller = nullptr) noexcept {
  if (thread_context.attention.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    thread_context.on_attention(caller);
  }
}

namespace detail {
class ModeScope {
 public:
  explicit ModeScope(LpHeap* heap) noexcept : before_(thread_context.heap) { set(heap); }
  ~ModeScope() {
    set(before_);
    heed_attention();
  }
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 private:
  static void set(LpHeap* heap) noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    thread_context.heap = heap;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  LpHeap* before_;
};
}  // namespace detail

// Model code runs inside of one of these.
class ApplicationMode : detail::ModeScope {
 public:
  explicit ApplicationMode(LpHeap& heap) noexcept : ModeScope(&heap) {}
};

// Platform code that model code calls (schedule, record, ...) runs inside of one of these.
class PlatformMode : detail::ModeScope {
 public:
  PlatformMode() noexcept : ModeScope(nullptr) {}
};

// There is no memory of that size for a model.
inline void note_refusal(std::size_t bytes) noexcept {
  ++thread_context.refusals;
  thread_context.refused_bytes = bytes;
}

// Tells the thread's handler, or prints and aborts. Called in either mode.
void report_heap_misuse(HeapMisuse what, const void* pointer) noexcept;

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_APPLICATION_MODE_H
