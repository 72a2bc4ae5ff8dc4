// SPDX-License-Identifier: Apache-2.0
//
// Worker: interrupting handlers because an earlier event may have come
// (run/containment/preemption.h, suspensions.h), and publishing long events so that other workers
// can wake it (thread_waker.h).
#include "engine/timewarp/worker.h"

namespace orrery::timewarp {

/// False while a handler of an event that cannot be undone runs, and while an LP coasts forward.
bool Worker::may_interrupt() const {
  return executor_.running() != nullptr;
}

void Worker::make_room_for_interrupt() {
  executor_.make_room_for_interrupt();
  suspensions_.make_room();
}

void Worker::interrupt() {
  TwEvent* const event = executor_.running();
  LpState& lp = lps_[event->receiver];
  executor_.interrupt(lp);
  suspensions_.push({event, event->receiver, event->key(), begun_, {}, away_cycles_});
  ++statistics_.interrupted;
  suspensions_.top().kept = log_.set_aside(begun_, lp);
}

bool Worker::turn_within(const Key& below) {
  const Turn turn = turn_below(below);
  return turn.executed || turn.received;
}

void Worker::give_way() {
  const Suspensions::One& one = suspensions_.top();
  if (one.squashed || lowest_pending() >= one.key) return;
  ++statistics_.gave_way;
  roll_back(one.lp, one.key);
}

/// A speculative event must not fill the machine's memory; an event that is sure to commit may take
/// what it needs.
bool Worker::is_held_for_memory() const {
  constexpr std::int64_t kShare = 8;  // of the worker's part of the budget, for one event
  const Suspensions::One& one = suspensions_.top();
  const auto part = static_cast<std::int64_t>(budget_bytes() / shared_.workers);
  const std::int64_t now = memory_bytes();
  return now > part && now - turn_memory_bytes_ > part / kShare && one.key > gvt_;
}

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
