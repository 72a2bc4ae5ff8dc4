// SPDX-License-Identifier: Apache-2.0
//
// Worker: interrupting handlers because an earlier event may have come
// (run/containment/preemption.h, suspensions.h), and publishing long events so that other workers
// can wake it (thread_waker.h).
#include <fmt/format.h>

#include <new>
#include <utility>

#include "engine/timewarp/worker.h"

namespace orrery::timewarp {

/// The tick, or 0. On demand there is a slow tick, too: all threads may be in handlers that do not
/// end, and then no thread is left to wake them (thread_waker.h).
double Worker::tick_seconds() const {
  constexpr double kBackstopSeconds = 50e-3;
  const Settings& settings = shared_.settings;
  if (settings.preempt_tick_seconds > 0) return settings.preempt_tick_seconds;
  return settings.preempt_on_demand ? kBackstopSeconds : 0;
}

/// Notes if ticks are missing or cost much.
void Worker::note_ticks(Preemptible& preemptible) {
  constexpr double kMuch = 0.01;
  if (preemptible.lacks_tick())
    notes_.emplace_back("the system refused a timer, so ticks interrupted no handler");
  if (index_ != 0 || shared_.settings.preempt_tick_seconds == 0) return;
  if (const double share = preemptible.tick_share(); share > kMuch)
    notes_.push_back(
        fmt::format("ticks take {:.0f} % of the time on this machine; a longer --tick costs less",
                    100 * share));
}

/// Clears the attention byte: the thread is about to look around anyway. With preempt_at_calls,
/// sets it.
void Worker::arm() {
  if (shared_.settings.preempt_at_calls) {
    memory::ask_attention(memory::kLook);
  } else if (memory::attention_asked(memory::kLook)) {
    memory::end_attention(memory::kLook);
  }
}

/// False while a handler of an event that cannot be undone runs, and while an LP coasts forward. A
/// handler that has just been interrupted must first make progress. A turn of ordinary length is
/// not interrupted: it ends soon enough, and if a round waited for it, the cause was that the
/// system had taken the core away.
bool Worker::may_interrupt() const {
  if (executor_.running() == nullptr) return false;
  if (shared_.settings.preempt_at_calls) return true;
  constexpr double kTurnSeconds = 30e-6;
  const std::uint64_t now = read_cycles();
  return now >= next_look_cycles_ && now - turn_cycles_ > cycles_in(kTurnSeconds);
}

/// Without --preempt tick or both, a tick counts only if the same turn has lasted since the tick
/// before.
bool Worker::heeds_tick() {
  return std::exchange(turn_at_tick_, outer_turn_cycles_) == outer_turn_cycles_ ||
         shared_.settings.preempt_tick_seconds > 0;
}

bool Worker::look_around(bool has_room) noexcept {
  const std::uint64_t start = read_cycles();
  const TraceSpan span(lane_, TraceKind::interrupted);
  arm();
  try {
    executor_.make_room_for_interrupt();
    suspensions_.make_room();
  } catch (const std::bad_alloc&) {
    return true;  // without memory for a look it goes on
  }
  ++interrupted_;
  std::uint64_t worked = 0;
  try {
    interrupt();
    ThreadWatch::turn_to(executor_.execution());
    worked = work_within(has_room && interrupted_ <= kMostInterrupted);
  } catch (...) {
    fail();
  }
  --interrupted_;
  const std::uint64_t end = read_cycles();
  next_look_cycles_ = end + kRunForLook * (end - start - worked);
  const bool goes_on = go_on(end - start);
  ThreadWatch::turn_to(executor_.execution());
  return goes_on;
}

/// Stores the current exception. It ends the thread once all interrupted handlers are dropped.
void Worker::fail() {
  error_ = std::current_exception();
  over_ = true;
  suspensions_.for_each([](Suspensions::One& one) { one.squashed = true; });
}

/// Takes part in rounds and executes events before the event that was interrupted last, until that
/// event is squashed, or until no event is left and it need not wait for memory. `may_execute`: if
/// false, nothing is executed, and the interrupted event is undone for a lower event.
/// Returns the cycles of turns that executed or received something.
std::uint64_t Worker::work_within(bool may_execute) {
  std::uint64_t worked = 0, waits_since = 0;
  for (;;) {
    const std::uint64_t start = read_cycles();
    const bool busy = turn_within(may_execute);
    if (busy) worked += read_cycles() - start;
    over_ = over_ || shared_.team.failed();
    if (!over_ && suspensions_.top().squashed) return worked;
    deal_with_ranks(busy);
    over_ = over_ || member_.step(*this);
    if (over_) break;
    if (suspensions_.top().squashed) return worked;
    if (busy) {
      waits_since = 0;
      continue;
    }
    give_way();
    if (is_held_for_memory()) {
      wait();
      continue;
    }
    sharing_.reset_backoff();
    if (!member_.in_round()) return worked;
    if (waits_since == 0) waits_since = start;
    if (start - waits_since > cycles_in(kRoundWaitSeconds)) {
      if (shared_.settings.preempt_on_demand) laggards_.wake_in_long_events();
      return worked;
    }
    SpinThenYield::relax();
  }
  if (!suspensions_.top().squashed) note_unreturned();
  suspensions_.for_each([this](Suspensions::One& one) { squash(one); });
  return worked;
}

/// Notes the handler that kept the run busy for over a second when the user stopped it: a user who
/// stops a run that makes no progress wants to know why.
void Worker::note_unreturned() {
  constexpr double kLongSeconds = 1;
  if (ending_.end != RunEnd::interrupted ||
      read_cycles() - outer_turn_cycles_ < cycles_in(kLongSeconds))
    return;
  ModelCode code;
  code.tick_seconds = shared_.model.tick_seconds();
  executor_.interrupted().tell(code);
  notes_.push_back(describe(code) + ": it had not returned when the run was stopped");
}

/// A turn that executes only events before the interrupted one. Whether anything was executed or
/// came in.
bool Worker::turn_within(bool may_execute) {
  const Turn turn = turn_below(may_execute ? suspensions_.top().key : Key());
  if (!may_execute && !over_) undo_for_lower();
  return turn.executed || turn.received;
}

/// Rolls back the event that was interrupted last if an event before it is pending.
void Worker::undo_for_lower() {
  const Suspensions::One& one = suspensions_.top();
  if (one.squashed || lowest_pending() >= one.key) return;
  ++statistics_.gave_way;
  roll_back(one.lp, one.key);
}

void Worker::interrupt() {
  TwEvent* const event = executor_.running();
  LpState& lp = lps_[event->receiver];
  executor_.interrupt(lp);
  suspensions_.push({event, event->receiver, event->key(), begun_, {}, away_cycles_});
  ++statistics_.interrupted;
  suspensions_.top().kept = log_.set_aside(begun_, lp);
}

/// Ends the latest interruption, which lasted `cycles`. False: drop the interrupted handler.
bool Worker::go_on(std::uint64_t cycles) {
  batch_end_ = 0;  // a round may have changed how far the batch may go
  Suspensions::One one = suspensions_.pop();
  away_cycles_ = one.away_cycles + cycles;
  executor_.go_on();
  if (one.squashed) return false;
  log_.bring_back(one.begun, std::move(one.kept), cycles);
  begun_ = one.begun;
  if (publishes_) publish(*one.event);
  return true;
}

/// Whether the event that was interrupted last has taken so much memory, beyond the budget, that it
/// may go on only once it is sure to commit: a speculative event must not fill the machine's memory.
bool Worker::is_held_for_memory() const {
  constexpr std::int64_t kShare = 8;  // of the worker's part of the budget, for one event
  const Suspensions::One& one = suspensions_.top();
  const auto part = static_cast<std::int64_t>(budget_bytes() / shared_.workers);
  const std::int64_t now = memory_bytes();
  return now > part && now - turn_memory_bytes_ > part / kShare && one.key > gvt_;
}

// ---- Waking

void Worker::publish(const TwEvent& event) {
  ThreadWaker::Running& running = shared_.waker.running(index_);
  running.since.store(read_cycles(), std::memory_order_relaxed);
  running.ticks.store(event.time().ticks(), std::memory_order_relaxed);
}

/// After a turn. Publishing is a store to a cache line that other workers read: worth it for long
/// events only.
void Worker::choose_publishing() {
  constexpr double kLongSeconds = 10e-6;
  const bool were = publishes_;
  publishes_ = shared_.preempts && event_cycles_ > cycles_in(kLongSeconds);
  if (were)
    shared_.waker.running(index_).ticks.store(ThreadWaker::kNone, std::memory_order_relaxed);
}

}  // namespace orrery::timewarp
