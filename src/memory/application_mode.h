// SPDX-License-Identifier: Apache-2.0
//
// Application mode and platform mode of a thread.
//
// A thread that runs model code is in application mode: it has a running LP, and the interposed
// malloc, free and operator new serve that LP's heap. Otherwise the thread is in platform mode and
// these functions serve the system. The mode is one thread-local pointer. With the local-exec TLS
// model one instruction reads it (the platform is linked into executables only). The mode belongs
// to the thread, not to a run object, because malloc has no argument that could lead to a run. For
// the same reason the region of LP memory (region.h) and the prepared state of the C library
// (library_state.h) belong to the process. So do the registries of models and engines, which static
// initialisers fill.
//
// The mode also decides whether a preemption signal may interrupt the thread. The signal interrupts
// neither platform mode nor an operation on the running heap (`in_heap`; signal handlers call
// may_be_preempted). The quick paths of malloc and free set this flag instead of leaving
// application mode, because the flag is only stored. Storing and reloading the heap pointer in each
// operation would make each operation wait for the one before. The slow paths, which may call the
// system's malloc, run in platform mode. The fences below keep the compiler from moving the switch
// across the work that it protects. Signal fences suffice because only a signal handler of the same
// thread observes the order.
//
// Memory is routed by address, not by mode:
//   free in application mode of the running LP's memory   the ordinary case
//   ... of another LP's memory, or freed before           heap misuse, see on_misuse
//   ... of system memory          left allocated: the LP may be rolled back, a free cannot
//   free in platform mode of LP memory                    left allocated. The caller may run on
//                                 another worker than the owner, so no heap may be changed. The
//                                 chunk lives as long as its heap. Code that must free it enters
//                                 the owner's application mode first.
//   realloc across the border     copies, and treats the old memory by these rules
//
// An engine that switches stacks inside a handler must not keep the address of thread_context
// across a change of thread. The accessors below read it afresh at each call.
#ifndef ORRERY_MEMORY_APPLICATION_MODE_H
#define ORRERY_MEMORY_APPLICATION_MODE_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

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

// The last chunk that a heap served on the quick path. A program often frees such a chunk soon; its
// run is then known without a look-up. This is a hint, which free compares with the heap's table,
// because the heap may no longer exist.
struct LastAllocation {
  const std::byte* address = nullptr;
  std::uint32_t run = 0;
  std::uint32_t chunk = 0;
};

struct ThreadContext {
  LpHeap* heap = nullptr;  // the running LP's heap; nullptr is platform mode

  // True while malloc or free works on the heap: the thread is in application mode, but must not be
  // interrupted.
  bool in_heap = false;

  LastAllocation last;  // of the heaps that this thread has run

  // Called in platform mode when the model misuses `pointer`; nullptr prints a sentence and aborts.
  // If it returns, the model's call does nothing. It may also leave by switching stacks. It must
  // not throw, since free and operator delete may not.
  void (*on_misuse)(HeapMisuse what, const void* pointer, LpHeap* heap) = nullptr;

  // Requests (kOverrun, kLook) that platform code handles before it returns to model code. Other
  // threads may set kLook. Relaxed suffices: the bits carry no data, the requests' data come
  // through channels with their own ordering, and a bit that is seen late is only handled late.
  std::atomic<std::uint8_t> attention{0};
  void (*on_attention)(const void* caller) = nullptr;

  // The bits of `attention` to set when the thread has taken much memory from the system; 0: none.
  // The running handler may go on taking memory.
  std::uint8_t growth_attention = 0;

  // Set when a heap's table of runs grows, hence also when a heap of one chunk stops being one.
  // Code with a short path for heaps of one chunk must then check again.
  bool heap_grew = false;

  // Number of locks of the C library that model code holds: see interpose_locks.cpp.
  std::uint32_t locks = 0;

  // Serves the model's memory if the running heap has no arena; see heap_observer.h.
  HeapObserver* observer = nullptr;
  // Number of refused requests for memory, and the size of the last one: for the message of the
  // fault that follows, and for notes about models that go on with nullptr.
  std::uint64_t refusals = 0;
  std::size_t refused_bytes = 0;
  std::size_t thrown_bytes = 0;  // of the last request that ended in std::bad_alloc
  // Larger requests are refused on this thread by option (--oversize deny).
  std::size_t denies_above_bytes = ~std::size_t{0};
};

// Bits of ThreadContext::attention.
// Platform code has run out of stack and continues on a reserve (core/model_stack.h).
inline constexpr std::uint8_t kOverrun = 1;
// An event more urgent than the running handler may wait (run/containment/preemption.h).
inline constexpr std::uint8_t kLook = 2;

extern constinit thread_local ThreadContext thread_context [[gnu::tls_model("local-exec")]];

// Throws std::bad_alloc for memory that the platform has not got. If model code has called the
// platform, the sentence of its fault then says that the system failed.
[[noreturn, gnu::cold]] inline void throw_refused(std::size_t bytes) {
  thread_context.thrown_bytes = bytes;
  throw std::bad_alloc();
}

// The running LP's heap, or nullptr in platform mode.
[[gnu::always_inline]] inline LpHeap* running_heap() noexcept {
  return thread_context.heap;
}

// For signal handlers: whether the signal has interrupted model code.
inline bool may_be_preempted() noexcept {
  return thread_context.heap != nullptr && !thread_context.in_heap;
}

// Call around the quick operations on the running heap.
[[gnu::always_inline]] inline void enter_heap() noexcept {
  thread_context.in_heap = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
[[gnu::always_inline]] inline void leave_heap() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread_context.in_heap = false;
}

// The same for platform code that model code calls and that must not be interrupted.
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
// Call this when memory is taken from the system in large pieces.
inline void note_growth() noexcept {
  if (thread_context.growth_attention != 0) ask_attention(thread_context.growth_attention);
}
[[gnu::always_inline]] inline bool attention_asked(std::uint8_t bit) noexcept {
  return (thread_context.attention.load(std::memory_order_relaxed) & bit) != 0;
}

// Call where platform code returns to model code. `caller`: the return address, if another library
// may have called the platform on the model's behalf while holding a lock; nullptr: the model
// called.
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

// A scope in which model code runs.
class ApplicationMode : detail::ModeScope {
 public:
  explicit ApplicationMode(LpHeap& heap) noexcept : ModeScope(&heap) {}
};

// A scope in which platform code that model code calls (schedule, record, ...) runs.
class PlatformMode : detail::ModeScope {
 public:
  PlatformMode() noexcept : ModeScope(nullptr) {}
};

// Counts a request for memory that was refused.
inline void note_refusal(std::size_t bytes) noexcept {
  ++thread_context.refusals;
  thread_context.refused_bytes = bytes;
}

// Calls the thread's on_misuse, or prints and aborts. Called in either mode.
void report_heap_misuse(HeapMisuse what, const void* pointer) noexcept;

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_APPLICATION_MODE_H
