// SPDX-License-Identifier: Apache-2.0
//
// Worker: rollbacks. The undone events go back to the pending event set, the events that they sent
// are cancelled, and their LP returns to a checkpoint and coasts forward. A cancelled event that an
// LP of this worker has executed rolls that LP back in turn, lowest first (mailbox.h).
#include <utility>

#include "engine/timewarp/worker.h"

namespace orrery::timewarp {

/// Undoes the events of LP `id` at or after `to`, and all events on this worker that they caused.
/// No handler may be running.
void Worker::roll_back(LpId id, const Key& to) {
  roll_back_one(id, to, true);
  end_cancelled();
}

/// Undoes and frees the cancelled events that were executed here. Called after all messages are
/// received, not for each notice: otherwise each of a burst of notices for one LP would cost a
/// rollback of its own.
void Worker::end_cancelled() {
  while (TwEvent* event = mailbox_.pop_cancelled_executed()) {
    // A rollback for another reason may have undone it meanwhile.
    if (Mailbox::is_executed(event)) roll_back_one(event->receiver, event->key(), true);
    mailbox_.free(event);
  }
}

/// Without `cancelling`, at the end of the run, restores the state only: the events that the undone
/// events sent are not cancelled, since no worker executes any more.
void Worker::roll_back_one(LpId id, const Key& to, bool cancelling) {
  ORRERY_ASSERT(to >= gvt_, "nothing before GVT is rolled back");
  LpState& lp = lps_[id];
  if (!suspensions_.empty()) [[unlikely]]
    suspensions_.for_each([&](Suspensions::One& one) {
      if (one.lp == id && one.key >= to) squash(one);
    });
  TraceSpan span(lane_, TraceKind::rollback, to.time().ticks(), id);
  const std::uint64_t undone_before = statistics_.rolled_back;
  lp.journaled ? roll_back_journaled(id, lp, to, cancelling)
               : roll_back_history(id, lp, to, cancelling);
  span.set_count(statistics_.rolled_back - undone_before);
  if (statistics_.rolled_back == undone_before) span.forget();
}

void Worker::roll_back_history(LpId id, LpState& lp, const Key& to, bool cancelling) {
  const std::uint32_t remaining = RollbackLog::remaining(lp, to);
  if (remaining == lp.count) return;
  ++statistics_.rollbacks;
  statistics_.rolled_back += lp.count - remaining;
  TwEvent* const* events = lp.executed();
  if (cancelling) [[likely]] {
    if (lp.faulted) [[unlikely]]
      faults_.clear(id, lp, pending_);
    for (std::uint32_t i = lp.count; i-- > remaining;) undo(events[i]);
    dead_timers_.put_back(id, lp, to, pending_);
  }
  emitted_.roll_back(id, events[remaining]->key());
  const std::uint64_t start = read_cycles();
  coast(id, lp, restore(id, lp, remaining), remaining);
  log_.note_rollback(id, lp, read_cycles() - start);
}

void Worker::roll_back_journaled(LpId id, LpState& lp, const Key& to, bool cancelling) {
  std::uint64_t undone = 0;
  const bool faulted = lp.faulted;
  const TwEvent* first = log_.roll_back_journaled(lp, to, [&](TwEvent* event) {
    ++undone;
    if (!cancelling) return;
    if (faulted && undone == 1) [[unlikely]]
      faults_.clear(id, lp, pending_);
    undo(event);
  });
  if (first == nullptr) return;
  ++statistics_.rollbacks;
  statistics_.rolled_back += undone;
  emitted_.roll_back(id, first->key());
}

void Worker::undo(TwEvent* event) {
  mailbox_.cancel_sent(event);
  if (mailbox_.undo(event)) pending_.push(event);
}

std::uint32_t Worker::restore(LpId id, LpState& lp, std::uint32_t remaining) {
  const TraceSpan span(lane_, TraceKind::restore, 0, id);
  return log_.restore(id, lp, remaining);
}

void Worker::coast(LpId id, LpState& lp, std::uint32_t from, std::uint32_t to) {
  if (from >= to) return;
  TraceSpan span(lane_, TraceKind::coasting, lp.executed()[from]->time().ticks(), id);
  span.set_count(to - from);
  for (std::uint32_t i = from; i < to; ++i) {
    ++statistics_.coasted;
    if (!executor_.coast(lp, lp.executed()[i])) break;  // the run will end at that event
  }
}

/// Rolls all LPs back to `to`; returns how many LPs that concerned.
std::uint64_t Worker::retreat(const Key& to) {
  std::uint64_t lps = 0;
  log_.for_each_active([&](LpId id, const TwEvent* last) {
    if (last->key() < to) return;
    ++lps;
    roll_back(id, to);
  });
  log_.trim(mailbox_);
  mailbox_.flush_all();
  return lps;
}

// ---- Interrupted handlers

/// Ends an interrupted event as a failed one: its handler does not go on.
void Worker::squash(Suspensions::One& one) {
  one.squashed = true;
  one.kept.measuring = false;
  log_.bring_back(one.begun, std::move(one.kept), 0);
  log_.end(one.begun, one.lp, lps_[one.lp], false);
  ++statistics_.squashed;
}

}  // namespace orrery::timewarp
