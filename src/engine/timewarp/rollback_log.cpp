// SPDX-License-Identifier: Apache-2.0
#include "engine/timewarp/rollback_log.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "run/containment/activity.h"
#include "run/containment/guarded_call.h"

namespace orrery::timewarp {

RollbackLog::RollbackLog(LpStates& lps, memory::Arena& arena, const checkpoint::Strategy& strategy,
                         const checkpoint::Offload& offload, checkpoint::CopyQueue* copies,
                         std::shared_ptr<checkpoint::PageTracker> tracker, FaultList& faults,
                         WorkerStatistics& statistics, TraceLane* lane)
    : lps_(lps),
      faults_(faults),
      statistics_(statistics),
      lane_(lane),
      checkpointer_(blocks_, strategy, offload, copies, std::move(tracker)),
      journaling_(strategy.automatic() || strategy.name == checkpoint::Strategy::Name::copy),
      interval_(strategy.interval()) {
  blocks_.use_arena(arena);
}

RollbackLog::~RollbackLog() {
  for (const LpId id : active_)
    if (lps_[id].active && !lps_[id].recorded) lps_[id].rest(blocks_);
  for (const LpId id : recorded_lps_) {
    checkpointer_.release_all(view_of(id, lps_[id]));
    lps_[id].forget_history(blocks_);
    lps_.detach(id);
  }
}

void RollbackLog::adopt(LpId id, LpState& lp) {
  adopt_if_large(id, lp, lps_.heap(id).image_bytes());
  if (lp.recorded || !lp.one_chunk || !journaling_) return;
  const std::size_t bytes = memory::chunk_bytes_of(lp.object);
  if (bytes <= Journal::kMostImageBytes) lp.enter_journal(bytes);
}

/// Called when an LP has allocated something: moves its past into a history of its own.
void RollbackLog::leave_journal(LpState& lp) {
  const std::size_t bytes = lp.image_bytes();
  const std::uint64_t newest = lp.newest_entry();
  lp.leave_journal();
  journal_.take_all(newest, [&](const Journal::Entry& entry) {
    lp.checkpoints = checkpoint::take_single(blocks_, entry.image, bytes, entry.kernel,
                                             lp.next_ordinal(), lp.checkpoints);
    append(lp, entry.event);
  });
}

/// Gives an LP a record of its own, from its next event on, if the strategy wants one for it.
void RollbackLog::adopt_if_large(LpId id, LpState& lp, std::size_t image_bytes) {
  std::unique_ptr<checkpoint::CheckpointRecord> record =
      checkpointer_.adopt(*lp.object, image_bytes);
  if (record == nullptr) return;
  record->committed = lp.base;
  lps_.attach(id, std::move(record));
  lp.recorded = 1;
  recorded_lps_.push_back(id);
}

void RollbackLog::dismiss_record(LpId id, LpState& lp) {
  ORRERY_ASSERT(lp.count == 0 && !lp.active, "only an LP without a past leaves");
  checkpointer_.dismiss(view_of(id, lp));
  lps_.detach(id);
  lp.recorded = 0;
}

RollbackLog::Begun RollbackLog::begin_recorded(LpState& lp, TwEvent* event, Mailbox& mailbox) {
  const checkpoint::Checkpointer::Lp view = view_of(event->receiver, lp);
  if (view.record.copying != nullptr) mailbox.flush();  // messages go before copies
  TraceSpan span(lane_, TraceKind::checkpoint, event->time().ticks(), event->receiver);
  bool reversing = false;
  try {
    reversing = checkpointer_.before_event(view, lp.next_ordinal());
  } catch (const std::bad_alloc&) {
    trim(mailbox);  // the LP has no checkpoint and needs one: free what other LPs can do without
    reversing = checkpointer_.before_event(view, lp.next_ordinal());
  }
  append(lp, event);
  return reversing ? Begun::reversible : Begun::recorded;
}

void RollbackLog::note_checkpoint(LpId id, const LpState& lp, std::uint64_t start_cycles) {
  const std::uint64_t end = read_cycles();
  const auto cost = static_cast<double>(end - start_cycles);
  checkpoint_cycles_ = checkpoint_cycles_ == 0 ? cost : 0.9 * checkpoint_cycles_ + 0.1 * cost;
  if (lane_ == nullptr || lp.checkpoints == nullptr) return;
  TraceRecord record{start_cycles, end};
  record.kind = TraceKind::checkpoint;
  record.lp = id;
  record.count = lp.checkpoints->image_bytes;
  lane_->add(record);
}

/// Called within a catch of std::bad_alloc: an LP that has a checkpoint goes on without a newer
/// one; otherwise the exception is thrown again.
void RollbackLog::forgo_checkpoint(const LpState& lp) {
  if (lp.checkpoints == nullptr) throw;
  checkpointer_.count_refusal();
  blocks_.trim();
}

// ---- Rolling back

std::uint32_t RollbackLog::restore_small(LpId id, LpState& lp, std::uint32_t remaining) {
  const auto offset = [&lp](const checkpoint::Checkpoint* c) { return c->ordinal - lp.base; };
  while (offset(lp.checkpoints) > remaining) {
    checkpoint::Checkpoint* newer = lp.checkpoints;
    lp.checkpoints = newer->older;
    checkpoint::release(blocks_, newer);
  }
  lps_.heap(id).restore(lp.checkpoints->image());
  lp.kernel = lp.checkpoints->kernel;
  lp.truncate(remaining);
  return offset(lp.checkpoints);
}

std::uint32_t RollbackLog::restore_recorded(LpId id, LpState& lp, std::uint32_t remaining) {
  const checkpoint::Checkpointer::Lp view = view_of(id, lp);
  const std::uint32_t target = lp.base + remaining;
  TwEvent* undoing = nullptr;
  std::uint32_t reached = target;
  const auto event_at = [&](std::uint32_t ordinal) {
    heap_misuse().raise();  // by the reverse handler before
    undoing = lp.executed()[ordinal - lp.base];
    return checkpoint::Checkpointer::Event{undoing->time(), undoing->type, undoing->payload(),
                                           model_bytes_of(*undoing)};
  };
  heap_misuse().seen = false;
  bool failed = false;
  const ModelCall call("a reverse handler", id);
  try {
    reached = checkpointer_.restore(view, lp.next_ordinal(), target, event_at);
    heap_misuse().raise();
  } catch (...) {
    faults_.note(undoing, lp, false, " (in its reverse handler, which must not fail)");
    view.record.half_changed = failed = true;
    memory::enter_application_mode(view.heap);  // the exception lies in that heap, is freed now
  }
  memory::leave_application_mode();
  // The run ends at that event, unless a rollback further back comes first. Events before it must
  // have the right state: coasting forward from the image below the event restores that state.
  if (failed) reached = checkpointer_.restore(view, lp.next_ordinal(), target, event_at);
  lp.truncate(remaining);
  return reached - lp.base;
}

// ---- Committing

void RollbackLog::note_steps(const Key& until) {
  for_each_event([&](const TwEvent* event) {
    if (event->key() < until) faults_.trail.note(event->key(), event->receiver);
  });
}

/// Rollbacks from now on go no further back than `committed`, so they need only the newest
/// checkpoint that is not after that, and the events from this checkpoint on. Frees the others.
void RollbackLog::drop_committed(LpState& lp, std::uint32_t committed, Mailbox& mailbox) {
  checkpoint::Checkpoint* base = lp.checkpoints;
  ORRERY_ASSERT(base != nullptr, "a history has a checkpoint beneath it");
  while (base->ordinal - lp.base > committed) base = base->older;
  checkpoint::release_all(blocks_, base->older);
  base->older = nullptr;
  const std::uint32_t dropped = base->ordinal - lp.base;
  for (std::uint32_t i = 0; i < dropped; ++i) mailbox.free(lp.executed()[i]);
  lp.drop_front(dropped);
}

/// Unlike a small LP, the LP keeps its newest checkpoint and the events since when all is
/// committed.
bool RollbackLog::commit_recorded(LpId id, LpState& lp, const Key& until, Mailbox& mailbox) {
  const checkpoint::Checkpointer::Lp view = view_of(id, lp);
  const std::uint32_t committed = before(lp, until, view.record.committed - lp.base);
  const std::uint32_t left = lp.count - committed;
  uncommitted_ += left;
  lp.active = left > 0;
  if (lp.base + committed == view.record.committed) return lp.active;
  view.record.committed = lp.base + committed;
  const std::uint32_t dropped = checkpointer_.commit(view, view.record.committed) - lp.base;
  for (std::uint32_t i = 0; i < dropped; ++i) mailbox.free(lp.executed()[i]);
  lp.drop_front(dropped);
  return lp.active;
}

/// For the walk over the LPs with a history, at position `at`: prefetches the state, the checkpoint
/// and the first event of later LPs.
void RollbackLog::prefetch_commit(std::size_t at) {
  if (at + 12 < active_.size()) __builtin_prefetch(&lps_[active_[at + 12]], 1);
  if (at + 8 >= active_.size()) return;
  const LpState& lp = lps_[active_[at + 8]];
  __builtin_prefetch(lp.checkpoints, 1);
  if (lp.count > 0) __builtin_prefetch(lp.executed()[0], 1);
}

void RollbackLog::trim(Mailbox& mailbox) {
  for (const LpId id : recorded_lps_) {
    LpState& lp = lps_[id];
    if (lp.active) continue;
    const checkpoint::Checkpointer::Lp view = view_of(id, lp);
    checkpointer_.release_all(view);
    for (std::uint32_t i = 0; i < lp.count; ++i) mailbox.free(lp.executed()[i]);
    lp.forget_history(blocks_);
    view.record.committed = lp.base;
  }
  journal_.trim();
  blocks_.trim();
}

void RollbackLog::settle() {
  for (const LpId id : recorded_lps_) checkpointer_.settle(view_of(id, lps_[id]));
}

void RollbackLog::adjust(double event_cycles) {
  const std::uint64_t executed = statistics_.executed - adjusted_executed_;
  if (executed > adjusting_period_) {
    interval_.adjust(static_cast<double>(executed),
                     static_cast<double>(statistics_.rollbacks - adjusted_rollbacks_),
                     checkpoint_cycles_, event_cycles);
    adjusted_executed_ = statistics_.executed;
    adjusted_rollbacks_ = statistics_.rollbacks;
    adjusting_period_ = std::min(2 * adjusting_period_, kLongestAdjustingPeriod);
  }
  checkpointer_.note(statistics_.executed, read_cycles());
}

}  // namespace orrery::timewarp
