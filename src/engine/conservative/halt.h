// SPDX-License-Identifier: Apache-2.0
//
// How workers come to a cut together (world.h): when the run is asked to stop, when the engine is
// to give its world back, and when a period is over, so that blocks of LPs can go to other workers.
// All workers take each step from the same reports of rounds:
//   running    until a round shows that a halt is due; workers that adopt it begin no more events
//   holding    the next round's reports contain the highest key that was begun; the cut K is just
//              above it
//   draining   all events below K are executed, in order, and messages are received, until no event
//              is below K and as many messages were received as sent.
// When the lowest key of all has reached K, nothing is executed and so nothing sent: a worker that
// had executed an event since it joined that round would have reported that event as its lowest. So
// the sums of that round are final, and by the argument in run/rounds/halt_report.h all channels
// are empty if the sums agree.
//
// The same holds for a pause at a time that was known before: no event at or after it is begun.
//
// An event that failed counts as begun: K is above it, and the run ends with it when GVT reaches
// it.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/conservative/report.h"
#include "run/engine.h"

namespace orrery::conservative {

class Halt {
 public:
  /// Why and where execution stopped.
  struct Ending {
    /// Empty: only the period is over, not the run.
    std::optional<RunEnd> end;
    Key cut;
  };

  /// `goal_events`: a halt is due when this many events are executed.
  explicit Halt(std::uint64_t goal_events) : goal_events_(goal_events) {}

  /// Acts on a round's reports. True if the halt is reached; see `ending`. No event at or after
  /// `end` is executed; `end` is the horizon `until` or a pause before it.
  bool adopt(const Report& sum, Time end, Time until) {
    if (sum.fault_at_lowest) return finish(RunEnd::fault, sum.lowest);
    if (sum.lowest.time() >= until) return finish(RunEnd::completed, Key::infinity());
    if (sum.lowest.time() >= end)
      return sum.all_received() && finish(RunEnd::paused, Key::start_of(end));
    switch (phase_) {
      case Phase::running:
        note_reason(sum);
        if (due_) phase_ = Phase::holding;
        return false;
      case Phase::holding:
        limit_ = std::max(sum.highest.next(), least_cut_);
        phase_ = Phase::draining;
        [[fallthrough]];
      case Phase::draining:
        return sum.lowest >= limit_ && sum.all_received() && finish(reason_, limit_);
    }
    return false;
  }
  /// A halt is under way, so rounds are due.
  bool is_under_way() const { return phase_ != Phase::running; }
  bool holds() const { return phase_ == Phase::holding; }
  /// Events at or above the limit must not be begun.
  const Key& limit() const { return limit_; }
  const Ending& ending() const { return ending_; }

  /// A period begins at `cut`.
  void begin(const Key& cut) {
    least_cut_ = cut;
    limit_ = Key::infinity();
    phase_ = Phase::running;
    due_ = false;
    reason_.reset();
  }

 private:
  enum class Phase : std::uint8_t { running, holding, draining };

  void note_reason(const Report& sum) {
    if (sum.stop) {
      reason_ = RunEnd::interrupted;
    } else if (sum.time_is_over || sum.executed >= goal_events_) {
      reason_ = RunEnd::paused;
    }
    due_ = reason_.has_value() || sum.period_is_over;
  }
  bool finish(std::optional<RunEnd> end, const Key& cut) {
    ending_ = {end, cut};
    return true;
  }

  Key least_cut_, limit_ = Key::infinity();
  const std::uint64_t goal_events_;
  Phase phase_ = Phase::running;
  bool due_ = false;
  std::optional<RunEnd> reason_;
  Ending ending_;
};

}  // namespace orrery::conservative
