// SPDX-License-Identifier: Apache-2.0
//
// A worker: its LPs, their pending events, and the executed events that are not committed. A worker
// executes its events in batches, lowest key first. Between batches it receives messages from other
// workers, publishes what it sends, and takes part in GVT rounds. It is a thread: several workers
// could take turns on a thread, but they would execute their events in much the same order as one
// worker with all their LPs does, and pay for messages (docs/decisions/workers-and-cores.md). Only
// its thread changes its LPs (a copier reads those whose checkpoint is offloaded).
// Its members are in the files worker_*.cpp by subject; worker.cpp has a turn. Its parts are
// mailbox.h (messages), rollback_log.h (events that a rollback may undo), held.h (LPs that must not
// roll back), executor.h (handlers), optimism.h (how far ahead) and cut.h (where a run may change
// hands).
//
// A worker detects a straggler when it pops it, not when it arrives: by then it is the lowest event
// of the worker, so a burst of stragglers to one LP costs one rollback, to the lowest of them.
//
// A worker without peers can receive no straggler, so there is one only if the options ask for
// what rollbacks need (run.cpp); else a loop without any of this executes the events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "core/cycles.h"
#include "engine/timewarp/balance.h"
#include "engine/timewarp/core_sharing.h"
#include "engine/timewarp/cut.h"
#include "engine/timewarp/dead_timers.h"
#include "engine/timewarp/executor.h"
#include "engine/timewarp/held.h"
#include "engine/timewarp/laggards.h"
#include "engine/timewarp/optimism.h"
#include "engine/timewarp/shared.h"
#include "engine/timewarp/suspensions.h"
#include "memory/cache_tuning.h"
#include "memory/library_state.h"
#include "pending/erase_if.h"
#include "run/containment/activity.h"
#include "run/containment/preemption.h"
#include "run/events/dead_timer_count.h"
#include "run/loop/key_order.h"
#include "run/loop/look_ahead.h"
#include "run/options/model_checks.h"
#include "run/threads/waiting.h"
#include "run/workers/handler_thread.h"

namespace orrery::timewarp {

class Worker final : Preemptor {
 public:
  Worker(Shared& shared, unsigned index);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// The body of the thread: sets up the LPs, then executes until the run ends.
  void run();
  /// At a cut: moves the pending events to `list`.
  void give_events(EventList& list) {
    pending_.drain([&](const TwEvent* event) { list.append(*event, event->payload()); });
  }

  // The worker's part in GVT rounds; called by transport::RoundMember.
  bool due();
  void join();
  bool delivered(std::uint64_t round);
  GvtReport report();
  bool settled(std::uint64_t round);
  void call_others();
  /// Acts on the reports of all workers. True if the run ends.
  bool adopt();

  double set_up_seconds() const { return set_up_seconds_; }
  /// For the report: what the system refused, what ticks cost, and the handler that had not returned
  /// when the run was stopped.
  const std::vector<std::string>& notes() const { return notes_; }
  /// The memory budget, or the larger one to which Optimism has raised it.
  std::uint64_t budget_bytes() const {
    return static_cast<std::uint64_t>(optimism_.budget_bytes());
  }
  const Balance& balance() const { return balance_; }
  const Ending& ending() const { return ending_; }
  const WorkerStatistics& statistics() const { return statistics_; }
  const RollbackLog& rollback_log() const { return log_; }
  const FaultList& faults() const { return faults_; }
  const MergeableStatistics& mergeable_statistics() const { return emitted_.mergeable_statistics; }

 private:
  static constexpr std::uint32_t kBatchEvents = 64, kBatchEventsInStorms = 12;
  static constexpr double kBatchSeconds = 20e-6;
  static constexpr std::int64_t kGvtPeriodUs = 2000;
  static constexpr std::uint64_t kGvtEvents = 256;  ///< times the workers
  static constexpr unsigned kRoundLooks = 64;
  static constexpr unsigned kMostInterrupted = 16;
  static constexpr double kRoundWaitSeconds = 5e-6;  ///< while a handler is interrupted
  static constexpr std::uint64_t kRunForLook = 10;   ///< times as long as the look before took

  // The thread (worker_thread.cpp, worker_set_up.cpp).
  bool set_up();
  void take_lps();
  void take_events();
  void end_run();
  void take_turns();
  void deal_with_ranks(bool busy);
  void give_way() {
    if (sharing_.is_on()) sharing_.give_way(lowest_pending().time());
  }
  void wait() { sharing_.wait(lowest_pending().time()); }

  // A turn (worker.cpp).
  struct Turn {
    bool executed = false, received = false;
  };
  Turn turn();

  std::uint32_t run_batch(const Key& limit, std::uint32_t most_events);
  void run_events(const Key& limit, std::uint32_t& executed);
  void end_dropped();
  Turn turn_below(const Key& below);
  void prefetch_upcoming();
  void handle(TwEvent* event);
  void hold(TwEvent* event);
  std::uint32_t run_held();
  void handle_final(TwEvent* event);
  bool is_held_up() { return !held_.empty() && held_.lowest() < lowest_pending(); }
  void drop_dead_timer(LpState& lp, TwEvent* timer);
  /// Not inlined: with more callers of `top`, the compiler no longer inlines it in the event path.
  [[gnu::noinline]] Key lowest_pending() {
    const TwEvent* const event = pending_.top();
    return event == nullptr ? Key::infinity() : event->key();
  }
  std::uint32_t next_batch() const;
  void adapt_batch(std::uint32_t executed, std::uint64_t cycles);
  bool drain();

  // Rollbacks (worker_rollback.cpp).
  void roll_back(LpId id, const Key& to);
  void end_cancelled();
  void roll_back_one(LpId id, const Key& to, bool cancelling);
  void roll_back_history(LpId id, LpState& lp, const Key& to, bool cancelling);
  void roll_back_journaled(LpId id, LpState& lp, const Key& to, bool cancelling);
  void undo(TwEvent* event);
  std::uint32_t restore(LpId id, LpState& lp, std::uint32_t remaining);
  void coast(LpId id, LpState& lp, std::uint32_t from, std::uint32_t to);
  std::uint64_t retreat(const Key& to);
  void squash(Suspensions::One& one);

  // Interrupted handlers (worker_interrupt.cpp).
  void note_ticks(Preemptible& preemptible);
  double tick_seconds() const;
  void arm();
  bool may_interrupt() const override;
  bool heeds_tick() override;
  bool is_idle() const override { return idle_; }
  bool look_around(bool has_room) noexcept override;
  void fail();
  std::uint64_t work_within(bool may_execute);
  bool turn_within(bool may_execute);
  void undo_for_lower();
  void note_unreturned();
  void interrupt();
  bool go_on(std::uint64_t cycles);
  bool is_held_for_memory() const;
  void publish(const TwEvent& event);
  void choose_publishing();

  // GVT rounds (worker_gvt.cpp).
  bool adopt(const GvtReport& sum);
  void commit(const GvtReport& sum);
  void hand_rows_over();
  void set_window(const GvtReport& sum);
  Key window_end() const;
  void show(const GvtReport& sum);
  bool decide_end(const GvtReport& sum);
  void retry_fault();
  bool must_sweep(const GvtReport& sum);
  void end_period();
  void report_load(GvtReport& report) const;
  std::int64_t memory_bytes() const;

  // Cuts and moves (worker_cut.cpp, worker_move.cpp).
  bool follow_cut(const GvtReport& sum);
  bool reach_cut();
  void free_cancelled();
  void reclaim_dead_timers();
  template <class Gone>
  void erase_pending_if(Gone&& gone) {
    pending::erase_if(pending_, scratch_, gone);
  }
  void check_places();
  void check_cut();
  bool move_lps();
  bool end_step();
  void hand_out_lps();
  void take_moved_lps();
  void end_move(bool moved, bool anywhere);
  std::uint32_t run_measured_batch(const Key& limit, std::uint32_t most_events);
  double load() const;

  Shared& shared_;
  const unsigned index_;
  TraceLane* const lane_;  ///< null: the run is not traced
  LpStates& lps_;
  memory::Arena& arena_;
  WorkerStatistics statistics_;
  Mailbox mailbox_;
  FaultList faults_;
  RollbackLog log_;
  HeldEvents held_;
  Suspensions suspensions_;
  DeadTimers dead_timers_;
  DeadTimerCount dead_timer_count_;
  Emitted emitted_;
  Pending pending_;
  LookAhead<LpState> look_ahead_;
  Executor executor_;
  Optimism optimism_;
  std::optional<memory::CacheTuning> cache_tuning_;  ///< of worker 0, if automatic
  Cut cut_;
  Balance balance_;
  bool is_moving_ = false;
  RollbackLog::Begun begun_ = RollbackLog::Begun::small;  ///< of the event under execution
  std::uint32_t batch_end_ = 0;                           ///< events of the batch under way
  bool publishes_ = false;         ///< the times of its events (thread_waker.h)
  std::uint64_t away_cycles_ = 0;  ///< for which its handlers were interrupted
  std::uint64_t turn_cycles_ = 0;  ///< when its turn began
  std::uint64_t load_busy_cycles_ = 0, load_executed_ = 0, load_committed_ = 0;  ///< at its begin

  // As of the last GVT round.
  Key gvt_ = shared_.world.cut;
  Key horizon_ = std::min(optimism_.horizon(gvt_), shared_.end);  ///< events at or after it wait
  std::uint64_t committed_ = 0, newly_committed_ = 0;  ///< own events; of these, by the round
  /// Events committed and pending in all workers, and when that was.
  struct Told {
    std::uint64_t cycles = 0, committed = 0, pending = 0;
  } told_;
  std::uint64_t swept_cancellations_ = 0;  ///< of all workers, at the last sweep
  std::int64_t adopted_memory_bytes_ = 0;
  std::uint64_t adopted_cycles_ = 0, adopted_executed_ = 0, adopted_rollbacks_ = 0;
  Ending ending_;

  std::int64_t latest_ticks_ = 0;  ///< time of the latest event executed since the last report
  std::vector<TwEvent*> scratch_;
  std::uint64_t period_cycles_;
  std::uint64_t period_events_;  ///< own events after which a round is due; 0: by time only
  std::uint32_t batch_events_ = kBatchEvents;
  double most_in_batch_ = kBatchEvents;
  double rollback_rate_ = 0;  ///< rollbacks an event
  const std::uint64_t batch_cycles_limit_;
  double event_cycles_ = 0;
  std::int64_t turn_memory_bytes_ = 0;  ///< when its turn began
  std::uint64_t start_cycles_ = 0, busy_cycles_ = 0;

  // Of the thread.
  transport::RoundMember<GvtRounds> member_;
  Laggards laggards_;
  CoreSharing sharing_;
  TraceIdleness idleness_;
  unsigned looks_ = 0;                   ///< at a round under way, since the last turn
  bool idle_ = false;                    ///< the last turn executed nothing
  bool over_ = false;                    ///< the run has ended
  unsigned interrupted_ = 0;             ///< handlers
  std::uint64_t next_look_cycles_ = 0;   ///< no handler is interrupted before this time
  std::uint64_t next_deal_cycles_ = 0;   ///< with work, no look at other ranks before this time
  std::uint64_t outer_turn_cycles_ = 0;  ///< when the last turn began that no handler was in
  std::uint64_t turn_at_tick_ = 0;       ///< outer_turn_cycles_ at the last tick
  std::vector<std::string> notes_;
  std::exception_ptr error_;  ///< of the platform, while a handler was interrupted
  double set_up_seconds_ = 0;
};

}  // namespace orrery::timewarp
