// SPDX-License-Identifier: Apache-2.0
//
// The threads of a run: their number, their cores, their common steps of set-up, and the first
// failure. No exception escapes a thread: an exception of a worker's function ends that worker,
// makes the others leave (`failed`), and is thrown again in the caller after all threads have
// ended.
#pragma once

#include <atomic>
#include <barrier>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "run/engine.h"

namespace orrery {

/// Workers for a run: the requested number, or one for each usable core; never more than there are
/// LPs. Throws UsageError.
unsigned count_workers(const RunOptions& options, const Model& model);

/// The workers among these that execute: one for each thread.
unsigned count_useful_workers(const RunOptions& options, const Model& model);

/// "2 workers execute, not 8: as many as threads (--threads)"
std::string note_of_workers(unsigned executing, unsigned asked);

/// Threads for that many workers: as --threads says, or no more than usable cores.
unsigned count_threads(const RunOptions& options, unsigned workers);

/// A failure while LPs were made (phase 0), started (1) or accepted (2).
struct SetUpFailure {
  int phase;
  LpId lp;
  bool usage;  ///< an error of the input, not of the model
  std::string sentence;
};

class Team {
 public:
  /// `place`: other ranks may share the cores.
  Team(unsigned workers, bool bind, const RankPlace& place = {});
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() { join(); }

  unsigned workers() const { return workers_; }
  /// More workers than cores: no thread spins, no thread is bound.
  bool crowded() const { return crowded_; }
  /// Whether workers are bound to cores of their own.
  bool binds() const { return binds_; }

  /// The function of a worker's thread.
  struct Duty {
    std::function<void(unsigned)> work;
    /// Called on the thread of a worker that has failed, once `failed()` is true, to wake threads
    /// that wait for this worker.
    std::function<void()> wake = [] {};
  };
  /// Starts a thread for each worker from `first` on; the caller runs the others. Throws
  /// SystemFailure if the system refuses: then no step passes, and the caller takes part in none.
  void start(unsigned first, Duty duty);
  /// Waits until all threads have ended; then throws the first exception of a worker, if any.
  void finish();
  /// The same without throwing, for destructors of objects that the threads use.
  void join();
  bool running() const { return !threads_.empty(); }
  /// Binds the calling thread to the core of that worker, if workers are bound. Returns false, and
  /// notes it, if the system refuses.
  bool bind(unsigned worker);

  /// A worker has failed: the others leave at their next check. The flag carries no data (the
  /// failure is read after the join), but is seq_cst: a failing worker sets it and then looks for
  /// sleepers, and a thread that goes to sleep checks it once more, so one of the two sees the
  /// other.
  bool failed() const { return failed_.load(std::memory_order_seq_cst); }

  // Set-up, in steps that all threads end together.
  /// Notes a failure in the current step; the lowest by (phase, LP) counts.
  void note_failure(SetUpFailure failure);
  /// Waits until all threads of the team have ended the step; returns false if one has failed.
  bool end_step();
  /// After the threads have ended: the failure, for exchange with other ranks.
  std::optional<SetUpFailure>& set_up_failure() { return set_up_failure_; }
  /// After the threads have ended. Throws UsageError if the input was wrong; else stores the fault,
  /// with nothing committed. Returns false if there is no failure.
  bool take_failure(const Model& model, RunResult& result) const;

  /// Adds notes about what the system refused.
  void add_notes(std::vector<std::string>& notes) const;

 private:
  /// Runs at the end of a step, before any thread goes on: a failure of a fast worker in the next
  /// step must not look to a slow one as if this step had failed.
  struct StepEnd {
    Team& team;
    void operator()() noexcept {
      team.step_passed_ = !team.step_failed_.load(std::memory_order_relaxed);
    }
  };
  void run_worker(unsigned worker) noexcept;

  const unsigned workers_;
  const bool crowded_, binds_;
  const unsigned first_core_;
  std::barrier<StepEnd> step_;
  std::atomic<bool> step_failed_{false};  ///< set before the barrier, read by its end: relaxed
  bool step_passed_ = true;               ///< written by the barrier's end
  std::atomic<bool> failed_{false};
  std::atomic<bool> bind_failed_{false};  ///< read after the join: relaxed
  std::mutex mutex_;                      ///< guards the next two
  std::optional<SetUpFailure> set_up_failure_;
  std::exception_ptr error_;
  Duty duty_;
  std::vector<std::jthread> threads_;
};

}  // namespace orrery
