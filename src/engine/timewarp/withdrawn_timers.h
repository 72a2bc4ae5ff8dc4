// SPDX-License-Identifier: Apache-2.0
//
// Timers that an LP has cancelled, taken out of a worker's pending events: when their time came, or
// because there were many. They have no effect, so they enter no history; but what cancelled them
// may be undone. So each is kept until it cannot be:
//
//   A timer T of an LP is withdrawn by an event C of the same LP, which was executed, after the one
//   that set it, and C < T. So C is at or before the last event that the LP has executed when T is
//   found withdrawn, the *bound*. Once GVT is above the bound, C is committed, and T is freed.
//   A rollback of the LP to a key above T does not undo C: T stays. One to a key at or below T may:
//   T is pending again, and whether it is withdrawn is found out anew when its time comes. If the
//   rollback has undone the event that set T, too, T is marked cancelled by then, and freed as any
//   other event that is.
//
// Only the worker of the LP is concerned: a timer's sender is its receiver.
#pragma once

#include <algorithm>
#include <vector>

#include "core/assert.h"
#include "engine/timewarp/lp_state.h"
#include "engine/timewarp/mailbox.h"

namespace orrery::timewarp {

class WithdrawnTimers {
 public:
  bool empty() const { return timers_.empty(); }

  /// A timer that is in no other place; it was found withdrawn with the LP as it is now.
  void add(LpState& lp, TwEvent* timer, Mailbox& mailbox) {
    if (lp.count == 0) return mailbox.free(timer);  // nothing of the LP can be undone
    timers_.push_back({timer, lp.last()->key()});
    lp.withdrawn = 1;
  }
  /// The LP has gone back to before `to`.
  template <class Pending>
  void put_back(LpId id, LpState& lp, const Key& to, Pending& pending) {
    if (!lp.withdrawn) [[likely]]
      return;
    bool left = false;
    std::erase_if(timers_, [&](const Withdrawn& one) {
      if (one.timer->receiver != id) return false;
      const bool goes = one.timer->key() >= to;
      if (goes) pending.push(one.timer);
      left |= !goes;
      return goes;
    });
    lp.withdrawn = left;
  }
  /// What is before `gvt` is committed.
  void commit(const Key& gvt, Mailbox& mailbox) {
    if (timers_.empty()) [[likely]]
      return;
    std::erase_if(timers_, [&](const Withdrawn& one) {
      if (one.bound >= gvt) return false;
      mailbox.free(one.timer);
      return true;
    });
  }
  /// At a cut: those whose time is still to come are pending for whoever has the LPs next.
  template <class Pending>
  void put_all_back(LpTable& lps, Pending& pending) {
    for (const Withdrawn& one : timers_) {
      lps[one.timer->receiver].withdrawn = 0;
      pending.push(one.timer);
    }
    timers_.clear();
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Withdrawn& one : timers_) visit(one.timer);
  }

 private:
  struct Withdrawn {
    TwEvent* timer;
    Key bound;
  };
  std::vector<Withdrawn> timers_;
};

}  // namespace orrery::timewarp
