// SPDX-License-Identifier: Apache-2.0
//
// A run of the expanded engine. The thread that called the engine is worker 0 and the coordinator:
// it owns the schedule, deals events to the slots of the other workers and executes the rest
// itself. A run is a sequence of blocks, each in one of the modes:
//   in place        the coordinator executes events as the sequential engine does; workers sleep
//   single          at most one event in each slot, including worker 0's (hand-over as in Horizon)
//   batched         several; while a worker executes one batch the next one waits in its slot
//   decentralised   every thread that has finished its events takes the schedule under a lock,
//                   collects the results of all slots and deals events to all empty slots. The lock
//                   is a combining one: a worker that the holder has served need not take it.
// Between blocks the coordinator checks for a request to stop, updates progress and rows, and asks
// the tuner for the next mode. Members are in the files run_*.h by subject.
#pragma once

#include <fmt/format.h>

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cycles.h"
#include "core/machine.h"
#include "engine/expanded/finished_events.h"
#include "engine/expanded/pull_queue.h"
#include "engine/expanded/rows.h"
#include "engine/expanded/schedule.h"
#include "engine/expanded/slot.h"
#include "engine/expanded/tuner.h"
#include "memory/library_state.h"
#include "run/clock.h"
#include "run/containment/guarded_call.h"
#include "run/events/dead_timer_count.h"
#include "run/loop/key_order.h"
#include "run/threads/team.h"
#include "run/world/refusals.h"
#include "run/world/world_engine.h"

namespace orrery::expanded {

template <class Pending>
class ExpandedRun {
 public:
  ExpandedRun(World& world, const RunOptions& options, const Goal& goal, const Settings& settings,
              unsigned workers, RunControl& control);
  ExpandedRun(const ExpandedRun&) = delete;
  ExpandedRun& operator=(const ExpandedRun&) = delete;
  ~ExpandedRun() {
    dismiss_workers();
    team_.join();
    bind(false);
  }

  /// Takes the world, moves it forward, and gives it back.
  void advance(RunResult& result);

 private:
  static constexpr std::uint64_t kBlockEvents = 4096;
  static constexpr double kRowsSeconds = 20e-3;
  static constexpr std::uint32_t kSampleEvents = 8;  // one of so many short events is measured

  /// How much a slot may hold: it gets `events` events if it then holds no more than `depth`.
  struct Plan {
    std::uint32_t events = 1, depth = 1;
    std::uint32_t sample = kSampleEvents;  ///< the coordinator measures one of so many of its own
  };

  // LPs and threads (run_set_up.h).
  void take_world();
  void start_workers();
  void dismiss_workers();
  void wake_coordinator();
  void check_workers();
  void bind(bool wanted);
  void work(unsigned worker);
  void work_pulling(unsigned worker);
  std::uint32_t wait_for_word(unsigned worker, std::uint32_t last);

  // The end (run_conclude.h).
  void conclude(RunResult& result);
  void give_back();
  void describe_fault(RunResult& result) const;
  void add_statistics(RunResult& result) const;

  // The sequence of blocks (run_blocks.h).
  void loop();
  std::uint64_t busy_cycles() const;
  bool run_block(Mode mode);
  void enter(Mode mode);
  bool block_is_over() const {
    return finished_ >= block_.end_events || read_cycles() >= block_.end_cycles;
  }
  bool run_in_place();
  void execute_in_place(Executor& executor, Event* event);
  void poll();
  void reclaim();
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
  void run_own_one(const Plan& plan);
  void drain();
  void deal_to_queue();
  void collect_from_queue(bool wait);
  void execute_given(unsigned worker, std::uint32_t word);

  // Without a coordinator (run_decentralised.h).
  bool run_decentralised();
  void lock_block();
  void serve(unsigned worker);
  void serve_all(unsigned self);

  World& world_;
  const Model& model_;
  const RunOptions& options_;
  GoalWatch goal_;
  const Settings settings_;
  RunControl& control_;
  const unsigned workers_;
  const bool has_rows_;
  std::vector<LpRecord> lps_;
  EventDepot depot_;
  std::vector<std::unique_ptr<Executor>> executors_;
  std::unique_ptr<Slot[]> slots_;
  Doorbell doorbell_;
  PullQueue queue_;
  std::vector<PullQueue::Finished> pulled_;
  Schedule<Pending> schedule_;
  FinishedEvents finished_events_;
  Tuner tuner_;

  Mode mode_ = Mode::in_place;
  std::uint64_t finished_ = 0;  ///< events whose handlers succeeded
  const Key end_;               ///< no event at or after it is started: a pause, or the horizon
  bool pauses_ = false;         ///< the goal is reached: only events in progress are finished
  std::uint64_t cancelled_timers_ = 0;  ///< by finished events
  DeadTimerCount dead_timer_count_;
  std::uint64_t handed_over_ = 0;
  std::uint32_t sample_ = 0;
  Command command_ = Command::wait;

  struct Block {
    std::uint64_t end_events = 0, end_cycles = 0;  ///< the block ends when either is reached
  } block_;
  /// The deal under way.
  struct Deal {
    std::vector<std::uint32_t> room;  ///< by worker
    std::vector<unsigned> open;       ///< workers with room
    std::size_t turn = 0;
  } deal_;
  /// A decentralised block; `locked` is the lock for the rest.
  struct alignas(64) Decentralised {
    std::atomic<bool> locked{false};
    bool closing = false;
    Plan plan;
  } decentralised_;
  /// Gives the lock back, also after an exception.
  struct Unlock {
    Decentralised& block;
    ~Unlock() { block.locked.store(false, std::memory_order_release); }
  };

  OrderedRows rows_;
  std::uint64_t rows_due_cycles_ = 0;
  std::optional<cpu_set_t> cores_before_;  ///< of the caller's thread, while it is bound
  rusage usage_before_{};
  const SpinThenYield waiting_;
  Team team_;  ///< last: its threads end before the members that they use
};

}  // namespace orrery::expanded

#include "engine/expanded/run_blocks.h"
#include "engine/expanded/run_conclude.h"
#include "engine/expanded/run_dealing.h"
#include "engine/expanded/run_decentralised.h"
#include "engine/expanded/run_set_up.h"
