// SPDX-License-Identifier: Apache-2.0
//
// Worker: coming to a cut and going on from it (cut.h); passes over all pending events.
#include "engine/timewarp/worker.h"

namespace orrery::timewarp {

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
      retreat(gvt_);
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

/// Frees the cancelled events that still wait for their time. No other worker refers to them: they
/// were cancelled before they were claimed, so no notice is coming.
void Worker::free_cancelled() {
  held_.free_cancelled(mailbox_);
  erase_pending_if([this](TwEvent* event) { return mailbox_.free_if_cancelled(event); });
}

/// Takes cancelled timers out of the pending event set before their time comes.
void Worker::reclaim_dead_timers() {
  erase_pending_if([this](TwEvent* event) {
    if (mailbox_.free_if_cancelled(event)) return true;
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
  if (!is_moving_) free_cancelled();  // else once it is known what moves
  log_.trim(mailbox_);
  mailbox_.commit_sent_to_ranks(Key::infinity());
  if (kAssertions && !is_moving_) check_cut();
  ++statistics_.cuts;
  if (ends) ending_ = {RunEnd::paused, gvt_};
  return ends;
}

}  // namespace orrery::timewarp
