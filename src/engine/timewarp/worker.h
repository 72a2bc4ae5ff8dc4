// SPDX-License-Identifier: Apache-2.0
//
// A worker: its LPs, their pending events, and the executed events that are not committed. A worker
// executes its events in batches, lowest key first. Between batches it receives messages from other
// workers, publishes what it sends, and takes part in GVT rounds. Only its thread (worker_thread.h)
// changes its LPs (a copier reads those whose checkpoint is offloaded).
// This file is a turn. Its parts are mailbox.h (messages), rollback_log.h (events that a rollback
// may undo), held.h (LPs that must not roll back), executor.h (handlers), rollback.h (rollbacks),
// commitment.h (what a worker does after a GVT round) and cut.h (where a run may change hands).
//
// A worker detects a straggler when it pops it, not when it arrives: by then it is the lowest event
// of the worker, so a burst of stragglers to one LP costs one rollback, to the lowest of them.
//
// A worker without peers can receive no straggler, so there is one only if the options ask for
// what rollbacks need (run.cpp); else a loop without any of this executes the events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "core/cycles.h"
#include "engine/timewarp/balance.h"
#include "engine/timewarp/commitment.h"
#include "engine/timewarp/cut.h"
#include "engine/timewarp/executor.h"
#include "engine/timewarp/held.h"
#include "engine/timewarp/rollback.h"
#include "engine/timewarp/suspensions.h"
#include "engine/timewarp/sweep.h"
#include "memory/library_state.h"
#include "run/events/dead_timer_count.h"
#include "run/loop/key_order.h"
#include "run/loop/look_ahead.h"
#include "run/options/model_checks.h"
#include "run/threads/waiting.h"

namespace orrery::timewarp {

template <class Pending>
class Worker {
 public:
  Worker(Shared& shared, unsigned index);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Set-up. Each step begins when all workers have ended the step before (worker_set_up.h).
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

  // While one of its handlers is interrupted (worker_interrupt.h).
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
  void squash_all() { rollback_.squash_all(); }
  /// The same after the run has failed: the LPs' states no longer matter.
  void abandon_all() { suspensions_.abandon_all(); }
  /// Ends the latest interruption, which lasted `cycles`. False: drop the interrupted handler.
  bool go_on(std::uint64_t cycles);

  // At a cut, if LPs are to move (moving.h).
  bool is_moving() const { return is_moving_; }
  void note_load() { shared_.moving.note_load(index_, load()); }
  void hand_out_lps();
  void take_moved_lps();
  void end_move(bool moved, bool anywhere);
  const Balance& balance() const { return balance_; }

  std::uint64_t budget_bytes() const { return commitment_.budget_bytes(); }
  unsigned index() const { return index_; }
  TraceLane* lane() const { return lane_; }
  const HandlerExecution& execution() const { return executor_.execution(); }
  const Ending& ending() const { return commitment_.ending(); }
  const WorkerStatistics& statistics() const { return statistics_; }
  const RollbackLog& rollback_log() const { return log_; }
  const FaultList& faults() const { return faults_; }
  const MergeableStatistics& mergeable_statistics() const { return emitted_.mergeable_statistics; }
  const HeldEvents& held() const { return held_; }

 private:
  static constexpr std::uint32_t kBatchEvents = 64, kBatchEventsInStorms = 12;
  static constexpr double kBatchSeconds = 20e-6;
  static constexpr std::uint64_t kGvtPeriodUs = 2000;
  static constexpr std::uint64_t kGvtEvents = 256;  ///< times the workers

  std::uint32_t run_batch(const Key& limit, std::uint32_t most_events);
  void run_events(const Key& limit, std::uint32_t& executed);
  void end_dropped();
  void retry_fault();
  void publish(const TwEvent& event);
  void choose_publishing();
  Turn turn_below(const Key& below);
  std::uint32_t run_measured_batch(const Key& limit, std::uint32_t most_events);
  void prefetch_upcoming();
  void handle(TwEvent* event);
  void hold(TwEvent* event);
  std::uint32_t run_held();
  void handle_final(TwEvent* event);
  bool is_held_up() { return !held_.empty() && held_.lowest() < lowest_pending(); }
  void drop_dead_timer(LpState& lp, TwEvent* timer);
  void reclaim_dead_timers();
  std::uint32_t next_batch() const;
  void adapt_batch(std::uint32_t executed, std::uint64_t cycles);
  bool drain();

  void end_period();
  void begin_load_period();
  double load() const;
  std::uint64_t retreat(const Key& to);
  bool follow_cut(const GvtReport& sum);
  bool reach_cut();
  void check_cut();
  Commitment::Local local();
  LoadReport load_report() const;
  std::int64_t memory_bytes() const;

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
  Executor<Pending> executor_;
  Rollback<Pending> rollback_;
  Sweep<Pending> sweep_;
  Commitment commitment_;
  Cut cut_;
  Balance balance_;
  bool is_moving_ = false;
  RollbackLog::Begun begun_ = RollbackLog::Begun::small;  ///< of the event under execution
  std::uint32_t batch_end_ = 0;                           ///< events of the batch under way
  bool publishes_ = false;         ///< the times of its events (thread_waker.h)
  std::uint64_t away_cycles_ = 0;  ///< for which its handlers were interrupted
  std::uint64_t turn_cycles_ = 0;  ///< when its turn began
  std::uint64_t load_busy_cycles_ = 0, load_executed_ = 0, load_committed_ = 0;  ///< at its begin

  std::int64_t latest_ticks_ = 0;
  std::uint64_t adopted_cycles_ = 0, adopted_executed_ = 0, adopted_rollbacks_ = 0;  ///< last round
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

template <class Pending>
Worker<Pending>::Worker(Shared& shared, unsigned index)
    : shared_(shared),
      index_(index),
      lane_(lane_of(shared.control.trace, index)),
      lps_(shared.lps),
      arena_(shared.arena(index)),
      mailbox_(index, shared.mesh, shared.rank_link.get(), shared.owners, shared.depot, arena_,
               statistics_),
      faults_(shared.model, shared.options.livelock_microsteps),
      log_(lps_, arena_, shared.settings.strategy, shared.settings.offload,
           shared.copy_queue(index), shared.tracker, faults_, statistics_, lane_),
      held_(shared.world.executions()),
      emitted_(shared.model, shared.control),
      executor_(shared.world, shared.options, lps_, faults_,
                {mailbox_, pending_, emitted_, log_.undo_log()}, shared.control.trace, lane_),
      rollback_(lps_, pending_, mailbox_, log_, dead_timers_, executor_, faults_, emitted_,
                suspensions_, statistics_, lane_),
      sweep_(pending_, mailbox_, faults_, log_, dead_timers_, held_),
      commitment_(shared, index, mailbox_, log_, held_, faults_, emitted_, statistics_),
      cut_(shared.cut_events, shared.end),
      balance_(shared.balance_terms()),
      batch_cycles_limit_(cycles_in(kBatchSeconds)) {
  const bool fixed_period = shared.settings.gvt_period_us > 0;
  const std::uint64_t period_us = fixed_period ? shared.settings.gvt_period_us : kGvtPeriodUs;
  period_events_ = fixed_period ? 0 : kGvtEvents * shared.all_workers();
  period_cycles_ = cycles_in(1e-6 * static_cast<double>(period_us));
  if (shared.preempts) mailbox_.late().watch(shared.waker);
}

// ---- Turns

/// A turn that executes only events before `below`.
template <class Pending>
typename Worker<Pending>::Turn Worker<Pending>::turn_below(const Key& below) {
  Turn turn;
  turn.received = drain();
  const std::uint64_t start = turn_cycles_ = read_cycles(), away = away_cycles_;
  Key limit = std::min(below, commitment_.limit(memory_bytes()));
  if (shared_.is_short_of_credit()) [[unlikely]]
    limit = std::min(limit, Optimism::next_step(commitment_.gvt()));
  std::uint32_t executed = held_.empty() ? 0 : run_held();
  executed += balance_.measures() ? run_measured_batch(limit, next_batch())
                                  : run_batch(limit, next_batch());
  mailbox_.flush();
  if (!mailbox_.late().empty()) [[unlikely]]
    statistics_.rings += mailbox_.late().wake();
  turn.executed = executed > 0;
  if (!turn.executed) return turn;
  const std::uint64_t cycles = read_cycles() - start - (away_cycles_ - away);
  busy_cycles_ += cycles;
  adapt_batch(executed, cycles);
  return turn;
}

template <class Pending>
typename Worker<Pending>::Turn Worker<Pending>::turn() {
  turn_memory_bytes_ = memory_bytes();
  const Turn turn = turn_below(Key::infinity());
  if (!turn.executed) {
    ++statistics_.idle_polls;
    mailbox_.flush_all();
  }
  if (turn.executed || publishes_) choose_publishing();
  return turn;
}

/// The times nearly always differ, and then decide.
inline bool is_before(const TwEvent& event, const Key& key) {
  if (event.time() < key.time()) [[likely]]
    return true;
  return event.key() < key;
}

/// Executes events before `limit`; returns how many, including dead timers. After a handler
/// crashes or is dropped, the worker goes on here.
template <class Pending>
std::uint32_t Worker<Pending>::run_batch(const Key& limit, std::uint32_t most_events) {
  std::uint32_t executed = 0;
  const std::uint32_t outer_end = std::exchange(batch_end_, most_events);
  while (!recoverable([&] { run_events(limit, executed); })) {
    if (std::exchange(model_calls.squashed, false)) {
      executor_.end_squashed();
    } else {
      end_dropped();
    }
    ++executed;
  }
  batch_end_ = outer_end;
  return executed;
}

/// An event whose handler was dropped has failed, as by an exception.
template <class Pending>
[[gnu::noinline]] void Worker<Pending>::end_dropped() {
  TwEvent* const event = executor_.running();
  LpState& lp = lps_[event->receiver];
  executor_.end_dropped(lp, event);
  log_.end(begun_, event->receiver, lp, false);
}

/// Not inlined: in the function to which crashes return, the compiler would inline less of the
/// event path, which made PHOLD with two workers a seventh slower.
template <class Pending>
[[gnu::noinline]] void Worker<Pending>::run_events(const Key& limit, std::uint32_t& executed) {
  loop::execute_in_order(
      pending_, executed, [&] { return executed < batch_end_; },
      [&limit](const TwEvent& event) { return is_before(event, limit); },
      [this](TwEvent* event) {
        prefetch_upcoming();
        latest_ticks_ = std::max(latest_ticks_, event->time().ticks());
        handle(event);
      });
}

/// Prefetches what the next events need.
template <class Pending>
[[gnu::always_inline]] inline void Worker<Pending>::prefetch_upcoming() {
  prefetch_next(pending_, lps_);
  if (pending_.announces()) [[unlikely]]
    look_ahead_.step(pending_, lps_);
}

template <class Pending>
void Worker<Pending>::handle(TwEvent* event) {
  LpState& lp = lps_[event->receiver];
  if (faults_.holds(lp, event)) [[unlikely]]
    return;
  if (lp.held) [[unlikely]]
    return hold(event);
  if (!mailbox_.claim(event)) return;
  if (log_.is_straggler(lp, event)) [[unlikely]]
    rollback_.roll_back(event->receiver, event->key());
  if (is_dead_timer(*lp.object, *event, event->payload())) [[unlikely]] {
    mailbox_.undo(event);
    return drop_dead_timer(lp, event);
  }
  begun_ = log_.begin(lp, event, mailbox_);
  ++statistics_.executed;
  event->first_sent = nullptr;
  if (publishes_) [[unlikely]]
    publish(*event);
  const bool succeeded = executor_.run(lp, event, begun_ == RollbackLog::Begun::reversible);
  log_.end(begun_, event->receiver, lp, succeeded);
}

/// Holds an event of an LP that must not roll back. It is the lowest event pending here.
template <class Pending>
[[gnu::noinline]] void Worker<Pending>::hold(TwEvent* event) {
  held_.hold(event);
  run_held();
}

/// Executes the held events that nothing can undo any more; returns how many.
template <class Pending>
[[gnu::noinline]] std::uint32_t Worker<Pending>::run_held() {
  std::uint32_t executed = 0;
  while (TwEvent* const event =
             held_.take(std::min({lowest_pending(), faults_.lowest(), suspensions_.lowest()}),
                        mailbox_.sent_lowest())) {
    handle_final(event);
    ++executed;
  }
  return executed;
}

/// Executes a held event, without a history. Its cause cannot be undone, so its sender does not
/// refer to it again.
template <class Pending>
void Worker<Pending>::handle_final(TwEvent* event) {
  if (!mailbox_.claim(event)) return;
  LpState& lp = lps_[event->receiver];
  if (is_dead_timer(*lp.object, *event, event->payload())) [[unlikely]]
    return drop_dead_timer(lp, event);
  event->first_sent = nullptr;
  const std::uint64_t hash_before = lp.kernel.hash;
  if (!executor_.run_final(lp, event)) return;  // the fault holds GVT here
  ++statistics_.executed;
  held_.note_executed({event->key(), event->receiver, hash_before});
  mailbox_.free_final(event);
}

/// `timer`: its time has come, but its LP has cancelled it.
template <class Pending>
[[gnu::noinline]] void Worker<Pending>::drop_dead_timer(LpState& lp, TwEvent* timer) {
  dead_timers_.add(lp, timer, mailbox_);
  dead_timer_count_.note_dropped();
}

/// Events in the next batch; 0 if the worker has executed its quota of this round.
template <class Pending>
std::uint32_t Worker<Pending>::next_batch() const {
  if (cut_.holds()) [[unlikely]]
    return 0;
  const std::uint64_t executed = statistics_.executed - adopted_executed_;
  const std::uint64_t quota = commitment_.quota();
  return executed >= quota
             ? 0
             : static_cast<std::uint32_t>(std::min<std::uint64_t>(quota - executed, batch_events_));
}

/// A batch lasts about kBatchSeconds: long enough to make polling cheap, short enough that its
/// messages are not late. Where rollbacks are frequent, a batch has no more events than there are
/// between two rollbacks: a straggler that waits longer undoes more. (On two cores, with a rollback
/// for ten events, 12 events instead of 64 made wireless 1.1 times as fast, 4 events slower again;
/// without rollbacks, PHOLD lost a seventh with 12.)
template <class Pending>
void Worker<Pending>::adapt_batch(std::uint32_t executed, std::uint64_t cycles) {
  const double each = static_cast<double>(cycles) / executed;
  event_cycles_ = event_cycles_ == 0 ? each : 0.95 * event_cycles_ + 0.05 * each;
  const double fitting = static_cast<double>(batch_cycles_limit_) / std::max(event_cycles_, 1.0);
  batch_events_ = static_cast<std::uint32_t>(std::clamp(fitting, 1.0, most_in_batch_));
}

template <class Pending>
bool Worker<Pending>::drain() {
  const bool received = mailbox_.drain([this](TwEvent* event) {
    ORRERY_ASSERT(event->key() >= commitment_.gvt(), "no message comes from before GVT");
    pending_.push(event);
  });
  rollback_.end_cancelled();
  return received;
}

// ---- GVT

/// Received messages may have caused rollbacks. Their cancellations are published now and not after
/// the next batch: by then the round has let other workers go on from events that are to be
/// cancelled. Where wrong events cause more wrong events, cancellations that lag a round behind
/// never catch up with them, and the window stays narrow: a model with such handlers needed four
/// times as many rounds.
template <class Pending>
GvtReport Worker<Pending>::report() {
  if (drain()) mailbox_.flush_all();
  held_.drop_cancelled(mailbox_);
  const GvtReport report = commitment_.report(local());
  held_.report(report.lowest);
  latest_ticks_ = 0;
  return report;
}

/// A round costs a few cache lines from each worker and a walk over the LPs with a history. Memory
/// that it frees is reused while still in the cache, so frequent rounds pay: on two cores PHOLD ran
/// at 15 million events/s with a round every 50 us, 10 with 400 us, 7 with 3 ms.
template <class Pending>
bool Worker<Pending>::round_is_due(bool idle) {
  if (cut_.holds() || is_held_up()) return true;
  const std::uint64_t executed = statistics_.executed - adopted_executed_;
  // The window stops this worker: only a higher GVT helps.
  if (idle && executed > 0) return true;
  const std::uint64_t elapsed = read_cycles() - adopted_cycles_;
  if (elapsed > period_cycles_ || (idle && elapsed > period_cycles_ / 32)) return true;
  return period_events_ > 0 && executed >= period_events_;
}

template <class Pending>
bool Worker<Pending>::adopt(const GvtReport& sum) {
  TraceSpan span(lane_, TraceKind::gvt_round,
                 std::min(sum.lowest.time(), shared_.options.until).ticks());
  span.set_count(shared_.world.committed + sum.committed);
  const bool ends = commitment_.adopt(sum, local());
  rollback_.set_gvt(commitment_.gvt());
  if (sum.fault_at_lowest && !sum.fault_is_certain) [[unlikely]]
    retry_fault();
  dead_timers_.commit(commitment_.gvt(), mailbox_);
  if (commitment_.must_sweep()) sweep_.free_cancelled();
  if (dead_timer_count_.are_many(executor_.cancelled_timers(), pending_.size())) [[unlikely]]
    reclaim_dead_timers();
  if (commitment_.must_retreat()) statistics_.retreats += retreat(commitment_.horizon());
  commitment_.settle(memory_bytes());
  if constexpr (kAssertions) {
    constexpr std::uint64_t kRounds = 512;  // from one check to the next
    if (statistics_.gvt_rounds % kRounds == 0) sweep_.check_places();
  }
  adopted_cycles_ = read_cycles();
  end_period();
  balance_.note(sum);
  if (balance_.period_begins()) begin_load_period();
  const bool over = ends || follow_cut(sum);
  held_.adopt(sum, !sum.stop && !cut_.is_coming(),
              commitment_.must_retreat() ? commitment_.horizon() : Key::infinity());
  return over;
}

/// Rolls back an event at GVT that has failed once, so that it is executed again.
template <class Pending>
[[gnu::noinline]] void Worker<Pending>::retry_fault() {
  if (const HandlerFault* const fault = faults_.retry()) rollback_.roll_back(fault->lp, fault->key);
}

/// Updates the rollback rate and the longest batch from the events since the last round.
template <class Pending>
void Worker<Pending>::end_period() {
  const std::uint64_t executed = statistics_.executed - adopted_executed_;
  if (executed > 0) {
    const auto rolled_back = static_cast<double>(statistics_.rollbacks - adopted_rollbacks_);
    rollback_rate_ = 0.9 * rollback_rate_ + 0.1 * rolled_back / static_cast<double>(executed);
    most_in_batch_ = std::clamp(1 / std::max(rollback_rate_, 1e-9), double{kBatchEventsInStorms},
                                double{kBatchEvents});
  }
  adopted_executed_ = statistics_.executed;
  adopted_rollbacks_ = statistics_.rollbacks;
}

template <class Pending>
Commitment::Local Worker<Pending>::local() {
  return {std::min({lowest_pending(), held_.lowest(), suspensions_.lowest()}),
          pending_.size(),
          memory_bytes() + (index_ == 0 ? shared_.bytes_from_ranks() : 0),
          latest_ticks_,
          event_cycles_,
          load_report()};
}

template <class Pending>
LoadReport Worker<Pending>::load_report() const {
  const double own = load();
  const bool keeps_time = index_ == 0 && shared_.world.place().rank == 0;
  return {.busy_cycles = busy_cycles_,
          .lived_cycles = read_cycles() - start_cycles_,
          .load = own,
          .most_load = own,
          .workers = 1,
          .balances = balance_.is_on(),
          .period_cycles = keeps_time ? cycles_in(Balance::kPeriodSeconds) : 0};
}

template <class Pending>
std::int64_t Worker<Pending>::memory_bytes() const {
  return static_cast<std::int64_t>(emitted_.bytes() + pending_.bytes() + arena_.taken_bytes()) +
         mailbox_.used_bytes() + log_.memory_bytes();
}

}  // namespace orrery::timewarp

#include "engine/timewarp/worker_cut.h"
#include "engine/timewarp/worker_interrupt.h"
#include "engine/timewarp/worker_move.h"
#include "engine/timewarp/worker_set_up.h"
