// SPDX-License-Identifier: Apache-2.0
//
// A call of model code in the application mode of an LP. Its exceptions and misuse of its memory
// are faults of the model and end the call, not the thread.
#pragma once

#include <string>
#include <utility>

#include "core/model_stack.h"
#include "memory/application_mode.h"
#include "memory/platform_local.h"
#include "orrery/error.h"

namespace orrery {

/// A misuse that `free` has found in the model code of this thread. `free` cannot throw, so the
/// handler goes on and fails when it returns. Thread-local like the mode, because `free` knows no
/// engine.
struct HeapMisuseNote {
  bool seen = false;
  memory::HeapMisuse what{};

  /// Throws the ModelFault for a noted misuse, and clears it. Called after every event.
  [[gnu::always_inline]] void raise() {
    if (seen) [[unlikely]]
      fail();
  }
  [[noreturn, gnu::noinline]] void fail() {
    seen = false;
    throw ModelFault(std::string("it misused its memory: ") + memory::describe(what));
  }
};

inline HeapMisuseNote& heap_misuse() {
  static constinit thread_local HeapMisuseNote note;
  return note;
}
inline const memory::PlatformLocal misuse_is_of_the_platform([] { return &heap_misuse(); });

/// While it exists, misuse of LP memory on this thread is noted instead of ending the process.
class MisuseWatch {
 public:
  MisuseWatch() { memory::thread_context.on_misuse = note; }
  ~MisuseWatch() { memory::thread_context.on_misuse = before_; }
  MisuseWatch(const MisuseWatch&) = delete;
  MisuseWatch& operator=(const MisuseWatch&) = delete;

 private:
  static void note(memory::HeapMisuse what, const void*, memory::LpHeap*) {
    heap_misuse() = {true, what};
  }
  const decltype(memory::ThreadContext::on_misuse) before_ = memory::thread_context.on_misuse;
};

namespace detail {
template <class Body, class OnFailure>
[[gnu::always_inline]] inline bool guarded(memory::LpHeap& heap, Body&& run,
                                           OnFailure&& on_failure) {
  bool succeeded = true;
  const HeapMisuseNote interrupted = std::exchange(heap_misuse(), {});
  memory::enter_application_mode(heap);
  try {
    run();
    heap_misuse().raise();
    memory::leave_application_mode();
  } catch (...) {
    // The exception lies in the LP's heap and is freed at the end of this block, so platform mode
    // holds only in between.
    memory::leave_application_mode();
    on_failure();
    succeeded = false;
    memory::enter_application_mode(heap);
  }
  memory::leave_application_mode();
  heap_misuse() = interrupted;
  return succeeded;
}

/// For an LP in ordinary memory.
template <class Body, class OnFailure>
[[gnu::always_inline]] inline bool guarded(Body&& run, OnFailure&& on_failure) {
  try {
    run();
    return true;
  } catch (...) {
    on_failure();
    return false;
  }
}

}  // namespace detail

/// After a drop: handles the crash like a failure.
template <class OnFailure>
void end_dropped_call(OnFailure&& on_failure) {
  heap_misuse() = {};
  try {
    throw_crash();
  } catch (...) {
    on_failure();
  }
}

/// Runs `action` in the application mode of `heap`. If it fails, `on_failure` runs in platform mode
/// while its exception is being handled; a crash is a failure if it can be dropped. Returns whether
/// it succeeded. The platform may use it within a call of another LP's code, in platform mode: the
/// misuse notes of the two calls stay separate.
template <class Action, class OnFailure>
[[gnu::always_inline]] inline bool guarded_call(memory::LpHeap& heap, Action&& action,
                                                OnFailure&& on_failure) {
  const HeapMisuseNote interrupted = heap_misuse();
  bool succeeded = false;
  if (recoverable([&] { succeeded = detail::guarded(heap, action, on_failure); })) [[likely]]
    return succeeded;
  end_dropped_call(on_failure);
  heap_misuse() = interrupted;
  return false;
}

/// While it exists, the LPs that this thread calls lie in ordinary memory, if `ordinary`.
class OrdinaryCalls {
 public:
  explicit OrdinaryCalls(bool ordinary = true)
      : before_(std::exchange(model_calls.in_ordinary_memory, ordinary)) {}
  ~OrdinaryCalls() { model_calls.in_ordinary_memory = before_; }
  OrdinaryCalls(const OrdinaryCalls&) = delete;
  OrdinaryCalls& operator=(const OrdinaryCalls&) = delete;

 private:
  const bool before_;
};

/// The same for an LP in ordinary memory.
template <class Action, class OnFailure>
bool guarded_call(Action&& action, OnFailure&& on_failure) {
  const OrdinaryCalls ordinary;
  bool succeeded = false;
  if (recoverable([&] { succeeded = detail::guarded(action, on_failure); })) [[likely]]
    return succeeded;
  end_dropped_call(on_failure);
  return false;
}

/// The same for short events, as a part of the action of `recoverable`: after a crash the thread
/// resumes at that place, where the caller calls end_dropped_call.
template <class Action, class OnFailure>
[[gnu::always_inline]] inline bool guarded_part(memory::LpHeap& heap, Action&& action,
                                                OnFailure&& on_failure) {
  return detail::guarded(heap, action, on_failure);
}
template <class Action, class OnFailure>
[[gnu::always_inline]] inline bool guarded_part(Action&& action, OnFailure&& on_failure) {
  return detail::guarded(action, on_failure);
}

}  // namespace orrery
