// SPDX-License-Identifier: Apache-2.0
//
// Worker: undoing what was executed too early. Included by worker.h only.
//
// An undone event goes back to the pending set, and what it sent is cancelled. A cancelled event
// that was executed by an LP of this worker rolls that LP back in turn; such cascades are a list to
// be worked off, not a recursion, so their depth is bounded by memory instead of the stack.
#pragma once

namespace orrery::timewarp {

/// Undoes the events of LP `id` at or after `to`, and all that came of them on this worker. Called
/// with no handler running.
template <class Pending>
void Worker<Pending>::roll_back(LpId id, const Key& to) {
  roll_back_one(id, to);
  while (!to_cancel_.empty()) {
    TwEvent* event = to_cancel_.back();
    to_cancel_.pop_back();
    // A rollback for another reason may have undone it meanwhile.
    if ((event->status.load(std::memory_order_relaxed) & TwEvent::kProcessed) != 0)
      roll_back_one(event->receiver, event->key());
    free_event(event);
  }
}

template <class Pending>
void Worker<Pending>::roll_back_one(LpId id, const Key& to) {
  LpState& lp = lps_[id];
  std::uint32_t kept = lp.count;
  TwEvent* const* history = lp.history();
  while (kept > 0 && history[kept - 1]->key() >= to) --kept;
  if (kept == lp.count) return;
  ++statistics_.rollbacks;
  statistics_.rolled_back += lp.count - kept;
  if (!ending_run_) [[likely]] {
    if (lp.faulted) [[unlikely]]
      clear_fault(id);
    for (std::uint32_t i = lp.count; i-- > kept;) undo(history[i]);
  }
  if (has_rows_) speculative_rows_.roll_back(id, history[kept]->key());
  restore(id, lp, kept);
}

template <class Pending>
void Worker<Pending>::undo(TwEvent* event) {
  cancel_sent(event);
  std::uint32_t before;
  if (event->remote != 0) {
    before = event->status.fetch_and(~TwEvent::kProcessed, std::memory_order_acq_rel);
    // Cancelled after it was claimed: its sender's notice is on its way and ends it.
    if ((before & TwEvent::kCancelled) != 0) return;
  } else {
    before = event->status.load(std::memory_order_relaxed);
    event->status.store(before & ~TwEvent::kProcessed, std::memory_order_relaxed);
    if ((before & TwEvent::kCancelled) != 0) return;  // roll_back frees it
  }
  pending_.push(event);
}

template <class Pending>
void Worker<Pending>::cancel_sent(TwEvent* event) {
  TwEvent* sent = event->first_sent;
  event->first_sent = nullptr;
  while (sent != nullptr) {
    // Read first: once it is marked, its receiver may free it.
    TwEvent* next = sent->sent_next;
    cancel(sent);
    sent = next;
  }
}

template <class Pending>
void Worker<Pending>::cancel(TwEvent* event) {
  ++statistics_.cancellations;
  if (event->remote == 0) {
    const std::uint32_t before = event->status.load(std::memory_order_relaxed);
    event->status.store(before | TwEvent::kCancelled, std::memory_order_relaxed);
    // Pending: freed when it is popped. Executed: its LP must be rolled back.
    if ((before & TwEvent::kProcessed) != 0) to_cancel_.push_back(event);
    return;
  }
  const Key key = event->key();
  const unsigned owner = shared_.owners[event->receiver];
  const std::uint32_t before =
      event->status.fetch_or(TwEvent::kCancelled, std::memory_order_acq_rel);
  if ((before & TwEvent::kProcessed) == 0) return;
  ++statistics_.notices;
  if (key < sent_lowest_) sent_lowest_ = key;
  shared_.channel(index_, owner).push(Message::cancellation(event));
}

/// Brings the LP to its state after the first `kept` events of its history.
template <class Pending>
void Worker<Pending>::restore(LpId id, LpState& lp, std::uint32_t kept) {
  if (lp.kept) [[unlikely]]
    return restore_kept(id, lp, kept);
  const auto offset = [&lp](const checkpoint::Checkpoint* c) { return c->ordinal - lp.base; };
  while (offset(lp.checkpoints) > kept) {
    checkpoint::Checkpoint* newer = lp.checkpoints;
    lp.checkpoints = newer->older;
    checkpoint::release(blocks_, newer);
  }
  if (lp.one_chunk) {
    memory::LpHeap::restore_single(lp.object, memory::chunk_bytes_of(lp.object),
                                   lp.checkpoints->image());
  } else {
    lps_.heap(id).restore(lp.checkpoints->image());
  }
  lp.kernel = lp.checkpoints->kernel;
  lp.truncate(kept);
  coast(lp, offset(lp.checkpoints), kept);
}

template <class Pending>
void Worker<Pending>::restore_kept(LpId id, LpState& lp, std::uint32_t kept_events) {
  const std::uint64_t start = read_cycles();
  const checkpoint::Keeper::Lp view = kept(id, lp);
  const std::uint32_t target = lp.base + kept_events;
  TwEvent* undoing = nullptr;
  std::uint32_t reached = target;
  const auto event_at = [&](std::uint32_t ordinal) {
    if (heap_misuse().seen) throw ModelFault(heap_misuse().sentence());  // by the one before
    undoing = lp.history()[ordinal - lp.base];
    return checkpoint::Keeper::Event{undoing->time(), undoing->type, undoing->payload()};
  };
  heap_misuse().seen = false;
  bool failed = false;
  try {
    reached = keeper_.restore(view, lp.next_ordinal(), target, event_at);
    if (heap_misuse().seen) throw ModelFault(heap_misuse().sentence());
  } catch (...) {
    note_fault(undoing, " (in its reverse handler, which must not fail)");
    view.kept.half_changed = failed = true;
    memory::enter_application_mode(view.heap);  // the exception lies there and is freed now
  }
  memory::leave_application_mode();
  // The run ends at that event, unless a rollback further back comes first. What the LP executes
  // before it has the state that it ought to have: the image beneath leads there.
  if (failed) reached = keeper_.restore(view, lp.next_ordinal(), target, event_at);
  lp.truncate(kept_events);
  coast(lp, reached - lp.base, kept_events);
  keeper_.add_rollback(view, read_cycles() - start);
}

/// Executes events of the history again, without effects outside the LP.
template <class Pending>
void Worker<Pending>::coast(LpState& lp, std::uint32_t from, std::uint32_t to) {
  coasting_ = true;
  for (std::uint32_t i = from; i < to; ++i) {
    ++statistics_.coasted;
    if (!run_handler(lp, lp.history()[i])) break;  // the run will end there
  }
  coasting_ = false;
}

/// A message from another worker.
template <class Pending>
void Worker<Pending>::receive(Message message) {
  TwEvent* event = message.event();
  if (!message.is_cancellation()) {
    pending_.push(event);
    return;
  }
  const bool executed = (event->status.load(std::memory_order_acquire) & TwEvent::kProcessed) != 0;
  if (executed) roll_back(event->receiver, event->key());
  free_event(event);
}

template <class Pending>
typename Worker<Pending>::Fault* Worker<Pending>::fault_of(LpId lp) {
  if (!lps_[lp].faulted) return nullptr;
  for (Fault& fault : faults_)
    if (fault.lp == lp) return &fault;
  return nullptr;
}

/// A rollback undoes the event that failed: what waited behind it may go on.
template <class Pending>
void Worker<Pending>::clear_fault(LpId lp) {
  lps_[lp].faulted = 0;
  for (std::size_t i = 0; i < faults_.size();) {
    if (faults_[i].lp != lp) {
      ++i;
      continue;
    }
    for (TwEvent* event : faults_[i].waiting) pending_.push(event);
    faults_.erase(faults_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

template <class Pending>
const std::string* Worker<Pending>::fault_at(const Key& key) const {
  for (const Fault& fault : faults_)
    if (fault.key == key) return &fault.sentence;
  return nullptr;
}

}  // namespace orrery::timewarp
