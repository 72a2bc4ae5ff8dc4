// SPDX-License-Identifier: Apache-2.0
//
// Worker: where assertions are on, checks that each event is where it should be.
#include <unordered_set>

#include "engine/timewarp/worker.h"

namespace orrery::timewarp {

/// Asserts that no event is in two places.
void Worker::check_places() {
  std::unordered_set<const TwEvent*> seen;
  const auto see = [&seen](const TwEvent* event) {
    const bool first_time = seen.insert(event).second;
    ORRERY_ASSERT(first_time, "an event is in one place");
  };
  const auto see_waiting = [&](const TwEvent* event) {
    see(event);
    ORRERY_ASSERT(!Mailbox::is_executed(event), "an event that waits is not executed");
  };
  erase_pending_if([&](const TwEvent* event) {
    see_waiting(event);
    return false;
  });
  faults_.for_each_waiting(see);
  held_.for_each_waiting(see_waiting);
  dead_timers_.for_each(see_waiting);
  log_.for_each_event([&see](const TwEvent* event) {
    see(event);
    ORRERY_ASSERT(Mailbox::is_executed(event), "a history holds executed events");
  });
}

/// Asserts that the worker has nothing but LPs without a past, and pending events at or after GVT.
void Worker::check_cut() {
  ORRERY_ASSERT(mailbox_.is_empty(), "at a cut nothing is on its way");
  ORRERY_ASSERT(faults_.empty(), "at a cut no handler has failed");
  ORRERY_ASSERT(dead_timers_.empty(), "at a cut dead timers are pending");
  ORRERY_ASSERT(held_.empty() && held_.uncommitted() == 0, "at a cut nothing is held");
  ORRERY_ASSERT(log_.uncommitted() == 0, "at a cut everything executed is committed");
  ORRERY_ASSERT(emitted_.empty(), "at a cut all rows are handed over, and all values counted");
  log_.for_each_event(
      []([[maybe_unused]] const TwEvent* event) { ORRERY_ASSERT(false, "histories are empty"); });
  erase_pending_if([this](TwEvent* event) {
    ORRERY_ASSERT(event->key() >= gvt_, "everything below a cut is executed");
    ORRERY_ASSERT(!Mailbox::is_executed(event), "nothing at or after a cut is executed");
    ORRERY_ASSERT(!Mailbox::is_cancelled(event), "at a cut no pending event is cancelled");
    ORRERY_ASSERT(event->first_sent == nullptr, "what an undone event sent is cancelled");
    return false;
  });
  for (LpId id = 0; id < shared_.world.lp_count(); ++id) {
    if (shared_.owners[id] != index_) continue;
    [[maybe_unused]] const LpState& lp = lps_[id];
    ORRERY_ASSERT(lp.count == 0 && lp.checkpoints == nullptr && !lp.active && !lp.faulted,
                  "at a cut an LP has no past");
  }
}

}  // namespace orrery::timewarp
