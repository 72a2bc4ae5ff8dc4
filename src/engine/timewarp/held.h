// SPDX-License-Identifier: Apache-2.0
//
// LPs that must not roll back (LpExecution in orrery/model.h), in a model where other LPs do. When
// an event of such an LP is the lowest of its worker, the worker does not execute it but *holds* it
// in a heap until nothing can undo it. Then the worker executes the event without history
// and checkpoint, and its sends are final. Held events count in the lowest key that the worker
// reports, so GVT does not pass them.
//
// The commit rule, for all these LPs. Let a round end with GVT g, and let B be the lowest key that
// any *other* worker has reported. A message that this worker may still receive is caused either by
// an event that another worker has not executed or has just sent, all at B or above, or by an event
// that this worker itself has sent to others since it joined the round. So below
//   min(B, lowest key sent to others since joining)
// this worker receives nothing more: if it has executed all its own events below a held event, and
// none failed, then all events before the held event are executed, cannot be undone and have not
// failed. If only one worker reports g, its bound is above g: its held event at g is executed, so
// the run advances.
//
// Where all workers retreat to the same horizon, since memory is short, they undo events at or
// after the horizon that are below what they have reported: then the horizon is a bound, too.
//
// The lookahead rule, for confined LPs. No other LP sends to this LP with a delay below L. Events
// that were not executed at the time of the reports are at g or above, so their sends reach the LP
// at g + L at the earliest; messages in transit at that time are in their senders' reports. So
// below
//   min(g + L, lowest key in transit)
// no message for the LP arrives any more, and those that have arrived were sent by committed
// events.
//
// A held event is not *claimed* (event_status.h), so cancelling it needs no notice: its worker
// finds the mark later. If its cause is undone and executed again, the new event may have the same
// key and be held by another worker, for another LP: then two workers report the lowest key, and
// neither may go on. So each worker checks its lowest held events for marks before each report.
// Marks are set before their setter reports, and seen by any worker that has adopted that round, at
// the latest in the next round.
//
// Between its report of a round and the end of that round a worker executes no held event: GVT of
// that round counts such an event as not executed. So the highest event executed ahead of GVT,
// which only the lookahead rule permits, is known from the reports (`latest`). A run comes to a
// cut, or ends when it is asked to, when GVT has passed that event; meanwhile no more events are
// executed ahead. If the run ends at a fault, the events behind it are taken back from the
// fingerprints, and their rows are not shown.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/timewarp/gvt.h"
#include "engine/timewarp/mailbox.h"
#include "pending/dary_heap.h"
#include "pending/erase_if.h"
#include "run/execution/lp_executions.h"

namespace orrery::timewarp {

class HeldEvents {
 public:
  explicit HeldEvents(const LpExecutions& executions) : executions_(executions) {}

  // ---- Events that wait

  bool empty() const { return confined_.empty() && committed_.empty(); }
  void hold(TwEvent* event) {
    Heap& heap = executions_.of(event->receiver) == LpExecution::committed ? committed_ : confined_;
    heap.push(event);
  }
  Key lowest() const { return std::min(lowest_of(confined_), lowest_of(committed_)); }
  /// The next event that may be executed now, or nullptr. `below`: all own events below this key
  /// are executed, and none of them failed.
  TwEvent* take(const Key& below, const Key& sent_lowest) {
    if (empty()) return nullptr;
    Heap& lower = lowest_of(committed_) < lowest_of(confined_) ? committed_ : confined_;
    if (lowest_of(lower) < std::min({below, alone_below_, sent_lowest})) return lower.pop();
    if (confined_.empty() || lowest_of(confined_) >= below || !may_go_ahead(*confined_.top()))
      return nullptr;
    return confined_.pop();
  }
  /// At a cut: moves all held events to the pending event set.
  void put_back(Pending& pending) {
    for (Heap* heap : {&confined_, &committed_})
      heap->drain([&](TwEvent* event) { pending.push(event); });
  }
  /// Called before a report: frees cancelled events, so that the lowest held events are not
  /// cancelled.
  void drop_cancelled(Mailbox& mailbox) {
    for (Heap* heap : {&confined_, &committed_})
      while (!heap->empty() && Mailbox::is_cancelled(heap->top())) mailbox.free(heap->pop());
  }
  /// Frees all cancelled events, as Sweep does with pending ones.
  void free_cancelled(Mailbox& mailbox) {
    std::vector<TwEvent*> scratch;
    for (Heap* heap : {&confined_, &committed_})
      pending::erase_if(*heap, scratch,
                        [&](TwEvent* event) { return mailbox.free_if_cancelled(event); });
  }
  template <class Visit>
  void for_each_waiting(Visit&& visit) const {
    for (const Heap* heap : {&confined_, &committed_})
      for (std::size_t i = 0; i < heap->size(); ++i) visit(heap->upcoming(i));
  }

  // ---- Rounds

  /// `sent_lowest`: lowest key sent to others since the last round was joined; it stays a bound.
  void join_round(const Key& sent_lowest) { alone_below_ = std::min(alone_below_, sent_lowest); }
  /// `lowest`: the lowest key that the worker reports.
  void report(const Key& lowest) {
    reported_ = lowest;
    alone_below_ = on_its_way_ = Key();
  }
  /// `ahead`: whether the lookahead rule applies. `retreats_to`: all workers now undo the events
  /// that they have executed at or after this key, though they have reported higher keys; infinity
  /// if they do not.
  void adopt(const GvtReport& sum, bool ahead, const Key& retreats_to) {
    alone_below_ = std::min(sum.of_the_others(reported_), retreats_to);
    on_its_way_ = ahead ? sum.on_its_way : Key();
    gvt_ticks_ = sum.lowest.time().ticks();
  }

  // ---- Events that were executed

  struct Final {
    Key key;
    LpId lp;
    std::uint64_t hash_before;
  };
  void note_executed(const Final& one) {
    finals_.push_back(one);
    latest_ = std::max(latest_, one.key);
  }
  /// The highest key of all held events that were executed.
  const Key& latest() const { return latest_; }
  /// How many of them GVT has not passed.
  std::uint64_t uncommitted() const { return finals_.size(); }
  /// GVT has come to `until`: calls committing(final) for executed events below `until`, and
  /// forgets them.
  template <class Committing>
  void commit(const Key& until, Committing&& committing) {
    std::erase_if(finals_, [&](const Final& one) {
      if (one.key >= until) return false;
      committing(one);
      return true;
    });
  }
  /// The run ends at `end`: calls undo(final) for executed events at or after `end`, last first.
  template <class Undo>
  void take_back(const Key& end, Undo&& undo) {
    std::sort(finals_.begin(), finals_.end(),
              [](const Final& a, const Final& b) { return a.key > b.key; });
    for (const Final& one : finals_)
      if (one.key >= end) undo(one);
    finals_.clear();
  }

 private:
  using Heap = pending::DaryHeap<TwEvent>;
  static Key lowest_of(const Heap& heap) {
    return heap.empty() ? Key::infinity() : heap.top()->key();
  }
  bool may_go_ahead(const TwEvent& event) const {
    const std::int64_t lookahead = executions_.lookahead_into(event.receiver).ticks();
    return event.key() < on_its_way_ && event.time().ticks() - gvt_ticks_ < lookahead;
  }

  const LpExecutions& executions_;
  Heap confined_, committed_;
  Key alone_below_, on_its_way_;  ///< Key(): nothing may be executed
  Key reported_;
  std::int64_t gvt_ticks_ = 0;
  std::vector<Final> finals_;
  Key latest_;
};

}  // namespace orrery::timewarp
