// SPDX-License-Identifier: Apache-2.0
//
// The observer of a run: one thread that shows progress and turns the first SIGINT or SIGTERM into
// a request to stop, and SIGUSR1 into one to halt for a snapshot, if the run has such. Signals are
// taken from a descriptor instead of a handler, so nothing here needs to be safe inside a handler
// and no state is global; a second signal ends the process at once. The thread reads the engine's
// counters with relaxed loads and writes nothing of its but `stop_requested`, so watching costs the
// engine nothing. Whether progress is shown or not, it keeps samples of it for the report.
//
// A handler that does not return holds the run up, and cannot be stopped in order. When the
// counters stand still the threads are asked what they execute (run/activity.h), and progress names
// it; after a request to stop the process does not wait for it longer than a while.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>
#include <vector>

#include "observe/host.h"
#include "observe/progress.h"
#include "observe/progress_log.h"
#include "observe/terminal.h"
#include "run/engine.h"
#include "run/handler_clock.h"

namespace orrery {

class Watch {
 public:
  struct Settings {
    double horizon_seconds = 0;
    double tick_seconds = 1e-9;
    bool show_progress = true;
    /// The run can halt on its way (run/halts.h): SIGUSR1 asks for that, and a request to stop
    /// halts it first.
    bool halts = false;
    double halt_every_seconds = 0;  ///< of the clock; 0: never
  };

  /// Starts watching. Blocks its signals in the calling thread, and thereby in the threads that
  /// it starts from now on, until `stop`.
  Watch(RunControl& control, const Settings& settings);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// As SIGINT does; by any thread, while this lives. More than once is the same as once.
  void request_stop();
  /// How the run goes: the samples so far, and the counters now. By any thread, while this lives.
  std::vector<ProgressPoint> so_far() const;
  /// Ends the thread, removes the progress line and restores the signals.
  void stop();
  /// The signal that asked the run to end; 0 if none did.
  int signal() const { return signal_.load(std::memory_order_relaxed); }
  /// How the run went, when the thread has ended: the samples between where the run began and what
  /// is left of it.
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
  void say(const std::string& line);
  void show();
  void rewrite(const std::string& line);

  RunControl& control_;
  const Settings settings_;
  const Terminal terminal_;
  ProgressMeter meter_;
  ProgressSample last_;
  ProgressLog log_;
  mutable std::mutex log_mutex_;  ///< the log has another reader: so_far
  HandlerClock handlers_;
  Clock::time_point signalled_;
  Clock::time_point next_halt_ = Clock::time_point::max();
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_sample_ = start_;
  const std::uint64_t memory_before_ = resident_bytes();
  std::size_t shown_width_ = 0;
  sigset_t blocked_{}, before_{};
  int signals_ = -1, ending_ = -1, requests_ = -1;
  // Written by the thread, read by others after it has ended: relaxed is enough.
  std::atomic<int> signal_{0};
  std::thread thread_;
};

/// A process started with a signal ignored (a background job of a script) shall keep ignoring it.
bool is_ignored(int number);

}  // namespace orrery
