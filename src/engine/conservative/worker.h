// SPDX-License-Identifier: Apache-2.0
//
// A worker of the conservative engine: in each window (plan.h) it executes parts of the LPs
// (parts.h). A worker with events takes no lock and makes no system call, except for those of the
// transport between ranks.
#pragma once

#include <cstdint>

#include "engine/conservative/parts.h"
#include "engine/conservative/plan.h"

namespace orrery::conservative {

/// On cache lines of its own, since its members are written all the time.
class alignas(64) Worker {
 public:
  /// `step_events`: see Disturbances.
  Worker(World& world, const RunOptions& options, RunControl& control, Parts& parts,
         const Plan& plan, unsigned index, std::uint64_t step_events)
      : executions_(world.executions()),
        parts_(parts),
        plan_(plan),
        index_(index),
        step_events_(step_events),
        loop_(world, options, control, parts, index) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Loop& loop() { return loop_; }
  /// Takes the pending events of this worker's parts of the world.
  void take_events();
  /// Executes events of the window with that number, and returns what to report.
  WorkerReport execute(const Window& window, std::uint64_t number);
  /// The run is over after `windows` windows: returns the pending events of this worker's share to a
  /// list of the world.
  void give_back(const Ending& ending, std::uint64_t windows, EventList& list);

 private:
  void execute_part(Part& part, unsigned number);
  bool may_begin(const PlainEvent& event) const;

  const LpExecutions& executions_;
  Parts& parts_;
  const Plan& plan_;
  const unsigned index_;
  const std::uint64_t step_events_;
  Window window_;
  std::uint64_t number_ = 0;    ///< of the window
  bool is_restricted_ = false;  ///< may_begin decides about events in the window
  WorkerReport report_;
  Loop loop_;
};

inline void Worker::take_events() {
  loop_.take_events(
      [this](unsigned owner) { return parts_.is_of(owner, index_) ? &parts_[owner] : nullptr; });
}

/// A worker that has executed for a few milliseconds leaves the rest of its parts to the next window.
inline WorkerReport Worker::execute(const Window& window, std::uint64_t number) {
  window_ = window;
  number_ = number;
  report_ = {};
  parts_.begin_window(index_, number);
  loop_.step(
      [this] {
        const auto take = [this](Part& part, unsigned part_number) {
          execute_part(part, part_number);
        };
        window_.is_long ? parts_.take_parts(index_, number_, take)
                        : parts_.take_share(index_, number_, take);
      },
      step_events_);
  if (const auto& fault = loop_.fault()) {
    report_.note(fault->key);
    report_.failed = fault->key == report_.lowest ? 1 : 0;
  }
  report_.note(parts_.lowest_sent(index_));
  report_.executed = loop_.executed();
  return report_;
}

inline void Worker::execute_part(Part& part, unsigned number) {
  loop_.work_on(part, number);
  loop_.forget(part, window_.lowest);
  parts_.receive(number, number_, [&part](const auto& entry) { part.events.push(entry); });
  if (!part.has_failed) {
    part.has_failed = true;  // if a crash leaves this function by a jump
    is_restricted_ = window_.halts || executions_.any_committed() || loop_.has_failed();
    loop_.execute_some([this, limit = window_.limit](const PlainEvent& event) {
      return event.time().ticks() < limit && (!is_restricted_ || may_begin(event));
    });
    part.has_failed = loop_.has_failed_here();
    loop_.reclaim();
  }
  report_.kept += static_cast<std::uint32_t>(part.log.size());
  report_.pending += static_cast<std::uint32_t>(part.events.size());
  if (const PlainEvent* const next = part.events.top()) report_.note(next->key());
}

/// Whether an event of the window may be executed. An LP that acts on the outside executes an event
/// only when all events before it are executed and have not failed.
[[gnu::noinline]] inline bool Worker::may_begin(const PlainEvent& event) const {
  if (window_.halts && event.key() >= plan_.cut()) return false;
  if (loop_.has_failed() && event.key() > loop_.fault()->key) return false;
  return !executions_.any_committed() || event.key() == window_.lowest ||
         executions_.of(event.receiver) != LpExecution::committed;
}

inline void Worker::give_back(const Ending& ending, std::uint64_t windows, EventList& list) {
  parts_.for_each_of(index_, [&](Part& part, unsigned number) {
    parts_.receive(number, windows + 1, [&part](const auto& entry) { part.events.push(entry); });
    loop_.end(part, ending.end, ending.cut, list);
  });
}

}  // namespace orrery::conservative
