// SPDX-License-Identifier: Apache-2.0
//
// Calls of an LP's code that take longer than the user allows (--event-time-limit), which a loop
// without end does. A thread asks the others now and then what they execute, and since when; what
// takes too long is dropped where it is, as if it had crashed (core/model_stack.h): the run ends
// with a sentence that names LP and event, and the line. Where that was a guess it is undone as any
// other. Time Warp executes an event that commits once more before it believes it, since time is
// no matter of the LP's state.
//
// Dropped is only what is in the model's own code: in a library it may hold a lock. So it is asked
// again and again. What never comes out (it sleeps, it waits for somebody), and what lies in
// ordinary memory, cannot be dropped, and the process ends with the sentence.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/crash.h"
#include "run/handler_clock.h"
#include "run/options.h"

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
