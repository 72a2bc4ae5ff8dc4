// SPDX-License-Identifier: Apache-2.0
//
// Decides whether all workers execute together or one worker executes alone, and for how long.
// Where windows are poor (few events within a lookahead, or another program on one of the cores)
// workers spend their time waiting for each other. Only the rate of events shows this, so both ways
// are measured, one right after the other: the load of the machine by other programs changes slowly
// compared with that. The other way is tried again after a while, twice as long each time that it
// was not better; sooner where both were close, since a model's rate changes on its own, and at
// once when the rate has changed.
//
// A run begins with one worker alone: a short run, or one without windows, then loses nothing, and
// LPs move once where all workers together are faster.
//
// A trial ("look") is long enough to outweigh the switch, in which LPs change workers, and their
// cache lines come from another core.
//
// The engine does not choose in a run of which it executes slices for another engine: that engine
// chooses. A run that halts on its way goes on with what it has found out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/conservative/settings.h"
#include "run/tuning/rest.h"

namespace orrery::conservative {

class Tempo {
 public:
  /// `chooses`: both ways are possible; else all workers execute.
  explicit Tempo(bool chooses) : in_place_(chooses), chooses_(chooses) {}

  bool chooses() const { return chooses_; }

  struct Period {
    bool in_place = false;
    double seconds = 0;  ///< the period ends at the first halt after this time
  };
  Period next() const {
    if (looks_) return {!in_place_, look_seconds()};
    if (!chooses_) return {in_place_, period_seconds_};
    if (elapsed_ == 0) return {in_place_, kFirstSeconds};
    return {in_place_, std::clamp(due_ - elapsed_, look_seconds(), kLongestPeriod)};
  }
  /// The period took `seconds` and executed `events`.
  void note(std::uint64_t events, double seconds) {
    elapsed_ += seconds;
    period_seconds_ = std::min(2 * period_seconds_, kLongestPeriod);
    const double rate = seconds > 0 ? static_cast<double>(events) / seconds : 0;
    if (looks_) {
      end_look(rate);
      return;
    }
    const bool changed = rate_at_look_ > 0 && std::abs(rate / rate_at_look_ - 1) > kChange;
    if (changed) rest_.reset();
    rate_ = rate;
    looks_ = chooses_ && (changed || elapsed_ >= due_);
  }
  /// Moving blocks to other workers took `seconds`.
  void note_switch(double seconds) { switch_seconds_ = seconds; }
  /// How often the other way turned out to be better.
  std::uint64_t changes() const { return changes_; }

 private:
  static constexpr double kFirstSeconds = 0.05, kLookSeconds = 0.02, kSwitchesALook = 5;
  static constexpr double kFirstWait = 0.25, kLongestWait = 60;
  static constexpr double kLooksAWait = 25, kLooksAShortWait = 5;
  static constexpr double kFirstPeriod = 0.05, kLongestPeriod = 1;
  static constexpr double kBetter = 1.03, kClose = 1.3, kChange = 0.25;

  double look_seconds() const { return std::max(kLookSeconds, kSwitchesALook * switch_seconds_); }
  void end_look(double rate) {
    looks_ = false;
    const bool close = rate * kClose > rate_ && rate < kClose * rate_;
    if (rate > kBetter * rate_) {
      in_place_ = !in_place_;
      rate_ = rate;
      rest_.reset();
      ++changes_;
    }
    rate_at_look_ = rate_;
    const double looks = close ? kLooksAShortWait : kLooksAWait;
    due_ = elapsed_ + std::max(rest_.take(), looks * look_seconds());
  }

  bool in_place_;
  const bool chooses_;
  bool looks_ = false;  ///< the next period tries the other way
  double rate_ = 0, rate_at_look_ = 0;
  double elapsed_ = 0, due_ = 0;
  tuning::Rest<double> rest_{kFirstWait, kLongestWait};  ///< seconds between looks
  double period_seconds_ = kFirstPeriod, switch_seconds_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace orrery::conservative
