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
      optimism_(shared.options.get(kWindow), shared.memory_budget_bytes, shared.all_workers(),
                shared.cores_a_worker),
      cut_(shared.cut_events, shared.end),
      balance_(shared.balance_terms()),
      batch_cycles_limit_(cycles_in(kBatchSeconds)),
      member_(shared.rounds, index),
      laggards_(member_, shared.waker),
      sharing_(shared.federation, index, shared.rank_link != nullptr, mailbox_),
      idleness_(lane_) {
  const std::int64_t period_us = shared.options.get(kGvtPeriod);
  period_events_ = period_us > 0 ? 0 : kGvtEvents * shared.all_workers();
  period_cycles_ = cycles_in(1e-6 * static_cast<double>(period_us > 0 ? period_us : kGvtPeriodUs));
  if (shared.preempts) mailbox_.late().watch(shared.waker);
  if (index == 0 && shared.options.get(kCacheShare) < 0 && shared.colouring.on)
    cache_tuning_.emplace(shared.colouring.way_bytes,
                          cycles_in(memory::CacheTuning::kPeriodSeconds));
}

// ---- Turns

/// A turn that executes only events before `below`.
Worker::Turn Worker::turn_below(const Key& below) {
  Turn turn;
  turn.received = drain();
  const std::uint64_t start = turn_cycles_ = read_cycles(), away = away_cycles_;
  const Key limit = std::min(below, window_end());
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

/// Receives messages, executes a batch, and publishes what the batch sends.
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
    roll_back(event->receiver, event->key());
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
  ++statistics_.held;
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
  const std::uint64_t quota = optimism_.quota();
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
    ORRERY_ASSERT(event->key() >= gvt_, "no message comes from before GVT");
    pending_.push(event);
  });
  end_cancelled();
  return received;
}

std::int64_t Worker::memory_bytes() const {
  return static_cast<std::int64_t>(emitted_.bytes() + pending_.bytes() + arena_.taken_bytes()) +
         mailbox_.used_bytes() + log_.memory_bytes();
}

}  // namespace orrery::timewarp
