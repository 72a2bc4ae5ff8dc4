// SPDX-License-Identifier: Apache-2.0
//
// A run of the expanded engine. The thread that called the engine is worker 0 and the coordinator:
// it orders events in the schedule, deals them to the slots of all workers and executes its own. A
// run is a sequence of blocks, each in one of two modes:
//   in place   the coordinator executes events as the sequential engine does; workers sleep
//   batched    each slot has events that take some microseconds; while a worker executes them the
//              next ones wait in its slot. A worker without events deals if the coordinator is busy
// Between blocks the coordinator checks for a request to stop, updates progress and rows, and asks
// the tuner for the next mode. Members are in the files run_*.cpp by subject.
#pragma once

#include <fmt/format.h>

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cycles.h"
#include "core/machine.h"
#include "engine/expanded/finished_events.h"
#include "engine/expanded/lock.h"
#include "engine/expanded/rows.h"
#include "engine/expanded/schedule.h"
#include "engine/expanded/slot.h"
#include "engine/expanded/tuner.h"
#include "run/clock.h"
#include "run/events/dead_timer_count.h"
#include "run/loop/key_order.h"
#include "run/threads/team.h"
#include "run/workers/handler_thread.h"
#include "run/world/world_engine.h"

namespace orrery::expanded {

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

  // LPs and threads (run_set_up.cpp).
  void take_world();
  void start_workers();
  void dismiss_workers();
  void check_workers();
  void bind(bool wanted);

  // The end (run_conclude.cpp).
  void conclude(RunResult& result);
  void give_back();
  void describe_fault(RunResult& result) const;
  void add_statistics(RunResult& result) const;

  // The sequence of blocks (run_blocks.cpp).
  void loop();
  std::uint64_t busy_cycles() const;
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
  std::size_t memory_bytes() const {
    return depot_.slab_bytes() + schedule_.bytes() + finished_events_.bytes();
  }
  Key last_key() const { return std::max(schedule_.highest(), executors_[0]->last_key()); }

  // Dealing (run_dealing.cpp).
  bool run_dealt();
  void drain();
  void execute_own(std::uint32_t last);
  void execute_own_batch(std::uint32_t word);
  void execute_given(unsigned worker, std::uint32_t word, std::uint32_t most);
  void work(unsigned worker);
  void get_served(unsigned worker, std::uint32_t word);
  std::uint32_t wait_for_word(unsigned worker, std::uint32_t last);
  void serve(unsigned self);
  void collect(Slot& slot);
  void deal(unsigned self);
  std::uint32_t find_room(unsigned self);
  unsigned pick(LpId lp, unsigned self);

  World& world_;
  const RunOptions& options_;
  GoalWatch goal_;
  RunControl& control_;
  const unsigned workers_;
  const bool has_rows_;
  std::vector<LpRecord> lps_;
  EventDepot depot_;
  std::vector<std::unique_ptr<Executor>> executors_;
  std::unique_ptr<Slot[]> slots_;
  Schedule schedule_;
  FinishedEvents finished_events_;
  Tuner tuner_;

  Mode mode_ = Mode::in_place;
  std::uint64_t finished_ = 0;  ///< events whose handlers succeeded
  const Key end_;               ///< no event at or after it is started: a pause, or the horizon
  bool pauses_ = false;         ///< the goal is reached: only events in progress are finished
  std::uint64_t cancelled_timers_ = 0;  ///< by finished events
  DeadTimerCount dead_timer_count_;
  std::uint64_t handed_over_ = 0;

  struct Block {
    std::uint64_t end_events = 0, end_cycles = 0;  ///< the block ends when either is reached
    std::uint32_t batch = 1;                       ///< events
  } block_;
  /// The deal under way.
  struct Deal {
    std::vector<std::uint32_t> room;  ///< by worker
    std::vector<unsigned> open;       ///< workers with room
    std::size_t turn = 0;
  } deal_;
  Lock lock_;  ///< of the schedule, the history and the slots; the coordinator holds it
  OrderedRows rows_;
  std::uint64_t rows_due_cycles_ = 0;
  std::optional<cpu_set_t> cores_before_;  ///< of the caller's thread, while it is bound
  rusage usage_before_{};
  const SpinThenYield waiting_;
  Team team_;  ///< last: its threads end before the members that they use
};

}  // namespace orrery::expanded
