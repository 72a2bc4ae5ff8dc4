// SPDX-License-Identifier: Apache-2.0
//
// The threads of a run: how many, on which cores, set up in steps, and what went wrong first.
// Nothing escapes a thread: what a worker's function throws ends that worker, is kept, tells the
// others to leave (`failed`), and is thrown again to the caller when all have gone.
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

/// Workers for a run: what is asked for, or one for each usable core; never more than there are
/// LPs. Throws UsageError.
unsigned count_workers(const RunOptions& options, const Model& model);

/// Of these, how many execute: no more than threads, unless --threads says how many share how few.
unsigned count_useful_workers(const RunOptions& options, const Model& model);

/// "2 workers execute, not 8: as many as threads (--threads)"
std::string note_of_workers(unsigned executing, unsigned asked);

/// Threads for so many workers: what --threads asks for, or no more than usable cores.
unsigned count_threads(const RunOptions& options, unsigned workers);

/// What went wrong while LPs were made (phase 0), started (1) or accepted (2).
struct SetUpFailure {
  int phase;
  LpId lp;
  bool usage;  ///< the input's fault rather than the model's
  std::string sentence;
};

class Team {
 public:
  /// `place`: others may share the cores.
  Team(unsigned workers, bool bind, const RankPlace& place = {});
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() { join(); }

  unsigned workers() const { return workers_; }
  /// More workers than cores: nobody spins, nobody is bound.
  bool crowded() const { return crowded_; }
  /// Whether workers go to cores of their own.
  bool binds() const { return binds_; }

  /// What a worker's thread does.
  struct Duty {
    std::function<void(unsigned)> work;
    /// Called on the thread of a worker that has failed, once `failed()` says so, to wake those who
    /// wait for it.
    std::function<void()> wake = [] {};
  };
  /// Starts a thread for each worker from `first` on; the others are the caller's. Throws
  /// SystemFailure if the system refuses: then no step will pass, and the caller takes part in
  /// none.
  void start(unsigned first, Duty duty);
  /// Waits until all threads have ended; then throws what the first of them threw, if any did.
  void finish();
  /// The same without throwing, for the destructors of what the threads use.
  void join();
  bool running() const { return !threads_.empty(); }
  /// Binds the calling thread to the core of that worker, if workers are bound. False and noted if
  /// the system refuses.
  bool bind(unsigned worker);

  /// A worker has failed: the others leave at their next look. It carries no data (what failed is
  /// read after the threads were joined), but is seq_cst: a worker that sets it then looks who
  /// sleeps, and who goes to sleep looks at it once more, so one of the two sees the other.
  bool failed() const { return failed_.load(std::memory_order_seq_cst); }

  // Setting up, in steps that end together.
  /// Notes a failure in the step under way; the lowest by (phase, LP) counts.
  void note_failure(SetUpFailure failure);
  /// Waits until all threads of the team have ended the step; false if one has failed.
  bool end_step();
  /// After the threads have ended: the failure, which ranks tell each other.
  std::optional<SetUpFailure>& set_up_failure() { return set_up_failure_; }
  /// After the threads have ended. Throws UsageError if the failure was the input's; else stores
  /// the fault, with nothing committed. False if there is none.
  bool take_failure(const Model& model, RunResult& result) const;

  /// Notes for the result: what the system refused.
  void add_notes(std::vector<std::string>& notes) const;

 private:
  /// At the end of a step, before anybody goes on: what a fast worker notes in the next step must
  /// not look to a slow one as if this step had failed.
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
