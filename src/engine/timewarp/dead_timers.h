// SPDX-License-Identifier: Apache-2.0
//
// Timers that an LP has cancelled, taken out of a worker's pending events when their time came, or
// because there were many. They have no effect, so they enter no history. But the event that
// cancelled a timer may be undone, so the timer is kept until that is impossible:
//
//   A timer T of an LP was cancelled by an executed event C of the same LP, with C < T, which came
//   after the event that set T. So C is at or before the *bound*: the last event that the LP has
//   executed when T is found dead. Once GVT is above the bound, C is committed, and T is
//   freed. A rollback of the LP to a key above T does not undo C: T stays. A rollback to a key at
//   or below T may undo C: T is pending again, and the worker examines again whether T is dead
//   when its time comes. If the rollback has also undone the event that set T, T is marked
//   cancelled by then, and freed like any other cancelled event.
//
// Only the worker of the LP is concerned: a timer's sender is its receiver.
#pragma once

#include <algorithm>
#include <vector>

#include "core/assert.h"
#include "engine/timewarp/lp_state.h"
#include "engine/timewarp/mailbox.h"

namespace orrery::timewarp {

class DeadTimers {
 public:
  bool empty() const { return timers_.empty(); }

  /// Keeps a timer that was found dead in the LP's present state, and is in no other list.
  void add(LpState& lp, TwEvent* timer, Mailbox& mailbox) {
    if (lp.count == 0) return mailbox.free(timer);  // nothing of the LP can be undone
    timers_.push_back({timer, lp.last()->key()});
    lp.has_dead_timers = 1;
  }
  /// The LP has rolled back to before `to`: its timers at or after `to` are pending again.
  void put_back(LpId id, LpState& lp, const Key& to, Pending& pending) {
    if (!lp.has_dead_timers) [[likely]]
      return;
    bool left = false;
    std::erase_if(timers_, [&](const Entry& one) {
      if (one.timer->receiver != id) return false;
      const bool goes = one.timer->key() >= to;
      if (goes) pending.push(one.timer);
      left |= !goes;
      return goes;
    });
    lp.has_dead_timers = left;
  }
  /// Events before `gvt` are committed: frees the timers whose bound is one of them.
  void commit(const Key& gvt, Mailbox& mailbox) {
    if (timers_.empty()) [[likely]]
      return;
    std::erase_if(timers_, [&](const Entry& one) {
      if (one.bound >= gvt) return false;
      mailbox.free(one.timer);
      return true;
    });
  }
  /// At a cut: all timers are pending again, for the worker or engine that has the LPs next.
  void put_all_back(LpStates& lps, Pending& pending) {
    for (const Entry& one : timers_) {
      lps[one.timer->receiver].has_dead_timers = 0;
      pending.push(one.timer);
    }
    timers_.clear();
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Entry& one : timers_) visit(one.timer);
  }

 private:
  struct Entry {
    TwEvent* timer;
    Key bound;
  };
  std::vector<Entry> timers_;
};

}  // namespace orrery::timewarp
