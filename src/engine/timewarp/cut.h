// SPDX-License-Identifier: Apache-2.0
//
// How the workers of a run come to a cut together, and go on from it. A cut is a key K: all events
// below it are committed, none at or above it is executed. At a cut the run is a world that another
// engine can take over: it consists of the LPs' states and the pending events only; no message is
// in transit and no event is to be undone. A snapshot of running processes as by Chandy and Lamport
// (Distributed snapshots: determining global states of distributed systems. ACM TOCS 3(1), 1985)
// would have to record the channels' contents; GVT rounds make it cheap to empty them instead.
//
// The steps, all of them in GVT rounds, so that all workers take each step from the same reports:
//   running   until a round shows that a cut is due. GVT of that round, round r, is K. Each worker
//             that adopts it has committed everything below K and rolls back everything at or above
//             K, cancelling what those events sent, and from now on executes nothing;
//   settling  the workers receive messages and take part in rounds, until one, round n, shows that
//             as many messages were received as sent. Then the cut is reached. Each worker frees
//             its cancelled events, so that its pending set is its part of the world's;
//   reached   no worker executes until one more round: a worker that adopts round n + 1 knows that
//             all have joined it, so that all have adopted round n. Earlier, a worker that went on
//             could send to a worker that has not yet looked at its part of the world.
// GVT may still rise on the way, since events that only a notice held vanish. Nothing is executed,
// so the run is at that key as well: the cut is at GVT of round n.
//
// Why nobody sends before the sums agree, as run/rounds/halt_report.h requires. Messages are events
// and notices of cancellation.
// (1) A worker puts messages in when it executes a handler, and when it undoes an event, whose
//     sends it cancels. After its retreat in round r it does neither: it begins no handler, and it
//     has no executed event left that could be undone. Its executed events are all below K, which
//     is GVT, and no event below GVT is ever cancelled; coasting forward sends nothing. A notice
//     that arrives now finds its event undone, and frees it. So from then on the worker's number of
//     messages sent is constant.
// (2) Each worker retreats before it joins round r + 1, and reports of a round n > r are made when
//     all have joined it. So all reports of round n are made after all retreats, and their sum of
//     messages sent is that of all messages there will be until some worker executes again.
// (3) The same holds for marks of cancellation, which a sender sets in the event itself
//     (event_status.h): they were set in retreats or before, so each worker that adopts round n
//     sees them all. Since all notices have arrived, each marked event that is left is pending, and
//     no other worker refers to it.
//
// A speculative event whose handler failed is undone with all the others. A fault that is left
// comes from the retreat itself: a handler that failed when it coasted forward, or a reverse
// handler. The run will end with that fault, when GVT reaches it. A world with a fault cannot be
// handed over, so such a cut is given up, and the run goes on to where it ends.
#pragma once

#include <cstdint>

#include "core/assert.h"
#include "engine/timewarp/gvt.h"

namespace orrery::timewarp {

class Cut {
 public:
  /// A cut is due when `every` more events (0: any number) are committed than at the last due cut,
  /// when a report says that the time is over, or when GVT has reached `end`: no event at or after
  /// `end` is executed.
  explicit Cut(std::uint64_t every, const Key& end = Key::infinity()) : every_(every), end_(end) {}

  /// What the worker must do after a round.
  enum class Step : std::uint8_t {
    nothing,
    retreat,  ///< undo everything at or after GVT; execute nothing more
    reached,
    given_up,
  };
  /// `wanted`: all workers want a cut, whether one is due or not. A cut has to wait until the
  /// events that cannot be undone (held.h) are below GVT.
  Step adopt(const GvtReport& sum, bool wanted) {
    switch (phase_) {
      case Phase::running:
        ORRERY_ASSERT(sum.committed >= committed_, "what is committed stays so");
        due_ = sum.time_is_over || sum.lowest >= end_ ||
               (every_ > 0 && sum.committed - committed_ >= every_);
        is_coming_ = due_ || wanted;
        if (!is_coming_ || sum.latest_final >= sum.lowest) return Step::nothing;
        phase_ = Phase::settling;
        return Step::retreat;
      case Phase::settling:
        ORRERY_ASSERT(sum.received <= sum.sent, "only what was sent is received");
        if (!sum.all_received()) return Step::nothing;
        if (due_) committed_ = sum.executed - sum.rolled_back;
        phase_ = sum.faulted ? Phase::running : Phase::reached;
        return sum.faulted ? Step::given_up : Step::reached;
      case Phase::reached:
        phase_ = Phase::running;
        return Step::nothing;
    }
    return Step::nothing;
  }
  /// Whether nothing may be executed now: rounds are due, one after the other.
  bool holds() const { return phase_ != Phase::running; }
  /// A cut begins as soon as GVT has passed all events that cannot be undone.
  bool is_coming() const { return is_coming_; }
  /// Whether the cut under way or reached was due, and not only wanted.
  bool was_due() const { return due_; }

 private:
  enum class Phase : std::uint8_t { running, settling, reached };

  const std::uint64_t every_;
  const Key end_;
  Phase phase_ = Phase::running;
  bool due_ = false, is_coming_ = false;
  std::uint64_t committed_ = 0;  ///< at the last cut that was due, by all workers
};

}  // namespace orrery::timewarp
