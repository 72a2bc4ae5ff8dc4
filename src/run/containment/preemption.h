// SPDX-License-Identifier: Apache-2.0
//
// Interrupting a handler in the middle, to check whether something more urgent has come, and then
// resuming or abandoning it. After Pellegrini and Quaglia (A fine-grain time-sharing Time Warp
// system, ACM TOMACS 27(2), 2017), who let a patched kernel interrupt each thread every 100 us and
// switch. Here it happens in user space, and on demand:
//   - at *cooperative points*, where platform code that the handler has called returns to it
//     (schedule, emit, slow malloc, poll), if the thread's attention byte is set: it is tested
//     there anyway (memory/application_mode.h);
//   - in the middle of the handler's code, by a signal that another thread directs here (ring), or
//     a timer.
//
// Suspended handlers have no stacks of their own: an interrupting handler runs deeper on the same
// stack and ends before the interrupted one resumes, last in, first out. Virtual time needs just
// this order, since only earlier events interrupt. The signal handler runs on that stack, too,
// below the registers that the kernel saved there; so nothing is copied, and returning from it
// resumes the handler.
//
// Conditions: the thread is in application mode and not inside the heap, and the instruction is in
// model text, since elsewhere the C library may hold a lock, or have a list half changed; the model
// holds no lock (interpose_locks.cpp); statics are initialised in platform mode. Other handlers run
// only with room on the stack. A refused request stays pending (kLook), and if there is a timer the
// thread asks itself again soon.
//
// State that another handler would see or change is saved: caught exceptions, errno, the
// floating-point environment, the thread's locale, the texts of strerror() and strsignal(), the
// note of heap misuse, and the thread-local variables of the model's module.
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "core/model_stack.h"
#include "run/containment/model_text.h"

namespace orrery {

/// Decides whether there is something more urgent than the running handler.
class Preemptor {
 public:
  /// Whether that handler can be suspended at all. Called in application mode.
  virtual bool may_interrupt() const = 0;
  /// Whether a tick that has just come is a reason to look. Called in signal handlers, in any mode.
  virtual bool heeds_tick() { return true; }
  /// Whether the thread waits for something to do. Called in signal handlers, too.
  virtual bool is_idle() const { return false; }
  /// Looks, in platform mode. `has_room`: other handlers may run. Returns false if the handler is
  /// no longer needed. Must not throw: it is called in the middle of a model's code.
  virtual bool look_around(bool has_room) noexcept = 0;

 protected:
  ~Preemptor() = default;
};

/// While it exists, the calling thread's handlers can be interrupted.
class Preemptible {
 public:
  /// Whether handlers can be interrupted anywhere: it needs stacks of the platform. Without them
  /// they can be interrupted only at calls of the platform.
  static constexpr bool kPossible = ORRERY_MODEL_STACKS != 0;
  /// Most bytes of thread-local variables to save; a model with more is not interrupted.
  static constexpr std::size_t kMostLocalsBytes = std::size_t{64} << 10;

  /// `tick_seconds` > 0: the thread interrupts itself that often.
  Preemptible(Preemptor& preemptor, const ModelText& text, double tick_seconds);
  ~Preemptible();
  Preemptible(const Preemptible&) = delete;
  Preemptible& operator=(const Preemptible&) = delete;

  /// Whether the system refused the timer.
  bool lacks_tick() const { return every_ > 0 && !has_tick_; }

  /// Share of the thread's time that the ticks alone cost, measured in this call; takes some
  /// milliseconds.
  double tick_share();

  /// In the handler of SIGURG: serves the request, if possible now. `context` is the handler's
  /// third argument; `is_tick`: a timer sent the signal.
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
  unsigned refusals_ = 0;  ///< in a row
  /// Thread-local variables of the model.
  struct Extent {
    std::byte* begin;
    std::size_t bytes;
  };
  std::vector<Extent> locals_;
  std::size_t locals_bytes_ = 0;
};

}  // namespace orrery
