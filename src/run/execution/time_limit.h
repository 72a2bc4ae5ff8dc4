// SPDX-License-Identifier: Apache-2.0
//
// Ends calls of an LP's code that take longer than the user allows (--event-time-limit), such as
// endless loops. A thread asks the others from time to time what they execute, and drops a call
// that takes too long, as if it had crashed (core/model_stack.h): the run ends with a sentence that
// names LP, event and line. If the event was speculative it is rolled back as any other; Time Warp
// executes an event that commits once more before it reports the fault, since wall-clock time is
// not part of the LP's state.
//
// Calls are dropped only in the model's own code, since a library may hold a lock. So the thread
// asks again and again. A call that never returns there (it sleeps, it waits), and a call in
// ordinary memory, cannot be dropped; then the process ends with the sentence.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/crash.h"
#include "run/containment/handler_clock.h"
#include "run/options/options.h"

namespace orrery {

class EventTimeLimit {
 public:
  /// Watches the threads of a run, if its options set a limit.
  EventTimeLimit(const RunOptions& options, WatchedThreads& threads);
  ~EventTimeLimit();
  EventTimeLimit(const EventTimeLimit&) = delete;
  EventTimeLimit& operator=(const EventTimeLimit&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  void watch();
  Clock::duration look();

  WatchedThreads& threads_;
  const double seconds_;
  const Crash crash_;
  HandlerClock clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;  ///< guarded by the mutex
  std::thread thread_;
};

}  // namespace orrery
