// SPDX-License-Identifier: Apache-2.0
//
// The waits of a process that need no state but the list of waiting processes: the clock, the end
// of another process, a signal. A model includes orrery/process.h.
#pragma once

#include <optional>

#include "orrery/process_kernel.h"
#include "orrery/time.h"

namespace orrery {

namespace detail {

class Delay final : public Wait {
 public:
  explicit Delay(Duration duration, std::optional<Phase> phase = {})
      : duration_(duration), phase_(phase) {}
  bool await_suspend(ProcessHandle frame) {
    process_ = frame.promise().process;
    if (!ProcessKernel::may_wait(*process_)) return false;
    const ProcessKernel& kernel = *process_->kernel;
    Context& context = kernel.context();
    const ProcessWake wake = kernel.wake_of(*process_);
    phase_ ? context.schedule(context.self(), duration_, wake, *phase_)
           : context.schedule(context.self(), duration_, wake);
    process_->waiting = true;
    return true;
  }
  void await_resume() const { ProcessKernel::throw_if_interrupted(*process_); }

 private:
  friend class TimedWait;
  const Duration duration_;
  const std::optional<Phase> phase_;
  ProcessPromise* process_ = nullptr;
};

class Ended final : public ListedWait {
 public:
  explicit Ended(ProcessRef process) : awaited_(process) {}
  void await_resume() const { settle(); }

 private:
  bool begin() override {
    ProcessPromise* const awaited = kernel().find(awaited_);
    if (awaited == nullptr) return false;
    wait_in(awaited->waiting_for_end);
    return true;
  }
  const ProcessRef awaited_;
};

class SignalWait final : public ListedWait {
 public:
  SignalWait(WaitList& list, Limit limit) : list_(list), limit_(limit) {}
  bool await_resume() const { return settle() == Woken::as_wished; }

 private:
  bool begin() override {
    wait_in(list_, limit_);
    return true;
  }
  WaitList& list_;
  const Limit limit_;
};

}  // namespace detail

/// `co_await delay(d)`: resumes `d` later. A zero delay is an event, too: other events that were
/// already pending for this time come first. Model faults as of Context::schedule. If the delay
/// ends at the horizon or later, the process does not resume.
[[nodiscard("co_await it")]] inline detail::Delay delay(Duration duration) {
  return detail::Delay(duration);
}
/// The same in a phase of that instant: with a zero delay after all events of earlier phases at this
/// time.
[[nodiscard("co_await it")]] inline detail::Delay delay(Duration duration, Phase phase) {
  return detail::Delay(duration, phase);
}

/// `co_await ended(process)`: resumes when that process of the same LP has ended; at once if it
/// has.
[[nodiscard("co_await it")]] inline detail::Ended ended(ProcessRef process) {
  return detail::Ended(process);
}

/// A condition that occurs now and then and resumes the processes that wait for it at that time.
/// The signal is not stored: a process that waits later waits for the next one. So check the
/// condition first: `while (level_ < needed) co_await filled_.wait();`
class Signal {
 public:
  /// `co_await signal.wait()`.
  [[nodiscard("co_await it")]] detail::SignalWait wait() { return {waiting_, {}}; }
  /// The same, waiting at most `limit`: returns false if the signal did not come.
  [[nodiscard("co_await it")]] detail::SignalWait wait_for(Duration limit) {
    return {waiting_, {true, limit}};
  }

  /// Resumes all waiting processes later in this event, in the order of their arrival.
  void notify_all() { waiting_.wake_all(); }
  /// Resumes the process that has waited longest. Returns false if none waits.
  bool notify_one() {
    if (waiting_.is_empty()) return false;
    waiting_.wake(waiting_.first());
    return true;
  }
  bool is_awaited() const { return !waiting_.is_empty(); }

 private:
  detail::WaitList waiting_;
};

}  // namespace orrery
