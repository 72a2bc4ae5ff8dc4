// SPDX-License-Identifier: Apache-2.0
//
// Events of a worker that were interrupted in the middle of their handlers
// (run/containment/preemption.h), last in, first out. Such an event is in its LP's history already,
// so a rollback finds it there like any other. The rollback then *squashes* it: it ends as a failed
// event, and its handler is dropped when control returns to the handler. Until an event is
// squashed, its key counts in what the worker reports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/key.h"
#include "engine/timewarp/rollback_log.h"

namespace orrery::timewarp {

class Suspensions {
 public:
  struct One {
    TwEvent* event;  ///< may be freed once it is squashed
    LpId lp;
    Key key;
    RollbackLog::Begun begun;
    checkpoint::Checkpointer::Begun kept;  ///< of a recorded LP
    std::uint64_t away_cycles;  ///< of the worker (worker.h), when the event was interrupted
    bool squashed = false;
  };

  bool empty() const { return all_.empty(); }
  /// Reserves memory, so that the next push throws nothing.
  void make_room() { all_.reserve(all_.size() + 1); }
  void push(One&& one) { all_.push_back(std::move(one)); }
  One& top() { return all_.back(); }
  const One& top() const { return all_.back(); }
  One pop() {
    One one = std::move(all_.back());
    all_.pop_back();
    return one;
  }
  /// The lowest key of the events that will go on.
  Key lowest() const {
    Key lowest = Key::infinity();
    for (const One& one : all_)
      if (!one.squashed) lowest = std::min(lowest, one.key);
    return lowest;
  }
  /// Visits the events that will go on, the last first.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::size_t i = all_.size(); i-- > 0;)
      if (!all_[i].squashed) visit(all_[i]);
  }

 private:
  std::vector<One> all_;
};

}  // namespace orrery::timewarp
