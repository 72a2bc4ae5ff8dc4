// SPDX-License-Identifier: Apache-2.0
//
// A call of model code in the application mode of an LP: what it throws, and what it does wrong
// with its memory, is a fault of the model and ends the call, not the thread.
#pragma once

#include <string>
#include <utility>

#include "core/model_stack.h"
#include "memory/application_mode.h"
#include "orrery/error.h"

namespace orrery {

/// What `free` met in the model code that runs on this thread: it cannot throw, so the handler goes
/// on and fails when it returns. Thread-local like the mode itself, because `free` knows no engine.
struct HeapMisuseNote {
  bool seen = false;
  memory::HeapMisuse what{};

  /// Throws the ModelFault if there is one; it is then told. After every event.
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

/// As long as it exists, misuse of LP memory on this thread is noted instead of ending the process.
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
template <class Run, class OnFailure>
[[gnu::always_inline]] inline bool guarded(memory::LpHeap& heap, Run&& run,
                                           OnFailure&& on_failure) {
  bool succeeded = true;
  const HeapMisuseNote interrupted = std::exchange(heap_misuse(), {});
  memory::enter_application_mode(heap);
  try {
    run();
    heap_misuse().raise();
    memory::leave_application_mode();
  } catch (...) {
    // The exception lies in the LP's heap and is freed at the end of this block: platform mode only
    // in between.
    memory::leave_application_mode();
    on_failure();
    succeeded = false;
    memory::enter_application_mode(heap);
  }
  memory::leave_application_mode();
  heap_misuse() = interrupted;
  return succeeded;
}

/// In ordinary memory.
template <class Run, class OnFailure>
[[gnu::always_inline]] inline bool guarded(Run&& run, OnFailure&& on_failure) {
  try {
    run();
    return true;
  } catch (...) {
    on_failure();
    return false;
  }
}

}  // namespace detail

/// After a drop: what a failure leads to.
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
/// while its exception is being handled; a crash is a failure where it can be dropped. Returns
/// whether it succeeded. The platform may call it within a call of another LP's code, in platform
/// mode: what that one did wrong stays its own.
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

/// As long as it exists, what the thread calls of LPs lies in ordinary memory, if so.
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

/// The same as a part of what `recoverable` runs, for short events: after a crash the thread goes
/// on there, where it is to be ended as here (end_dropped_call).
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
