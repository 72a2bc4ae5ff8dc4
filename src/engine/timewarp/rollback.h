// SPDX-License-Identifier: Apache-2.0
//
// Undoing what was executed too early: the events go back to the pending set, what they sent is
// cancelled, their LP goes back to a checkpoint and coasts forward. A cancelled event that an LP of
// this worker has executed rolls that LP back in turn.
#pragma once

#include <cstdint>

#include "core/assert.h"
#include "core/cycles.h"
#include "engine/timewarp/executor.h"
#include "engine/timewarp/history.h"

namespace orrery::timewarp {

template <class Pending>
class Rollback {
 public:
  Rollback(LpTable& lps, Pending& pending, Mailbox& mailbox, History& history,
           Executor<Pending>& executor, FaultList& faults, EmittedRows& rows,
           WorkerStatistics& statistics)
      : lps_(lps),
        pending_(pending),
        mailbox_(mailbox),
        history_(history),
        executor_(executor),
        faults_(faults),
        rows_(rows),
        statistics_(statistics) {}

  /// Undoes the events of LP `id` at or after `to`, and all that came of them on this worker.
  /// Called with no handler running.
  void roll_back(LpId id, const Key& to) {
    roll_back_one(id, to, true);
    while (TwEvent* event = mailbox_.take_ending()) end(event);
  }
  /// The event was cancelled after it was claimed.
  void end_cancelled(TwEvent* event) {
    if (Mailbox::is_executed(event)) roll_back(event->receiver, event->key());
    mailbox_.free(event);
  }
  /// At the end of the run: only the state goes back. What the undone events sent is not cancelled:
  /// nobody executes any more.
  void restore_state(LpId id, const Key& to) { roll_back_one(id, to, false); }

  /// Nothing before it is rolled back any more.
  void set_gvt(const Key& gvt) { gvt_ = gvt; }

 private:
  /// A local event. A rollback for another reason may have undone it meanwhile.
  void end(TwEvent* event) {
    if (Mailbox::is_executed(event)) roll_back_one(event->receiver, event->key(), true);
    mailbox_.free(event);
  }

  void roll_back_one(LpId id, const Key& to, bool cancelling) {
    ORRERY_ASSERT(to >= gvt_, "nothing before GVT is rolled back");
    LpState& lp = lps_[id];
    const std::uint32_t remaining = History::remaining(lp, to);
    if (remaining == lp.count) return;
    ++statistics_.rollbacks;
    statistics_.rolled_back += lp.count - remaining;
    TwEvent* const* events = lp.history();
    if (cancelling) [[likely]] {
      if (lp.faulted) [[unlikely]]
        faults_.clear(id, lp, pending_);
      for (std::uint32_t i = lp.count; i-- > remaining;) undo(events[i]);
    }
    if (rows_.wanted) rows_.speculative.roll_back(id, events[remaining]->key());
    const std::uint64_t start = read_cycles();
    coast(lp, history_.restore(id, lp, remaining), remaining);
    history_.note_rollback(id, lp, read_cycles() - start);
  }

  void undo(TwEvent* event) {
    mailbox_.cancel_sent(event);
    if (mailbox_.undo(event)) pending_.push(event);
  }

  void coast(LpState& lp, std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t i = from; i < to; ++i) {
      ++statistics_.coasted;
      if (!executor_.coast(lp, lp.history()[i])) break;  // the run will end there
    }
  }

  LpTable& lps_;
  Pending& pending_;
  Mailbox& mailbox_;
  History& history_;
  Executor<Pending>& executor_;
  FaultList& faults_;
  EmittedRows& rows_;
  WorkerStatistics& statistics_;
  Key gvt_;
};

}  // namespace orrery::timewarp
