// SPDX-License-Identifier: Apache-2.0
//
// LPs that must not roll back (LpExecution in orrery/model.h), among others that do. When one of
// their events is the lowest of its worker it is not executed but *held*, in a heap, until nothing
// can undo it any more. Then it is executed without history and checkpoint, and what it sends is
// final. Held events count in the lowest key that the worker reports, so GVT comes to them.
//
// By the commit rule, for all of them. Let a round end with GVT g, and let B be the lowest key that
// any *other* worker has reported. What this worker may still receive is caused by what another one
// has not executed or has just sent, all of it at B or above, or by what this worker itself sends
// to others from the moment that it joined the round. So below
//   min(B, lowest key sent to others since joining)
// it is alone: if it has executed everything of its own below a held event, and nothing failed,
// then all events before it are executed, cannot be undone and have not failed. With one report
// only at g, that worker's bound is above g: its held event at g goes, so the run advances.
//
// Where all workers retreat, since memory is short, to the same horizon, they undo what lies behind
// it and below what they have reported: then the horizon is a bound, too.
//
// By lookahead, for confined LPs. No other LP sends to this one with a delay below L. What was not
// executed at the time of the reports is at g or above, and reaches the LP at g + L at the
// earliest; what was on its way then is known to the reports of whoever sent it. So below
//   min(g + L, lowest key on its way)
// nothing comes for the LP any more, and what has come for it was sent by committed events.
//
// An event that is held is not *claimed* (event_status.h), so cancelling one needs no notice: the
// mark is found later. If its cause is undone and executed again, its successor may have the same
// key and be held by another worker, for another LP: then two report the lowest key, and neither
// may go on. So the lowest that are held are looked at before each report. Marks are set before
// their setter reports, and seen by whoever has adopted that round, at the latest in the next one.
//
// Between its report of the next round and its end a worker executes nothing that is held: GVT of
// that round counts such an event as not executed. So what lies ahead of GVT when a round ends is
// known from its reports (`latest`), by lookahead only: a run comes to a cut, or ends when it is
// asked to, when GVT has passed that; meanwhile nothing more goes ahead. What a fault leaves behind
// itself is taken back from the fingerprints, and its rows are not shown.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/timewarp/gvt.h"
#include "engine/timewarp/mailbox.h"
#include "run/lp_executions.h"

namespace orrery::timewarp {

class HeldEvents {
 public:
  explicit HeldEvents(const LpExecutions& executions) : executions_(executions) {}

  // ---- Events that wait

  bool empty() const { return confined_.empty() && committed_.empty(); }
  void hold(TwEvent* event) {
    Heap& heap = executions_.of(event->receiver) == LpExecution::committed ? committed_ : confined_;
    heap.push_back(event);
    std::push_heap(heap.begin(), heap.end(), Later{});
  }
  Key lowest() const { return std::min(lowest_of(confined_), lowest_of(committed_)); }
  /// The next one that may be executed now, or nullptr. `below`: all own events below it are
  /// executed, and none of them failed.
  TwEvent* take(const Key& below, const Key& sent_lowest) {
    if (empty()) return nullptr;
    Heap& lower = lowest_of(committed_) < lowest_of(confined_) ? committed_ : confined_;
    const Key key = lower.front()->key();
    if (key < std::min({below, alone_below_, sent_lowest})) return pop(lower);
    if (confined_.empty() || lowest_of(confined_) >= below || !may_go_ahead(*confined_.front()))
      return nullptr;
    return pop(confined_);
  }
  /// At a cut: all are pending.
  template <class Pending>
  void put_back(Pending& pending) {
    for (Heap* heap : {&confined_, &committed_}) {
      for (TwEvent* event : *heap) pending.push(event);
      heap->clear();
    }
  }
  /// Before a report: the lowest one is no cancelled one.
  void drop_cancelled(Mailbox& mailbox) {
    for (Heap* heap : {&confined_, &committed_})
      while (!heap->empty() && Mailbox::is_cancelled(heap->front())) mailbox.free(pop(*heap));
  }
  /// As Sweep does with what is pending.
  void free_cancelled(Mailbox& mailbox) {
    for (Heap* heap : {&confined_, &committed_}) {
      std::erase_if(*heap, [&](TwEvent* event) { return mailbox.free_if_cancelled(event); });
      std::make_heap(heap->begin(), heap->end(), Later{});
    }
  }
  template <class Visit>
  void for_each_waiting(Visit&& visit) const {
    for (const Heap* heap : {&confined_, &committed_})
      for (TwEvent* event : *heap) visit(event);
  }

  // ---- Rounds

  /// What was sent since the last one was joined counts on.
  void join_round(const Key& sent_lowest) { alone_below_ = std::min(alone_below_, sent_lowest); }
  /// `lowest`: that the worker reports.
  void report(const Key& lowest) {
    reported_ = lowest;
    alone_below_ = on_its_way_ = Key();
  }
  /// `ahead`: whether events may go ahead of GVT by lookahead. `retreats_to`: what all workers have
  /// executed at or after it they undo now, though they have reported to be further; infinity if
  /// they do not.
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
    ++executed_;
  }
  std::uint64_t executed() const { return executed_; }
  /// The highest key of all of them.
  const Key& latest() const { return latest_; }
  /// Those that GVT has not passed.
  std::uint64_t uncommitted() const { return finals_.size(); }
  /// GVT has come to `until`: calls committing(final) for those below it, which are forgotten.
  template <class Committing>
  void commit(const Key& until, Committing&& committing) {
    std::erase_if(finals_, [&](const Final& one) {
      if (one.key >= until) return false;
      committing(one);
      return true;
    });
  }
  /// The run ends at `end`: calls undo(final) for those at or behind it, last first.
  template <class Undo>
  void take_back(const Key& end, Undo&& undo) {
    std::sort(finals_.begin(), finals_.end(),
              [](const Final& a, const Final& b) { return a.key > b.key; });
    for (const Final& one : finals_)
      if (one.key >= end) undo(one);
    finals_.clear();
  }

 private:
  using Heap = std::vector<TwEvent*>;
  struct Later {
    bool operator()(const TwEvent* a, const TwEvent* b) const { return a->key() > b->key(); }
  };
  static Key lowest_of(const Heap& heap) {
    return heap.empty() ? Key::infinity() : heap.front()->key();
  }
  static TwEvent* pop(Heap& heap) {
    std::pop_heap(heap.begin(), heap.end(), Later{});
    TwEvent* const event = heap.back();
    heap.pop_back();
    return event;
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
  std::uint64_t executed_ = 0;
};

}  // namespace orrery::timewarp
