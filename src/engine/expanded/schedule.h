// SPDX-License-Identifier: Apache-2.0
//
// What may start now. The schedule owns the pending event set and knows which events are unfinished
// and which LPs are busy; one thread at a time uses it.
//
// The rule. Let the barrier of an event be the lowest key that anything it causes can have (see
// barrier_of). A pending event f may start if
//   1. f is below the barrier of every unfinished event with a lower key, whether that one is in
//      progress or has not started either, and
//   2. f is the lowest pending event of its LP, and no event of that LP is in progress (or one is
//      that the same thread will have finished before it begins f).
// Why it is enough: whatever is executed later is an unfinished event of today or comes of one. If
// it comes of an event above f it is above f itself. If it comes of one below f, it is at or above
// that one's barrier, and so above f (rule 1). So at f's LP nothing below f is missing but what
// rule 2 speaks of. Unfinished events above f need no test: their barriers are above them.
//
// Rule 1 counts events that have not started: with those in progress alone an event behind a
// pending one whose LP is busy could overtake what that one is about to send. Events are therefore
// taken from the pending set in the order of their keys, and one whose LP is busy is *set aside*
// with its barrier raised. From then on only its LP holds it back: everything that comes later is
// above all barriers that were raised when it was set aside. At most kMostAside are kept, which
// bounds the search. They stay in the order of their keys, all below what is pending.
//
// An LP that acts on the outside asks for more: its event starts when it is the lowest unfinished
// one. One that must stay on its thread is for worker 0, which executes what is not handed over.
//
// Barriers are kept in a table, the earliest by value; it is looked for again only after the event
// that it belonged to has finished. For comparison they can be events themselves (end marks in the
// pending set), as in the first version of Horizon.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/assert.h"
#include "engine/expanded/event.h"
#include "pending/erase_if.h"
#include "run/lp_executions.h"

namespace orrery::expanded {

template <class Pending>
class Schedule {
 public:
  static constexpr unsigned kAnyWorker = ~0u;
  static constexpr std::size_t kMostAside = 32;

  /// An event that was taken out.
  struct Choice {
    Event* event = nullptr;  ///< nullptr: nothing may start
    Event* mark = nullptr;
    unsigned worker = kAnyWorker;  ///< that must execute it: its LP's earlier events wait there
  };
  /// An event in progress: handed to a worker, begun or not.
  struct Active {
    Key key = Key::infinity();
    Key barrier = Key::infinity();
    LpId lp = 0;
    std::uint32_t next_free = 0;
    Event* mark = nullptr;
  };
  using Handle = std::uint32_t;

  Schedule(LpId lps, const LpExecutions& executions, bool barriers_as_events)
      : executions_(executions),
        restricts_(!executions.all_speculative()),
        lps_(lps),
        marks_wanted_(barriers_as_events) {
    aside_.reserve(kMostAside);
  }
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  /// A list of events.
  void push(Event* list) {
    while (list != nullptr) {
      Event* next = list->next;  // whoever takes the event may use the link
      pending_.push(list);
      list = next;
    }
  }

  /// The lowest pending event, taken out regardless of the rule: for a thread that executes it
  /// before anything else, while nothing is in progress and nothing set aside.
  Event* pop_lowest() {
    Event* event = pending_.top();
    if (event == nullptr || (limited_ && event->key() > limit_)) [[unlikely]]
      return nullptr;
    pending_.pop();
    if (event->type == kMarkType) [[unlikely]] {
      free_mark(event);
      return pop_lowest();
    }
    if (const auto* next = pending_.upcoming(1)) __builtin_prefetch(next);
    return event;
  }

  /// Before a series of `next` without any `finish` in between.
  void begin_round() {
    scan_ = 0;
    if (earliest_is_stale_) find_earliest();
  }
  /// The next event that may start, lowest key first. `room(worker)`: whether an event may follow
  /// others of its LP to that worker.
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
      Choice choice{lowest_below_barriers(), nullptr, kAnyWorker};
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
    active.mark = choice.mark;
    raise(active.barrier, active.mark);
    highest_ = std::max(highest_, active.key);
    ++active_count_;
    return handle;
  }
  /// Another worker executes it.
  void move(Handle handle, unsigned worker) {
    lps_[actives_[handle].lp].worker = static_cast<std::uint16_t>(worker);
  }
  const Active& active(Handle handle) const { return actives_[handle]; }
  void finish(Handle handle) {
    Active& active = actives_[handle];
    ORRERY_ASSERT(active.key != Key::infinity(), "an event in progress finishes once");
    ORRERY_ASSERT(lps_[active.lp].active > 0 && active_count_ > 0, "counts of events add up");
    --lps_[active.lp].active;
    --active_count_;
    if (active.mark != nullptr) active.mark->receiver = kMarkEnded;
    if (active.barrier == earliest_) earliest_is_stale_ = true;
    active = Active{};
    active.next_free = first_free_;
    first_free_ = handle + 1;
  }

  /// Events that are pending; in progress and set aside ones are not.
  std::size_t pending() const { return pending_.size(); }
  std::size_t in_progress() const { return active_count_; }
  /// Events at or before it may still start, no others.
  const Key& limit() const { return limit_; }
  void lower_limit(const Key& limit) {
    limit_ = std::min(limit_, limit);
    limited_ = true;
  }
  /// The highest key that was started beside others.
  const Key& highest() const { return highest_; }

  /// A key that no unfinished event is below.
  Key lowest_unfinished() {
    drop_ended_marks();
    Key lowest = Key::infinity();
    if (const Event* event = pending_.top()) lowest = event->key();
    if (!aside_.empty()) lowest = std::min(lowest, aside_.front().event->key());
    for (const Active& active : actives_) lowest = std::min(lowest, active.key);
    return lowest;
  }

  /// Calls visit(event) for all pending events, which leaves none. Nothing may be in progress.
  template <class Visit>
  void take_all(Visit&& visit) {
    settle();
    pending_.drain(
        [&](Event* event) { event->type == kMarkType ? free_mark(event) : visit(event); });
  }
  /// Takes the pending events out for which gone(event) is true; it may free them. Nothing may be
  /// in progress.
  template <class Gone>
  void erase_if(Gone&& gone) {
    settle();
    std::vector<Event*> scratch;
    pending::erase_if(pending_, scratch, [&](Event* event) {
      if (event->type != kMarkType) return gone(event);
      free_mark(event);
      return true;
    });
  }
  /// Puts what was set aside back. Nothing may be in progress.
  void settle() {
    for (const Choice& choice : aside_) {
      if (choice.mark != nullptr) choice.mark->receiver = kMarkEnded;
      pending_.push(choice.event);
    }
    aside_.clear();
    earliest_is_stale_ = true;
  }

  std::size_t bytes() const {
    return pending_.bytes() + actives_.capacity() * sizeof(Active) +
           lps_.capacity() * sizeof(LpUse) + marks_.size() * sizeof(Event);
  }

 private:
  static constexpr EventTypeId kMarkType = 0;  // no event type of a model has it
  static constexpr LpId kMarkEnded = 1;

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

  /// Its LP acts on the outside, and an event before it may still fail.
  bool must_wait(const Event& event) const {
    if (executions_.of(event.receiver) != LpExecution::committed) return false;
    if (!aside_.empty() && aside_.front().event->key() < event.key()) return true;
    return std::any_of(actives_.begin(), actives_.end(),
                       [&](const Active& active) { return active.key < event.key(); });
  }

  Event* lowest_below_barriers() {
    for (;;) {
      Event* event = pending_.top();
      if (event == nullptr || event->key() > earliest_ || event->key() > limit_) return nullptr;
      if (event->type != kMarkType) [[likely]]
        return event;
      if (event->receiver != kMarkEnded) return nullptr;  // its event is in progress
      pending_.pop();
      free_mark(event);
    }
  }

  void drop_ended_marks() {
    for (Event* event = pending_.top();
         event != nullptr && event->type == kMarkType && event->receiver == kMarkEnded;
         event = pending_.top()) {
      pending_.pop();
      free_mark(event);
    }
  }

  void set_aside(Choice choice) {
    raise(barrier_of(*choice.event), choice.mark);
    aside_.push_back(choice);
  }

  void raise(const Key& barrier, Event*& mark) {
    if (!marks_wanted_) [[likely]] {
      earliest_ = std::min(earliest_, barrier);
    } else if (mark == nullptr) {
      mark = new_mark(barrier);
      pending_.push(mark);
    }
  }
  void find_earliest() {
    earliest_ = Key::infinity();
    earliest_is_stale_ = false;
    if (marks_wanted_) return;
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

  Event* new_mark(const Key& barrier) {
    if (free_marks_.empty()) {
      marks_.push_back(std::make_unique<Event>());
      free_marks_.push_back(marks_.back().get());
    }
    Event* mark = free_marks_.back();
    free_marks_.pop_back();
    return new (mark) Event(EventHeader(barrier, 0, kMarkType, PayloadSize()));
  }
  void free_mark(Event* mark) { free_marks_.push_back(mark); }

  const LpExecutions& executions_;
  const bool restricts_;  ///< some LPs are not speculative
  Pending pending_;
  std::vector<LpUse> lps_;
  std::vector<Choice> aside_;
  std::size_t scan_ = 0;
  std::vector<Active> actives_;
  Handle first_free_ = 0;  ///< plus one; 0: none
  std::size_t active_count_ = 0;
  Key earliest_ = Key::infinity();  ///< barrier of what is in progress or set aside
  bool earliest_is_stale_ = false;
  Key limit_ = Key::infinity();
  bool limited_ = false;
  Key highest_;
  const bool marks_wanted_;
  std::vector<std::unique_ptr<Event>> marks_;
  std::vector<Event*> free_marks_;
};

}  // namespace orrery::expanded
