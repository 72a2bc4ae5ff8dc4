// SPDX-License-Identifier: Apache-2.0
#include "engine/timewarp/worker.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/cycles.h"

namespace orrery::timewarp {

Worker::Worker(Shared& shared, unsigned index)
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
Worker::Turn Worker::turn_below(const Key& below) {
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

Worker::Turn Worker::turn() {
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
std::uint32_t Worker::run_batch(const Key& limit, std::uint32_t most_events) {
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
[[gnu::noinline]] void Worker::end_dropped() {
  TwEvent* const event = executor_.running();
  LpState& lp = lps_[event->receiver];
  executor_.end_dropped(lp, event);
  log_.end(begun_, event->receiver, lp, false);
}

/// Not inlined: in the function to which crashes return, the compiler would inline less of the
/// event path, which made PHOLD with two workers a seventh slower.
[[gnu::noinline]] void Worker::run_events(const Key& limit, std::uint32_t& executed) {
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
[[gnu::always_inline]] inline void Worker::prefetch_upcoming() {
  prefetch_next(pending_, lps_);
  if (pending_.announces()) [[unlikely]]
    look_ahead_.step(pending_, lps_);
}

inline void Worker::handle(TwEvent* event) {
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
[[gnu::noinline]] void Worker::hold(TwEvent* event) {
  held_.hold(event);
  run_held();
}

/// Executes the held events that nothing can undo any more; returns how many.
[[gnu::noinline]] std::uint32_t Worker::run_held() {
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
void Worker::handle_final(TwEvent* event) {
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
[[gnu::noinline]] void Worker::drop_dead_timer(LpState& lp, TwEvent* timer) {
  dead_timers_.add(lp, timer, mailbox_);
  dead_timer_count_.note_dropped();
}

/// Events in the next batch; 0 if the worker has executed its quota of this round.
std::uint32_t Worker::next_batch() const {
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
void Worker::adapt_batch(std::uint32_t executed, std::uint64_t cycles) {
  const double each = static_cast<double>(cycles) / executed;
  event_cycles_ = event_cycles_ == 0 ? each : 0.95 * event_cycles_ + 0.05 * each;
  const double fitting = static_cast<double>(batch_cycles_limit_) / std::max(event_cycles_, 1.0);
  batch_events_ = static_cast<std::uint32_t>(std::clamp(fitting, 1.0, most_in_batch_));
}

bool Worker::drain() {
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
GvtReport Worker::report() {
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
bool Worker::round_is_due(bool idle) {
  if (cut_.holds() || is_held_up()) return true;
  const std::uint64_t executed = statistics_.executed - adopted_executed_;
  // The window stops this worker: only a higher GVT helps.
  if (idle && executed > 0) return true;
  const std::uint64_t elapsed = read_cycles() - adopted_cycles_;
  if (elapsed > period_cycles_ || (idle && elapsed > period_cycles_ / 32)) return true;
  return period_events_ > 0 && executed >= period_events_;
}

bool Worker::adopt(const GvtReport& sum) {
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
[[gnu::noinline]] void Worker::retry_fault() {
  if (const HandlerFault* const fault = faults_.retry()) rollback_.roll_back(fault->lp, fault->key);
}

/// Updates the rollback rate and the longest batch from the events since the last round.
void Worker::end_period() {
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

Commitment::Local Worker::local() {
  return {std::min({lowest_pending(), held_.lowest(), suspensions_.lowest()}),
          pending_.size(),
          memory_bytes() + (index_ == 0 ? shared_.bytes_from_ranks() : 0),
          latest_ticks_,
          event_cycles_,
          load_report()};
}

LoadReport Worker::load_report() const {
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

std::int64_t Worker::memory_bytes() const {
  return static_cast<std::int64_t>(emitted_.bytes() + pending_.bytes() + arena_.taken_bytes()) +
         mailbox_.used_bytes() + log_.memory_bytes();
}

}  // namespace orrery::timewarp
