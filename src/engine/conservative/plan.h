// SPDX-License-Identifier: Apache-2.0
//
// Which events may be executed until the workers meet again, decided from what they report.
//
// Let W be the lowest key of all events that are not executed, and L the smallest delay that the
// model promises between LPs of different parts (parts.h). An event that is executed now is at W or
// later, so what it sends to another part is at W + L or later. So the events of each part before
// W + L, the *window*, can be executed in the order of their keys without regard to other parts
// (bounded lag; Lubachevsky: Efficient distributed event-driven simulations of multiple-loop
// networks. CACM 32(1), 1989). A meeting is also GVT: everything before W is executed and has not
// failed. A worker may leave part of a window to the next, which then begins at the lowest event
// that is left.
//
// A halt: everything that was begun comes before the cut K. The workers execute the events before K
// that are left, and no others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/key.h"
#include "run/engine.h"
#include "run/workers/conclusion.h"

namespace orrery::conservative {

/// Later than any time; as a delay: no event.
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Sum of a time and a delay that is not negative.
constexpr std::int64_t after(std::int64_t ticks, std::int64_t delay) {
  return ticks > kNever - delay ? kNever : ticks + delay;
}

/// What a worker reports at a meeting.
struct WorkerReport {
  Key lowest = Key::infinity();  ///< of the events that are not executed, or of one that has failed
  std::uint64_t executed = 0;    ///< so far
  std::uint32_t pending = 0;     ///< roughly
  std::uint32_t kept = 0;        ///< executed events that are not final yet
  std::uint64_t failed = 0;      ///< whether the event with the lowest key has failed

  /// An event with this key is not executed.
  void note(const Key& key) {
    if (key >= lowest) return;
    lowest = key;
    failed = 0;
  }
};

/// What a rank reports to the others. Of words, as which it is exchanged.
struct Report {
  Key lowest = Key::infinity();  ///< as in WorkerReport
  Key highest;                   ///< of the events that were begun
  std::uint64_t executed = 0, pending = 0, memory_bytes = 0;
  std::uint64_t kept = 0;  ///< the most of a worker
  std::uint64_t failed = 0, stop = 0, pause = 0;

  void add(const WorkerReport& one) {
    if (one.lowest < lowest) failed = one.failed;
    lowest = std::min(lowest, one.lowest);
    executed += one.executed;
    pending += one.pending;
    kept = std::max<std::uint64_t>(kept, one.kept);
  }
  void add(const Report& one) {
    if (one.lowest < lowest) failed = one.failed;
    lowest = std::min(lowest, one.lowest);
    highest = std::max(highest, one.highest);
    executed += one.executed;
    pending += one.pending;
    memory_bytes += one.memory_bytes;
    kept = std::max(kept, one.kept);
    stop |= one.stop;
    pause |= one.pause;
  }
};

/// The decision of a meeting, for all workers.
struct Window {
  Key lowest;               ///< everything before it is executed and has not failed
  std::int64_t limit = 0;   ///< events at or after this time wait
  bool halts = false;       ///< events at or after Plan::cut() wait, too
  bool is_over = false;     ///< the run ends: Plan::ending()
  bool is_long = false;     ///< it will last so long that parts of other workers may be taken over
  bool hands_rows = false;  ///< rows before `lowest` are to be handed over
};

/// Worker 0's. The others read `cut` and `ending` when the decision says so.
class Plan {
 public:
  /// `delay`: L in ticks, or kNever. Nothing at or after `end` is executed, a pause or the horizon.
  /// `begin`: everything before it is executed.
  Plan(std::int64_t delay, const Key& begin, Time end, Time horizon, std::uint64_t goal_events)
      : delay_(delay),
        length_(delay),
        begin_(begin),
        end_(end.ticks()),
        horizon_(horizon),
        goal_events_(goal_events) {}

  /// Acts on the sum of all reports.
  Window next(const Report& all) {
    Window window;
    window.lowest = all.lowest;
    ending_ = ending_of(all);
    window.is_over = ending_.has_value();
    bound_log(all.kept);
    window_begin_ = all.lowest.time().ticks();
    limit_ = std::min(after(window_begin_, length_), end_);
    if (halt_) limit_ = std::min(limit_, after(halt_->cut.time().ticks(), 1));
    window.limit = limit_;
    window.halts = halt_.has_value();
    return window;
  }
  const Key& cut() const { return halt_->cut; }
  const std::optional<Ending>& ending() const { return ending_; }

 private:
  static constexpr std::uint64_t kMostKept = std::uint64_t{1} << 22;  ///< 128 MiB of log a worker

  std::optional<Ending> ending_of(const Report& all) {
    if (all.failed != 0) return Ending{RunEnd::fault, all.lowest};
    if (all.lowest.time() >= horizon_) return Ending{RunEnd::completed, Key::infinity()};
    if (all.lowest.time().ticks() >= end_)
      return Ending{RunEnd::paused, Key::start_of(Time::from_ticks(end_))};
    if (!halt_ && (all.stop != 0 || all.pause != 0 || all.executed >= goal_events_))
      halt_ = Ending{all.stop != 0 ? RunEnd::interrupted : RunEnd::paused,
                     std::max(all.highest.next(), begin_)};
    if (halt_ && all.lowest >= halt_->cut) return halt_;
    return std::nullopt;
  }
  /// Shortens windows whose events fill too much memory with what is kept of them (parts.h).
  void bound_log(std::uint64_t kept) {
    if (kept > kMostKept) {
      length_ = std::max<std::int64_t>(1, std::min(length_, limit_ - window_begin_) / 2);
    } else if (length_ != delay_ && kept < kMostKept / 4) {
      length_ = length_ > delay_ / 2 ? delay_ : 2 * length_;
    }
  }

  const std::int64_t delay_;
  std::int64_t length_;  ///< of a window, at most delay_
  const Key begin_;
  const std::int64_t end_;
  const Time horizon_;
  const std::uint64_t goal_events_;
  std::int64_t window_begin_ = 0, limit_ = 0;
  std::optional<Ending> halt_, ending_;
};

}  // namespace orrery::conservative
