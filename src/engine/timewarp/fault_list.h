// SPDX-License-Identifier: Apache-2.0
//
// Failures of handlers in speculative execution. The failed event stays the last in its LP's
// history, and the LP executes nothing behind it, until a rollback undoes the event or GVT reaches
// it. At GVT it is executed once more, from the same state. If it fails again, the run ends there.
// If it succeeds, its first failure was not caused by the LP's state: the run ends, too, and says
// so. (If the first failure was for lack of memory or time, there may be enough now: the run goes
// on.) Events for the LP behind the failed one wait here. The trail of a livelock is here, too,
// since a livelock ends with such a fault.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/timewarp/event.h"
#include "engine/timewarp/lp_state.h"
#include "run/containment/faults.h"

namespace orrery::timewarp {

class FaultList {
 public:
  FaultList(const Model& model, std::uint32_t livelock_limit)
      : trail(livelock_limit), model_(model) {}

  bool empty() const { return faults_.empty(); }

  /// Notes the current exception as the failure of an event of `lp`. `addition` is appended to its
  /// description. `kept`: the state before the event is kept, so the event can be executed again.
  void note(const TwEvent* event, LpState& lp, bool kept, const char* addition) {
    lp.faulted = 1;
    std::string sentence = describe_current_exception(
        model_, event->receiver, name_of_event(*lp.object, event->type), event->time());
    sentence += addition;
    // A committed event can fail only while coasting forward; GVT does not go back for it.
    const Key key = std::max(event->key(), gvt_);
    const bool repeats = !kept || (retried_ && retried_->key == key);
    faults_.push_back({{key, event->receiver, std::move(sentence)}, repeats, {}});
  }
  /// Whether the event must wait behind its LP's fault. If so, it is kept here.
  bool holds(const LpState& lp, TwEvent* event) {
    if (!lp.faulted) [[likely]]
      return false;
    for (Fault& fault : faults_) {
      if (fault.lp != event->receiver || event->key() < fault.key) continue;
      fault.waiting.push_back(event);
      return true;
    }
    return false;
  }
  /// A rollback undoes the event that failed: the events that waited behind it are pending again.
  void clear(LpId id, LpState& lp, Pending& pending) {
    lp.faulted = 0;
    std::erase_if(faults_, [&](const Fault& fault) {
      if (fault.lp != id) return false;
      for (TwEvent* event : fault.waiting) pending.push(event);
      return true;
    });
  }

  /// Lowest key of an event that failed.
  Key lowest() const {
    Key lowest = Key::infinity();
    for (const Fault& fault : faults_) lowest = std::min(lowest, fault.key);
    return lowest;
  }
  /// The fault with that key, or nullptr.
  const HandlerFault* at(const Key& key) const { return find(key); }
  /// The fault at GVT, if it has occurred once only: its event is to be rolled back, and so is
  /// executed again. Null if the fault is another worker's.
  const HandlerFault* retry() {
    for (const Fault& fault : faults_) {
      if (fault.key != gvt_ || fault.repeats) continue;
      retried_ = fault;
      return &*retried_;
    }
    return nullptr;
  }
  /// Whether the event with that key has failed again, or certainly would.
  bool is_certain(const Key& key) const {
    const Fault* const fault = find(key);
    return fault != nullptr && fault->repeats;
  }
  /// Raises faults below `gvt`, which occurred in coasting forward, to `gvt`: GVT does not go back.
  void set_gvt(const Key& gvt) {
    gvt_ = gvt;
    for (Fault& fault : faults_) fault.key = std::max(fault.key, gvt);
    if (retried_ && retried_->key < gvt) [[unlikely]]
      end_retry();
  }

  template <class Visit>
  void for_each_waiting(Visit&& visit) const {
    for (const Fault& fault : faults_)
      for (TwEvent* event : fault.waiting) visit(event);
  }

  LivelockTrail trail;  ///< of what the worker commits

 private:
  struct Fault : HandlerFault {
    bool repeats;  ///< executing the event again is of no use
    std::vector<TwEvent*> waiting;
  };
  const Fault* find(const Key& key) const {
    for (const Fault& fault : faults_)
      if (fault.key == key) return &fault;
    return nullptr;
  }
  /// GVT has passed the event that was executed again: it has succeeded.
  void end_retry() {
    HandlerFault fault = *std::exchange(retried_, std::nullopt);
    if (tells_system_failure(fault.sentence) || fault.trace.of_the_moment) return;
    fault.key = gvt_;
    fault.sentence +=
        " (it went well when it was executed again from the same state: the handler depends on "
        "something outside the LP, or other code has overwritten the LP's memory)";
    faults_.push_back({std::move(fault), true, {}});
  }
  const Model& model_;
  std::vector<Fault> faults_;
  std::optional<HandlerFault> retried_;  ///< its event is executed again; until GVT has passed it
  Key gvt_;
};

}  // namespace orrery::timewarp
