// SPDX-License-Identifier: Apache-2.0
//
// Which events may start now. The schedule owns the pending event set and knows which events are
// unfinished and which LPs are busy; one thread at a time uses it.
//
// The rule. Let the barrier of an event be the lowest key that any event it causes can have (see
// barrier_of). A pending event f may start if
//   1. f is below the barrier of every unfinished event with a lower key, whether that event is in
//      progress or has not started, and
//   2. f is the lowest pending event of its LP, and no event of that LP is in progress (except one
//      that the same thread will have finished before it begins f).
// Why the rule suffices: any event that is executed later is unfinished now or is caused by an
// event that is. If its cause is above f, it is above f itself. If its cause is below f, it is at
// or above the cause's barrier, and so above f (rule 1). So the only events below f that f's LP may
// lack are those of rule 2. Unfinished events above f need no test: their barriers are above them.
//
// Rule 1 includes events that have not started. Otherwise, with a pending event e whose LP is busy,
// an event behind e could overtake events that e is about to send. Events are therefore taken from
// the pending set in the order of their keys, and an event whose LP is busy is *set aside* with its
// barrier raised. From then on only its LP holds it back: all events that come later are above all
// barriers that were raised when it was set aside. At most kMostAside events are set aside, which
// bounds the search. They stay in the order of their keys, all below the pending events.
//
// An LP that acts on the outside needs more: its event starts only when it is the lowest unfinished
// event. An event of an LP that must stay on its thread is for worker 0, which executes the events
// that are not handed over.
//
// Barriers are kept in a table, and the earliest one by value; the table is searched for the
// earliest only after the event of the old one has finished.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/assert.h"
#include "engine/expanded/event.h"
#include "pending/engine_set.h"
#include "pending/erase_if.h"
#include "run/execution/lp_executions.h"

namespace orrery::expanded {

class Schedule {
 public:
  static constexpr unsigned kAnyWorker = ~0u;
  static constexpr std::size_t kMostAside = 32;

  /// An event that was taken out.
  struct Choice {
    Event* event = nullptr;        ///< nullptr: nothing may start
    unsigned worker = kAnyWorker;  ///< must execute the event: its LP's earlier events wait there
  };
  /// An event in progress: handed to a worker, begun or not.
  struct Active {
    Key key = Key::infinity();
    Key barrier = Key::infinity();
    LpId lp = 0;
    std::uint32_t next_free = 0;
  };
  using Handle = std::uint32_t;

  Schedule(LpId lps, const LpExecutions& executions)
      : executions_(executions), restricts_(!executions.all_speculative()), lps_(lps) {
    aside_.reserve(kMostAside);
  }
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  /// Adds a list of events to the pending event set.
  void push(Event* list) {
    while (list != nullptr) {
      Event* next = list->next;  // the pending set may use the link
      pending_.push(list);
      list = next;
    }
  }

  /// The lowest pending event regardless of the rule, or nullptr. With `pop`, for a thread that
  /// executes events in place: no event is in progress and none is set aside.
  Event* top() { return pending_.top(); }
  void pop() {
    pending_.pop();
    if (const auto* next = pending_.upcoming(1)) __builtin_prefetch(next);
  }
  bool is_within_limit(const Event& event) const { return !limited_ || event.key() <= limit_; }

  /// Call before a series of calls of `next` without a call of `finish` in between.
  void begin_round() {
    scan_ = 0;
    if (earliest_is_stale_) find_earliest();
  }
  /// The next event that may start, lowest key first. `room(worker)`: whether that worker can take
  /// an event behind earlier ones of the same LP.
  template <class Room>
  Choice next(Room&& room) {
    for (; scan_ < aside_.size(); ++scan_) {
      if (aside_[scan_].event->key() > limit_) return {};
      if (!may_run(aside_[scan_], room)) continue;
      const Choice choice = aside_[scan_];
      aside_.erase(aside_.begin() + static_cast<std::ptrdiff_t>(scan_));
      return choice;
    }
    while (aside_.size() < kMostAside) {
      Choice choice{lowest_below_barriers()};
      if (choice.event == nullptr) return {};
      pending_.pop();
      if (may_run(choice, room)) return choice;
      set_aside(choice);
      scan_ = aside_.size();
    }
    return {};
  }
  /// The worker that executed the last event of an LP.
  unsigned home(LpId lp) const { return lps_[lp].worker; }

  Handle start(const Choice& choice, unsigned worker) {
    const Event& event = *choice.event;
    ORRERY_ASSERT(event.key() <= limit_, "nothing is started behind the limit");
    LpUse& lp = lps_[event.receiver];
    ++lp.active;
    lp.worker = static_cast<std::uint16_t>(worker);
    const Handle handle = free_handle();
    Active& active = actives_[handle];
    active.key = event.key();
    active.lp = event.receiver;
    active.barrier = barrier_of(event);
    earliest_ = std::min(earliest_, active.barrier);
    highest_ = std::max(highest_, active.key);
    ++active_count_;
    return handle;
  }
  const Active& active(Handle handle) const { return actives_[handle]; }
  void finish(Handle handle) {
    Active& active = actives_[handle];
    ORRERY_ASSERT(active.key != Key::infinity(), "an event in progress finishes once");
    ORRERY_ASSERT(lps_[active.lp].active > 0 && active_count_ > 0, "counts of events add up");
    --lps_[active.lp].active;
    --active_count_;
    if (active.barrier == earliest_) earliest_is_stale_ = true;
    active = Active{};
    active.next_free = first_free_;
    first_free_ = handle + 1;
  }

  /// Number of pending events, without those in progress or set aside.
  std::size_t pending() const { return pending_.size(); }
  std::size_t in_progress() const { return active_count_; }
  /// Only events at or before the limit may still start.
  const Key& limit() const { return limit_; }
  void lower_limit(const Key& limit) {
    limit_ = std::min(limit_, limit);
    limited_ = true;
  }
  /// The highest key that was started by start().
  const Key& highest() const { return highest_; }

  /// No unfinished event has a key below the returned one.
  Key lowest_unfinished() {
    Key lowest = Key::infinity();
    if (const Event* event = pending_.top()) lowest = event->key();
    if (!aside_.empty()) lowest = std::min(lowest, aside_.front().event->key());
    for (const Active& active : actives_) lowest = std::min(lowest, active.key);
    return lowest;
  }

  /// Removes all pending events, calling visit(event). No event may be in progress.
  template <class Visit>
  void take_all(Visit&& visit) {
    settle();
    pending_.drain(visit);
  }
  /// Removes the pending events for which gone(event) is true; gone() may free them. No event may
  /// be in progress.
  template <class Gone>
  void erase_if(Gone&& gone) {
    settle();
    std::vector<Event*> scratch;
    pending::erase_if(pending_, scratch, gone);
  }
  /// Makes events that were set aside pending again. No event may be in progress.
  void settle() {
    for (const Choice& choice : aside_) pending_.push(choice.event);
    aside_.clear();
    earliest_is_stale_ = true;
  }

  std::size_t bytes() const {
    return pending_.bytes() + actives_.capacity() * sizeof(Active) +
           lps_.capacity() * sizeof(LpUse);
  }

 private:
  struct LpUse {
    std::uint16_t active = 0;
    std::uint16_t worker = 0;
  };

  template <class Room>
  bool may_run(Choice& choice, Room&& room) {
    if (restricts_) [[unlikely]] {
      if (must_wait(*choice.event)) return false;
      if (executions_.stays_on_thread(choice.event->receiver)) {
        choice.worker = 0;
        return room(0u);
      }
    }
    const LpUse lp = lps_[choice.event->receiver];
    if (lp.active == 0) [[likely]] {
      choice.worker = kAnyWorker;
      return true;
    }
    choice.worker = lp.worker;
    return room(unsigned{lp.worker});
  }

  /// Whether the event's LP acts on the outside, and an event before this one may still fail.
  bool must_wait(const Event& event) const {
    if (executions_.of(event.receiver) != LpExecution::committed) return false;
    if (!aside_.empty() && aside_.front().event->key() < event.key()) return true;
    return std::any_of(actives_.begin(), actives_.end(),
                       [&](const Active& active) { return active.key < event.key(); });
  }

  Event* lowest_below_barriers() {
    Event* const event = pending_.top();
    const bool may_start = event != nullptr && event->key() < earliest_ && event->key() <= limit_;
    return may_start ? event : nullptr;
  }
  void set_aside(const Choice& choice) {
    earliest_ = std::min(earliest_, barrier_of(*choice.event));
    aside_.push_back(choice);
  }
  void find_earliest() {
    earliest_ = Key::infinity();
    earliest_is_stale_ = false;
    for (const Active& active : actives_) earliest_ = std::min(earliest_, active.barrier);
    for (const Choice& choice : aside_) earliest_ = std::min(earliest_, barrier_of(*choice.event));
  }

  Handle free_handle() {
    if (first_free_ == 0) {
      actives_.emplace_back();
      return static_cast<Handle>(actives_.size() - 1);
    }
    const Handle handle = first_free_ - 1;
    first_free_ = actives_[handle].next_free;
    return handle;
  }

  const LpExecutions& executions_;
  const bool restricts_;  ///< some LPs are not speculative
  pending::EngineSet<Event> pending_;
  std::vector<LpUse> lps_;
  std::vector<Choice> aside_;
  std::size_t scan_ = 0;
  std::vector<Active> actives_;
  Handle first_free_ = 0;  ///< plus one; 0: none
  std::size_t active_count_ = 0;
  Key earliest_ = Key::infinity();  ///< lowest barrier of events in progress or set aside
  bool earliest_is_stale_ = false;
  Key limit_ = Key::infinity();
  bool limited_ = false;
  Key highest_;
};

}  // namespace orrery::expanded
