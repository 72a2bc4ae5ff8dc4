// SPDX-License-Identifier: Apache-2.0
//
// Passes over all pending events of a worker: to free cancelled events before their time comes,
// and, where assertions are on, to check that each event is where it should be.
#pragma once

#include <unordered_set>
#include <vector>

#include "core/assert.h"
#include "engine/timewarp/dead_timers.h"
#include "engine/timewarp/fault_list.h"
#include "engine/timewarp/held.h"
#include "engine/timewarp/mailbox.h"
#include "engine/timewarp/rollback_log.h"
#include "pending/erase_if.h"

namespace orrery::timewarp {

class Sweep {
 public:
  Sweep(Pending& pending, Mailbox& mailbox, const FaultList& faults, RollbackLog& log,
        const DeadTimers& dead_timers, HeldEvents& held)
      : pending_(pending),
        mailbox_(mailbox),
        faults_(faults),
        log_(log),
        dead_timers_(dead_timers),
        held_(held) {}

  /// Frees the cancelled events that still wait for their time. No other worker refers to them:
  /// they were cancelled before they were claimed, so no notice is coming.
  void free_cancelled() {
    held_.free_cancelled(mailbox_);
    free_cancelled([](const TwEvent*) { return false; });
  }
  /// The same for pending events only. Also removes those for which `take(event)` returns true: the
  /// caller then owns them.
  template <class Take>
  void free_cancelled(Take&& take) {
    pending::erase_if(pending_, scratch_, [&](TwEvent* event) {
      return mailbox_.free_if_cancelled(event) || take(event);
    });
  }

  /// Asserts that no event is in two places.
  void check_places() {
    std::unordered_set<const TwEvent*> seen;
    const auto see = [&seen](const TwEvent* event) {
      const bool first_time = seen.insert(event).second;
      ORRERY_ASSERT(first_time, "an event is in one place");
    };
    for_each_pending([&](const TwEvent* event) {
      see(event);
      ORRERY_ASSERT(!Mailbox::is_executed(event), "what is pending is not executed");
    });
    faults_.for_each_waiting(see);
    held_.for_each_waiting([&](const TwEvent* event) {
      see(event);
      ORRERY_ASSERT(!Mailbox::is_executed(event), "what is held is not executed");
    });
    dead_timers_.for_each([&](const TwEvent* event) {
      see(event);
      ORRERY_ASSERT(!Mailbox::is_executed(event), "a dead timer is not executed");
    });
    log_.for_each_event([&see](const TwEvent* event) {
      see(event);
      ORRERY_ASSERT(Mailbox::is_executed(event), "a history holds executed events");
    });
  }

  /// Asserts that at the cut `at` there are no events but pending ones, at or after `at`.
  void check_cut([[maybe_unused]] const Key& at) {
    ORRERY_ASSERT(mailbox_.is_empty(), "at a cut nothing is on its way");
    ORRERY_ASSERT(faults_.empty(), "at a cut no handler has failed");
    ORRERY_ASSERT(dead_timers_.empty(), "at a cut dead timers are pending");
    ORRERY_ASSERT(held_.empty() && held_.uncommitted() == 0, "at a cut nothing is held");
    log_.for_each_event(
        []([[maybe_unused]] const TwEvent* event) { ORRERY_ASSERT(false, "histories are empty"); });
    for_each_pending([&](TwEvent* event) {
      ORRERY_ASSERT(event->key() >= at, "everything below a cut is executed");
      ORRERY_ASSERT(!Mailbox::is_executed(event), "nothing at or after a cut is executed");
      ORRERY_ASSERT(!Mailbox::is_cancelled(event), "at a cut no pending event is cancelled");
      ORRERY_ASSERT(event->first_sent == nullptr, "what an undone event sent is cancelled");
    });
  }

 private:
  template <class Visit>
  void for_each_pending(Visit&& visit) {
    pending::erase_if(pending_, scratch_, [&](TwEvent* event) {
      visit(event);
      return false;
    });
  }

  Pending& pending_;
  Mailbox& mailbox_;
  const FaultList& faults_;
  RollbackLog& log_;
  const DeadTimers& dead_timers_;
  HeldEvents& held_;
  std::vector<TwEvent*> scratch_;
};

}  // namespace orrery::timewarp
