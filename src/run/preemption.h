// SPDX-License-Identifier: Apache-2.0
//
// Taking the processor back from a handler in the middle, to look whether something more urgent has
// come, and giving it back or leaving the handler where it is. After Pellegrini and Quaglia (A
// fine-grain time-sharing Time Warp system, ACM TOMACS 27(2), 2017), who let a patched kernel
// interrupt each thread every 100 us and switch. Here it happens in user space, and on demand:
//   - at *cooperative points*, where platform code that the handler has called returns to it
//     (schedule, emit, slow malloc, poll), if the thread's attention byte is set: it is tested
//     there anyway (memory/application_mode.h);
//   - in the middle of the handler's code, by a signal that another thread directs here (ring), or
//     a timer.
//
// There are no stacks for handlers that are set aside: whoever comes in between runs deeper on the
// same stack and is done before the one beneath goes on, last in, first out. That is the order
// which virtual time wants, since only what is lower comes in between. The handler of the signal
// runs on that stack, too, beneath the registers that the kernel saved there; so nothing is copied,
// and returning from it is the way back.
//
// When. If the thread is in application mode and not inside the heap, and the instruction is in
// model text: elsewhere the C library may hold a lock, or have a list half changed. Not if the
// model holds a lock (interpose_locks.cpp); statics are initialised in platform mode. Other
// handlers run only with room on the stack. What is refused stays asked for (kLook), and if there
// is a timer the thread asks itself again soon.
//
// What another handler would see or change is set aside: caught exceptions, errno, the
// floating-point environment, the thread's locale, the texts of strerror() and strsignal(), the
// note of heap misuse, and the thread-local variables of the model's module.
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "core/model_stack.h"
#include "run/model_text.h"

namespace orrery {

/// Who may have something more urgent to do than the handler that runs.
class Preemptor {
 public:
  /// Whether that handler can be set aside at all. Asked in application mode.
  virtual bool may_interrupt() const = 0;
  /// Whether a tick that has just come is a reason to look. Asked in handlers of signals, in any
  /// mode.
  virtual bool heeds_tick() { return true; }
  /// Whether the thread waits for something to do. Asked in handlers of signals, too.
  virtual bool is_idle() const { return false; }
  /// Looks, in platform mode. `has_room`: other handlers may run. False: the handler is not wanted
  /// any more. Throws nothing: it is called in the middle of a model's code.
  virtual bool look_around(bool has_room) noexcept = 0;

 protected:
  ~Preemptor() = default;
};

/// As long as it exists the calling thread's handlers can be interrupted.
class Preemptible {
 public:
  /// Whether it is done here for users: it needs stacks of ours. Without them handlers can be
  /// interrupted where they call the platform only.
  static constexpr bool kPossible = ORRERY_MODEL_STACKS != 0;
  /// Thread-local variables that are set aside at most; a model with more is not interrupted.
  static constexpr std::size_t kMostLocalsBytes = std::size_t{64} << 10;

  /// `tick_seconds` > 0: the thread interrupts itself that often.
  Preemptible(Preemptor& preemptor, const ModelText& text, double tick_seconds);
  ~Preemptible();
  Preemptible(const Preemptible&) = delete;
  Preemptible& operator=(const Preemptible&) = delete;

  /// Whether the system refused the timer.
  bool lacks_tick() const { return every_ > 0 && !has_tick_; }

  /// Share of the thread's time that the ticks alone take, measured now; takes some milliseconds.
  double tick_share();

  /// Within the handler of SIGURG: heeds what was asked for, if that can be now. `context` is the
  /// handler's third argument; `is_tick`: a timer sent it.
  static void on_signal(const void* context, bool is_tick);

 private:
  class Aside;
  static void on_look(const void* caller);
  void interrupt(StackRoom room);
  bool may_interrupt(const void* instruction, StackRoom room) const;
  void find_locals();
  void on_tick();
  void ask_again();
  void tick_in(long nanoseconds);

  Preemptor& preemptor_;
  const ModelText& text_;
  bool has_tick_ = false;
  timer_t tick_{};
  long every_ = 0;         ///< nanoseconds from one tick to the next
  unsigned refusals_ = 0;  ///< one after the other
  /// Thread-local variables of the model.
  struct Extent {
    std::byte* begin;
    std::size_t bytes;
  };
  std::vector<Extent> locals_;
  std::size_t locals_bytes_ = 0;
};

}  // namespace orrery
