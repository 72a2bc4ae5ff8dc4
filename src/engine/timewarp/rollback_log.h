// SPDX-License-Identifier: Apache-2.0
//
// The uncommitted past of a worker: for each of its LPs the events that were executed and are not
// committed (lp_state.h), and the checkpoints from which the states before them can be restored.
// One interface serves three kinds of LPs:
//   journaled one chunk of at most a cache line: in the journal (journal.h), which has a copy of
//             the LP for every event
//   small     served here, on a short path: a plain copy of the LP every few events, one interval
//             for all small LPs of the worker, all released when they are committed
//   recorded  with a record of their own, which checkpoint::Checkpointer serves
//             (checkpoint/checkpointer.h): LPs with much memory, and all LPs if the strategy asks
//             for more than plain copies. They keep their newest checkpoint, and the events since,
//             when all is committed
//
// A rollback restores a checkpoint and returns the event from which the LP must coast forward. The
// caller does that, since it executes handlers.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "checkpoint/checkpointer.h"
#include "core/cycles.h"
#include "engine/timewarp/fault_list.h"
#include "engine/timewarp/journal.h"
#include "engine/timewarp/lp_state.h"
#include "engine/timewarp/mailbox.h"
#include "engine/timewarp/statistics.h"
#include "memory/block_pool.h"
#include "run/execution/trace_recorder.h"

namespace orrery::timewarp {

class RollbackLog {
 public:
  RollbackLog(LpStates& lps, memory::Arena& arena, const checkpoint::Strategy& strategy,
              const checkpoint::Offload& offload, checkpoint::CopyQueue* copies,
              std::shared_ptr<checkpoint::PageTracker> tracker, FaultList& faults,
              WorkerStatistics& statistics, TraceLane* lane);
  RollbackLog(const RollbackLog&) = delete;
  RollbackLog& operator=(const RollbackLog&) = delete;
  ~RollbackLog();

  /// Decides of which kind a started LP is.
  void adopt(LpId id, LpState& lp);

  // ---- Executing

  /// How an event is executed. An LP that gets a record while an event begins uses the record from
  /// its next event on.
  enum class Begun : std::uint8_t {
    small,  ///< or journaled, or recorded and nothing is due
    recorded,
    reversible,  ///< recorded, and its handler is to fill undo_log()
  };
  /// Before an event is executed: takes a checkpoint if one is due, and appends the event.
  [[gnu::always_inline]] Begun begin(LpState& lp, TwEvent* event, Mailbox& mailbox) {
    if (lp.journaled) {
      ++statistics_.checkpoints;
      journal_.append(lp, event);
      return Begun::small;
    }
    if (lp.recorded) [[unlikely]] {
      if (!checkpoint::Checkpointer::passes_quietly(lps_.record(event->receiver)))
        return begin_recorded(lp, event, mailbox);
    } else if (lp.count == 0 || lp.count % interval_.events() == 0) {
      take_checkpoint(event->receiver, lp);
    }
    append(lp, event);
    return Begun::small;
  }
  /// After the event was executed.
  void end(Begun begun, LpId id, LpState& lp, bool succeeded) {
    if (begun >= Begun::recorded) [[unlikely]]
      return checkpointer_.after_event(view_of(id, lp), lp.next_ordinal(), succeeded);
    if (lp.journaled && !lp.one_chunk) [[unlikely]]
      leave_journal(lp);
  }
  checkpoint::UndoLog& undo_log() { return checkpointer_.undo_log(); }
  /// Between begin() and end(), when the event is interrupted. The event may be undone before it
  /// ends, so what it has allocated so far is taken into account now.
  checkpoint::Checkpointer::Begun set_aside(Begun begun, LpState& lp) {
    if (lp.journaled && !lp.one_chunk) leave_journal(lp);
    if (begun < Begun::recorded) return {};
    return checkpointer_.set_aside();
  }
  /// The interrupted event goes on after `cycles`, or ends.
  void bring_back(Begun begun, checkpoint::Checkpointer::Begun&& kept, std::uint64_t cycles) {
    if (begun >= Begun::recorded) checkpointer_.bring_back(std::move(kept), cycles);
  }

  // ---- Rolling back

  /// Whether an event comes before one that its LP has executed and not committed.
  bool is_straggler(const LpState& lp, const TwEvent* event) const {
    if (event->time().ticks() > lp.last_ticks) [[likely]]
      return false;
    return lp.journaled ? journal_.is_straggler(lp, event) : event->key() < lp.last()->key();
  }
  /// For a journaled LP: undoes its events at or after `to`, last first, calling undo(event).
  /// Returns the earliest of them, or nullptr if there is none.
  template <class Undo>
  TwEvent* roll_back_journaled(LpState& lp, const Key& to, Undo&& undo) {
    return journal_.roll_back(lp, to, undo);
  }
  /// How many events of the history remain if those at or after `to` are undone.
  static std::uint32_t remaining(const LpState& lp, const Key& to) {
    std::uint32_t remaining = lp.count;
    TwEvent* const* events = lp.executed();
    while (remaining > 0 && events[remaining - 1]->key() >= to) --remaining;
    return remaining;
  }
  /// Cuts the history to the first `remaining` events and restores the state before one of them.
  /// Returns that event's index: the LP is to coast forward from there.
  std::uint32_t restore(LpId id, LpState& lp, std::uint32_t remaining) {
    if (lp.recorded) [[unlikely]]
      return restore_recorded(id, lp, remaining);
    return restore_small(id, lp, remaining);
  }
  /// After the LP has coasted forward: what the rollback cost.
  void note_rollback(LpId id, LpState& lp, std::uint64_t cycles) {
    if (lp.recorded) [[unlikely]]
      checkpointer_.add_rollback(view_of(id, lp), cycles);
  }

  // ---- Committing

  /// Commits the events before `until`, of all LPs, and frees what no rollback needs any more
  /// (fossil collection).
  void commit_all(const Key& until, Mailbox& mailbox) {
    journal_.commit(
        until, [&](const Journal::Entry& entry) { mailbox.free(entry.event, entry.event_bytes); });
    uncommitted_ = journal_.events();
    std::size_t still_active = 0;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      prefetch_commit(i);
      const LpId id = active_[i];
      if (commit(id, lps_[id], until, mailbox)) active_[still_active++] = id;
    }
    active_.resize(still_active);
  }
  /// Before commit_all, if a livelock may be near: notes the LPs whose events commit.
  void note_steps(const Key& until);
  /// Executed events that the last commit_all did not commit.
  std::uint64_t uncommitted() const { return uncommitted_; }
  /// Visits LPs with uncommitted events, with the event last executed: visit(id, event). A
  /// journaled LP is visited once for each such event, or until its events are undone: `visit` may
  /// roll back.
  template <class Visit>
  void for_each_active(Visit&& visit) {
    journal_.for_each([&](const Journal::Entry& entry) { visit(entry.lp, entry.event); });
    for (std::size_t i = 0; i < active_.size(); ++i) {
      const LpId id = active_[i];
      if (lps_[id].count > 0) visit(id, lps_[id].last());
    }
  }
  /// Visits all executed events in the history.
  template <class Visit>
  void for_each_event(Visit&& visit) {
    journal_.for_each([&](const Journal::Entry& entry) { visit(entry.event); });
    for (const LpId id : active_) {
      const LpState& lp = lps_[id];
      for (std::uint32_t i = 0; i < lp.count; ++i) visit(lp.executed()[i]);
    }
  }

  /// Frees the checkpoints and events that LPs without uncommitted events still keep.
  void trim(Mailbox& mailbox);
  /// After trim(), at a cut: removes the records of LPs that leave the worker, by leaves(id).
  template <class Leaves>
  void dismiss_records(Leaves&& leaves) {
    std::erase_if(recorded_lps_, [&](LpId id) {
      if (!leaves(id)) return false;
      dismiss_record(id, lps_[id]);
      return true;
    });
  }
  /// At the end of the run: waits for copies under way.
  void settle();

  // ---- Tuning, memory

  /// After a GVT round: adapts the checkpoint interval. `event_cycles`: mean cost of an event.
  void adjust(double event_cycles);
  /// After a GVT round: see checkpoint::ImageWriting.
  void choose_writing(std::size_t stream_from) { checkpointer_.writing().choose(stream_from); }
  void set_mild_from(std::size_t offset) { blocks_.set_mild_from(offset); }
  std::int64_t memory_bytes() const {
    return static_cast<std::int64_t>(blocks_.used_bytes() + checkpointer_.bytes());
  }
  const checkpoint::Checkpointer& checkpointer() const { return checkpointer_; }
  std::uint32_t checkpoint_interval() const { return interval_.events(); }

 private:
  static constexpr std::uint64_t kLongestAdjustingPeriod = 8192;  ///< events

  checkpoint::Checkpointer::Lp view_of(LpId id, LpState& lp) {
    return {id, *lp.object, lps_.heap(id), lp.kernel, lp.checkpoints, lps_.record(id)};
  }
  Begun begin_recorded(LpState& lp, TwEvent* event, Mailbox& mailbox);
  void append(LpState& lp, TwEvent* event) {
    lp.append(blocks_, event);
    if (lp.active) return;
    lp.active = 1;
    active_.push_back(event->receiver);
  }
  void adopt_if_large(LpId id, LpState& lp, std::size_t image_bytes);
  void leave_journal(LpState& lp);
  void dismiss_record(LpId id, LpState& lp);
  [[gnu::always_inline]] void take_checkpoint(LpId id, LpState& lp) {
    const std::uint32_t ordinal = lp.next_ordinal();
    if (lp.checkpoints != nullptr && lp.checkpoints->ordinal == ordinal) return;
    const bool measured = (++statistics_.checkpoints & 63) == 0 || lane_ != nullptr;
    const std::uint64_t start = measured ? read_cycles() : 0;
    try {
      lp.checkpoints = checkpoint::take(blocks_, lps_.heap(id), lp.kernel, ordinal, lp.checkpoints,
                                        checkpointer_.writing());
      if (!lp.one_chunk) adopt_if_large(id, lp, lp.checkpoints->image_bytes);
    } catch (const std::bad_alloc&) {
      forgo_checkpoint(lp);
    }
    if (measured) [[unlikely]]
      note_checkpoint(id, lp, start);
  }
  void note_checkpoint(LpId id, const LpState& lp, std::uint64_t start_cycles);
  void forgo_checkpoint(const LpState& lp);
  std::uint32_t restore_small(LpId id, LpState& lp, std::uint32_t remaining);
  std::uint32_t restore_recorded(LpId id, LpState& lp, std::uint32_t remaining);

  static std::uint32_t before(const LpState& lp, const Key& until, std::uint32_t from) {
    TwEvent* const* events = lp.executed();
    while (from < lp.count && events[from]->key() < until) ++from;
    return from;
  }
  /// False if nothing uncommitted is left of the LP.
  bool commit(LpId id, LpState& lp, const Key& until, Mailbox& mailbox) {
    if (lp.recorded) [[unlikely]]
      return commit_recorded(id, lp, until, mailbox);
    const std::uint32_t committed = before(lp, until, 0);
    TwEvent* const* events = lp.executed();
    if (committed == lp.count) {
      for (std::uint32_t i = 0; i < lp.count; ++i) mailbox.free(events[i]);
      lp.rest(blocks_);
      lp.active = 0;
      return false;
    }
    uncommitted_ += lp.count - committed;
    if (committed > 0) drop_committed(lp, committed, mailbox);
    return true;
  }
  void drop_committed(LpState& lp, std::uint32_t committed, Mailbox& mailbox);
  bool commit_recorded(LpId id, LpState& lp, const Key& until, Mailbox& mailbox);
  void prefetch_commit(std::size_t at);

  LpStates& lps_;
  FaultList& faults_;
  WorkerStatistics& statistics_;
  TraceLane* const lane_;  ///< null: the run is not traced
  memory::BlockPool blocks_;
  Journal journal_{blocks_};
  checkpoint::Checkpointer checkpointer_;
  const bool journaling_;  ///< the strategy is automatic, or copies before every event
  checkpoint::Interval interval_;
  std::vector<LpId> active_;
  std::vector<LpId> recorded_lps_;
  std::uint64_t uncommitted_ = 0;
  double checkpoint_cycles_ = 0;
  std::uint64_t adjusted_executed_ = 0, adjusted_rollbacks_ = 0;
  std::uint64_t adjusting_period_ = 64;  ///< events; short at first, since costs show soon
};

}  // namespace orrery::timewarp
