// SPDX-License-Identifier: Apache-2.0
//
// A worker: its LPs, their pending events, and the executed events that are not committed. A worker
// executes its events in batches, lowest key first. Between batches it receives messages from other
// workers, publishes what it sends, and takes part in GVT rounds. Only its thread (worker_thread.h)
// changes its LPs (a copier reads those whose checkpoint is offloaded).
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
#include <optional>
#include <string>
#include <vector>

#include "core/cycles.h"
#include "engine/timewarp/balance.h"
#include "engine/timewarp/cut.h"
#include "engine/timewarp/dead_timers.h"
#include "engine/timewarp/executor.h"
#include "engine/timewarp/held.h"
#include "engine/timewarp/optimism.h"
#include "engine/timewarp/shared.h"
#include "engine/timewarp/suspensions.h"
#include "memory/cache_tuning.h"
#include "memory/library_state.h"
#include "pending/erase_if.h"
#include "run/events/dead_timer_count.h"
#include "run/loop/key_order.h"
#include "run/loop/look_ahead.h"
#include "run/options/model_checks.h"
#include "run/threads/waiting.h"

namespace orrery::timewarp {

class Worker {
 public:
  Worker(Shared& shared, unsigned index);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Set-up. Each step begins when all workers have ended the step before (worker_set_up.cpp).
  void take_lps();
  /// Refuses a run whose options the LPs, now known, cannot meet (Shared::refusal).
  void accept_lps();
  void take_events();

  // Running.
  struct Turn {
    bool executed = false, received = false;
  };
  /// Receives messages, executes a batch, and publishes what the batch sends.
  Turn turn();
  /// Starts the clocks. Called before the first turn.
  void begin() { start_cycles_ = adopted_cycles_ = read_cycles(); }
  /// Restores the state that the LPs had where the run ended.
  void end_run();
  /// At a cut: moves the pending events to `list`.
  void give_events(EventList& list) {
    pending_.drain([&](const TwEvent* event) { list.append(*event, event->payload()); });
  }

  // The worker's part in GVT rounds.
  /// Whether a round is due. `idle`: nothing was executed in the last turn.
  bool round_is_due(bool idle);
  void join_round() {
    held_.join_round(mailbox_.sent_lowest());
    mailbox_.join_round();
  }
  GvtReport report();
  /// Acts on the reports of all workers, added up. True if the run ends.
  bool adopt(const GvtReport& sum);

  Mailbox& mailbox() { return mailbox_; }
  /// Whether a worker must be called back from a long event for a message of this worker.
  bool has_late() const { return !mailbox_.late().empty(); }

  // While one of its handlers is interrupted (worker_interrupt.cpp).
  /// Whether the handler that runs can be interrupted.
  bool may_interrupt() const;
  std::uint64_t turn_cycles() const { return turn_cycles_; }
  /// May throw std::bad_alloc; then nothing is changed.
  void make_room_for_interrupt();
  void interrupt();
  /// Whether a rollback has undone the event of the handler that was interrupted last.
  bool is_squashed() const { return suspensions_.top().squashed; }
  const HandlerExecution& interrupted_execution() const { return executor_.interrupted(); }
  const Key& interrupted() const { return suspensions_.top().key; }
  /// A turn that executes only events before `below`. Whether it executed or received anything.
  bool turn_within(const Key& below);
  /// Not inlined: with more callers of `top`, the compiler no longer inlines it in the event path.
  [[gnu::noinline]] Key lowest_pending() {
    const TwEvent* const event = pending_.top();
    return event == nullptr ? Key::infinity() : event->key();
  }
  /// Rolls back the event that was interrupted last if an event before it is pending.
  void give_way();
  /// Whether the event that was interrupted last has taken so much memory, beyond the budget, that
  /// it may go on only once it is sure to commit.
  bool is_held_for_memory() const;
  /// Drops all interrupted handlers.
  void squash_all();
  /// The same after the run has failed: the LPs' states no longer matter.
  void abandon_all() {
    suspensions_.for_each([](Suspensions::One& one) { one.squashed = true; });
  }
  /// Ends the latest interruption, which lasted `cycles`. False: drop the interrupted handler.
  bool go_on(std::uint64_t cycles);

  // At a cut, if LPs are to move (moving.h).
  bool is_moving() const { return is_moving_; }
  void note_load() { shared_.moving.note_load(index_, load()); }
  void hand_out_lps();
  void take_moved_lps();
  void end_move(bool moved, bool anywhere);
  const Balance& balance() const { return balance_; }

  /// The memory budget, or the larger one to which Optimism has raised it.
  std::uint64_t budget_bytes() const {
    return static_cast<std::uint64_t>(optimism_.budget_bytes());
  }
  unsigned index() const { return index_; }
  TraceLane* lane() const { return lane_; }
  const HandlerExecution& execution() const { return executor_.execution(); }
  const Ending& ending() const { return ending_; }
  const WorkerStatistics& statistics() const { return statistics_; }
  const RollbackLog& rollback_log() const { return log_; }
  const FaultList& faults() const { return faults_; }
  const MergeableStatistics& mergeable_statistics() const { return emitted_.mergeable_statistics; }
  const HeldEvents& held() const { return held_; }

 private:
  static constexpr std::uint32_t kBatchEvents = 64, kBatchEventsInStorms = 12;
  static constexpr double kBatchSeconds = 20e-6;
  static constexpr std::int64_t kGvtPeriodUs = 2000;
  static constexpr std::uint64_t kGvtEvents = 256;  ///< times the workers

  std::uint32_t run_batch(const Key& limit, std::uint32_t most_events);
  void run_events(const Key& limit, std::uint32_t& executed);
  void end_dropped();
  void publish(const TwEvent& event);
  void choose_publishing();
  Turn turn_below(const Key& below);
  void prefetch_upcoming();
  void handle(TwEvent* event);
  void hold(TwEvent* event);
  std::uint32_t run_held();
  void handle_final(TwEvent* event);
  bool is_held_up() { return !held_.empty() && held_.lowest() < lowest_pending(); }
  void drop_dead_timer(LpState& lp, TwEvent* timer);
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

  // GVT rounds (worker_gvt.cpp).
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
  std::uint32_t run_measured_batch(const Key& limit, std::uint32_t most_events);
  void begin_load_period();
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
};

}  // namespace orrery::timewarp
