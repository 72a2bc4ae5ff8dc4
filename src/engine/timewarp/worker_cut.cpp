// SPDX-License-Identifier: Apache-2.0
//
// Worker: rolling back events far ahead of GVT, to free memory or to come to a cut (cut.h).
#include "engine/timewarp/worker.h"

namespace orrery::timewarp {

/// Rolls all LPs back to `to`; returns how many LPs that concerned.
std::uint64_t Worker::retreat(const Key& to) {
  std::uint64_t lps = 0;
  log_.for_each_active([&](LpId id, const TwEvent* last) {
    if (last->key() < to) return;
    ++lps;
    rollback_.roll_back(id, to);
  });
  log_.trim(mailbox_);
  mailbox_.flush_all();
  return lps;
}

/// After a round, on the way to a cut and from it. True when the run ends there.
bool Worker::follow_cut(const GvtReport& sum) {
  switch (cut_.adopt(sum, balance_.wants_cut())) {
    case Cut::Step::nothing:
      break;
    case Cut::Step::given_up:
      balance_.give_up();
      break;
    case Cut::Step::retreat: {
      const std::uint64_t before = statistics_.rolled_back;
      retreat(commitment_.gvt());
      held_.put_back(pending_);
      // These rollbacks must not count when the window and the batch are chosen.
      statistics_.undone_at_cuts += statistics_.rolled_back - before;
      adopted_rollbacks_ = statistics_.rollbacks;
      break;
    }
    case Cut::Step::reached:
      return reach_cut();
  }
  return false;
}

/// Takes cancelled timers out of the pending event set before their time comes.
void Worker::reclaim_dead_timers() {
  sweep_.free_cancelled([this](TwEvent* event) {
    LpState& lp = lps_[event->receiver];
    if (lp.faulted) return false;  // the failed handler may have destroyed the set of timers
    if (!is_dead_timer(*lp.object, *event, event->payload())) return false;
    dead_timers_.add(lp, event, mailbox_);
    return true;
  });
  dead_timer_count_.note_reclaimed(executor_.cancelled_timers());
}

/// The round that reached the cut has committed everything below it. LPs with records now release
/// the checkpoints that they keep beyond commitment, including copies under way. True if the run
/// ends here.
bool Worker::reach_cut() {
  const bool ends = shared_.ends_at_cut && cut_.was_due();
  is_moving_ = !ends && balance_.wants_cut();
  dead_timers_.put_all_back(lps_, pending_);
  if (!is_moving_) sweep_.free_cancelled();  // else once it is known what moves
  log_.trim(mailbox_);
  mailbox_.commit_sent_to_ranks(Key::infinity());
  if (kAssertions && !is_moving_) check_cut();
  ++statistics_.cuts;
  if (ends) commitment_.pause();
  return ends;
}

/// Asserts that the worker has nothing but LPs without a past, and pending events.
void Worker::check_cut() {
  sweep_.check_cut(commitment_.gvt());
  ORRERY_ASSERT(log_.uncommitted() == 0, "at a cut everything executed is committed");
  ORRERY_ASSERT(emitted_.empty(), "at a cut all rows are handed over, and all values counted");
  for (LpId id = 0; id < lps_.count(); ++id) {
    if (shared_.owners[id] != index_) continue;
    [[maybe_unused]] const LpState& lp = lps_[id];
    ORRERY_ASSERT(lp.count == 0 && lp.checkpoints == nullptr && !lp.active && !lp.faulted,
                  "at a cut an LP has no past");
  }
}

}  // namespace orrery::timewarp
