// SPDX-License-Identifier: Apache-2.0
//
// The observer of a run: one thread that shows progress and turns the first SIGINT or SIGTERM into
// a request to stop. SIGUSR1 becomes a request to halt for a snapshot, if the run takes snapshots.
// Signals are read from a descriptor, not taken by a handler, so no code here needs to be safe
// inside a handler and no state is global. A second signal ends the process at once. The thread
// reads the engine's counters with relaxed loads and writes only the requests to stop and to halt,
// so watching costs the engine nothing. The thread always keeps samples of the progress for the
// report.
//
// A handler that does not return stops the run's progress, and cannot be stopped in order. When the
// counters do not change, Watch reads from the threads which handler they execute
// (run/containment/activity.h), and progress names the handler. After a request to stop, the
// process waits for such a handler only for a limited time.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>
#include <vector>

#include "output/host.h"
#include "output/progress.h"
#include "output/progress_log.h"
#include "output/status_line.h"
#include "run/containment/handler_clock.h"
#include "run/engine.h"

namespace orrery {

class Watch {
 public:
  struct Settings {
    double horizon_seconds = 0;
    double tick_seconds = 1e-9;
    bool show_progress = true;
    /// The run can halt (run/world/halts.h): SIGUSR1 requests a halt, and a request to
    /// stop halts the run first.
    bool halts = false;
    double halt_every_seconds = 0;  ///< of wall-clock time; 0: never
  };

  /// Starts watching. Blocks its signals in the calling thread, and so in all threads that the
  /// caller starts from now on, until `stop`.
  Watch(RunControl& control, const Settings& settings);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// The same as SIGINT. Any thread may call it during this object's lifetime; repeated calls have
  /// no effect.
  void request_stop();
  /// The samples so far, and the counters now. Any thread may call it during this object's
  /// lifetime.
  std::vector<ProgressPoint> so_far() const;
  /// Ends the thread, removes the progress line and restores the signals.
  void stop();
  /// The signal that asked the run to end; 0 if none did.
  int signal() const { return signal_.load(std::memory_order_relaxed); }
  /// The samples of the whole run, when the thread has ended: those between the run's begin and its
  /// last counters.
  std::vector<ProgressPoint> progress(const RunResult& result) const;

 private:
  using Clock = std::chrono::steady_clock;

  void open_descriptors();
  void run();
  int wait_ms(Clock::time_point next) const;
  void on_signal();
  void on_request();
  void ask_to_stop(int number);
  void ask_for_halts();
  Clock::duration halt_period() const;
  void keep_sample();
  Clock::duration sample_period() const;
  ProgressPoint look() const;
  void end_if_stuck();
  [[noreturn]] void end_stuck(const LongHandler& handler);
  void show();

  RunControl& control_;
  const Settings settings_;
  StatusLine line_;
  ProgressMeter meter_;
  ProgressSample last_;
  ProgressLog log_;
  mutable std::mutex log_mutex_;  ///< so_far() reads the log in other threads
  HandlerClock handlers_;
  Clock::time_point signalled_;
  Clock::time_point next_halt_ = Clock::time_point::max();
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_sample_ = start_;
  const std::uint64_t memory_before_ = resident_bytes();
  sigset_t blocked_{}, before_{};
  int signals_ = -1, ending_ = -1, requests_ = -1;
  // Written by the watching thread, read by others: relaxed is enough, since no other data depends
  // on it.
  std::atomic<int> signal_{0};
  std::thread thread_;
};

/// Whether the signal was ignored when the process started (a background job of a script): it must
/// stay ignored.
bool is_ignored(int number);

}  // namespace orrery
