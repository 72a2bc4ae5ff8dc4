// SPDX-License-Identifier: Apache-2.0
//
// A run of the expanded engine. The thread that called the engine is worker 0 and the coordinator:
// it owns the schedule, deals events to the slots of the others and executes the rest itself. A run
// is a row of blocks, each in one of the modes:
//   in place        the coordinator executes events as the sequential engine does; workers sleep
//   single          one event in each slot at most, one for itself (a hand-over as in Horizon)
//   batched         several; while a worker executes one batch the next one waits in its slot
//   decentralised   every thread that has finished its events takes the schedule under a lock,
//                   brings in what has been finished in all slots and deals to all empty ones. The
//                   lock is a combining one: whom the holder has served need not take it.
// Between blocks the coordinator looks at stop requests, progress and rows, and asks the tuner for
// the next mode. Members are in the files run_*.h by subject.
#pragma once

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/cycles.h"
#include "engine/expanded/history.h"
#include "engine/expanded/pull_queue.h"
#include "engine/expanded/schedule.h"
#include "engine/expanded/slot.h"
#include "engine/expanded/tuner.h"
#include "run/placement.h"

namespace orrery::expanded {

template <class Pending>
class Run {
 public:
  Run(const Model& model, const RunOptions& options, const Settings& settings, unsigned workers,
      RunControl& control);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    stop_workers();
    bind(false);
  }

  RunResult run();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kBlockEvents = 4096;
  static constexpr double kBlockSeconds = 500e-6;
  static constexpr double kRowsSeconds = 20e-3;
  static constexpr std::uint32_t kSampleEvents = 8;  // one of so many is measured
  static constexpr std::uint64_t kClockEvents = 16;  // in place, from one look at the clock on

  /// How much a slot may hold: it gets `events` when these do not exceed `depth` with what it has.
  struct Plan {
    std::uint32_t events = 1, depth = 1;
  };

  // Edges of the run (run_edges.h).
  bool set_up(RunResult& result);
  void start_workers();
  void stop_workers();
  void bind(bool wanted);
  void work(unsigned worker);
  void work_pulling(unsigned worker);
  void conclude(RunResult& result);
  void take_back(RunResult& result);
  void describe_fault(RunResult& result) const;
  void finish_lps(RunResult& result);
  void add_statistics(RunResult& result) const;

  // The coordinator's loop (run_loop.h).
  void loop();
  bool run_block(Mode mode);
  void enter(Mode mode);
  bool block_is_over() const {
    return finished_ >= block_end_events_ || read_cycles() >= block_end_cycles_;
  }
  bool run_in_place();
  void poll();
  void hand_rows_over();
  void commit_rows(const Key& until);
  void finish(std::uint32_t handle, const Result& result);
  Key last_key() const { return std::max(schedule_.highest(), executors_[0]->last_key()); }

  // Dealing (run_dealing.h).
  bool run_dealt();
  bool run_pulled();
  Plan plan() const;
  std::uint32_t deal(const Plan& plan, unsigned self);
  std::uint32_t find_room(const Plan& plan, unsigned self);
  void take_over(unsigned from, unsigned to);
  unsigned pick(LpId lp);
  bool collect(unsigned worker);
  bool collect_all();
  bool any_results() const;
  void run_own(const Plan& plan);
  void run_own_one(bool measured);
  void drain();
  void deal_to_queue();
  void collect_from_queue(bool wait);
  void execute_given(unsigned worker, std::uint32_t word);

  // Without a coordinator (run_decentralised.h).
  bool run_decentralised();
  void serve(unsigned worker);
  void serve_all(unsigned self);

  const Model& model_;
  const RunOptions& options_;
  const Settings settings_;
  RunControl& control_;
  const unsigned workers_;
  const bool crowded_;
  const bool has_rows_;
  const Patience patience_;
  std::vector<LpRecord> lps_;
  EventDepot depot_;
  std::vector<std::unique_ptr<Executor>> executors_;
  std::unique_ptr<Slot[]> slots_;
  Doorbell doorbell_;
  PullQueue queue_;
  std::vector<PullQueue::Finished> pulled_;
  Schedule<Pending> schedule_;
  History history_;
  Tuner tuner_;

  Mode mode_ = Mode::in_place;
  std::uint64_t finished_ = 0;  ///< events whose handlers succeeded
  std::uint64_t handed_over_ = 0;
  std::uint64_t block_end_events_ = 0, block_end_cycles_ = 0;
  std::uint64_t block_cycles_ = 0, rows_cycles_ = 0, rows_due_ = 0;
  std::uint32_t sample_ = 0;
  Command command_ = Command::wait;

  // Of the deal under way.
  std::vector<std::uint32_t> room_;
  std::vector<unsigned> open_;
  std::size_t turn_ = 0;

  // Of a decentralised block; under the lock but for the lock itself.
  alignas(64) std::atomic<bool> locked_{false};
  bool closing_ = false;
  Plan block_plan_;

  RowBuffer held_rows_, ready_rows_, kept_rows_;
  std::vector<Row> sorted_rows_;
  LpId making_ = 0;
  std::atomic<bool> bind_failed_{false};
  std::optional<cpu_set_t> cores_before_;  ///< of the caller, while it is bound
  rusage usage_before_{};
  std::vector<std::jthread> threads_;
};

}  // namespace orrery::expanded

#include "engine/expanded/run_dealing.h"
#include "engine/expanded/run_decentralised.h"
#include "engine/expanded/run_edges.h"
#include "engine/expanded/run_loop.h"
