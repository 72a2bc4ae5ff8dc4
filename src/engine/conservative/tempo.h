// SPDX-License-Identifier: Apache-2.0
//
// How long all workers execute together, and when one of them had better go on alone. Where windows
// are poor (few events within a lookahead, or another program on one of the cores) workers spend
// their time on waiting for each other. That shows in the rate alone, so both ways are measured,
// one right after the other: what else the machine does changes slowly compared with that. The
// other way is looked at again after a while, twice as long each time that it was not better;
// sooner where both were close, since a model's rate changes on its own, and at once when the rate
// has changed.
//
// A run begins with one alone: what is short or windowless loses nothing then, and LPs change hands
// once where all together are better.
//
// A look is long enough for what it takes to get there: LPs change hands, and their lines come from
// another core.
//
// A run that another engine has taken over for a while does not choose: that engine does. One that
// halts on its way goes on with what it has found out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/conservative/settings.h"

namespace orrery::conservative {

class Tempo {
 public:
  /// `chooses`: both ways are open; else all execute.
  explicit Tempo(bool chooses) : in_place_(chooses), chooses_(chooses) {}

  bool chooses() const { return chooses_; }

  struct Period {
    bool in_place = false;
    double seconds = 0;  ///< it ends at the first halt after that
  };
  Period next() const {
    if (looks_) return {!in_place_, look_seconds()};
    if (!chooses_) return {in_place_, period_seconds_};
    if (elapsed_ == 0) return {in_place_, kFirstSeconds};
    return {in_place_, std::clamp(due_ - elapsed_, look_seconds(), kLongestPeriod)};
  }
  /// What came of that period: events executed.
  void note(std::uint64_t events, double seconds) {
    elapsed_ += seconds;
    period_seconds_ = std::min(2 * period_seconds_, kLongestPeriod);
    const double rate = seconds > 0 ? static_cast<double>(events) / seconds : 0;
    if (looks_) {
      end_look(rate);
      return;
    }
    const bool changed = rate_at_look_ > 0 && std::abs(rate / rate_at_look_ - 1) > kChange;
    if (changed) wait_ = kFirstWait;
    rate_ = rate;
    looks_ = chooses_ && (changed || elapsed_ >= due_);
  }
  /// Blocks have changed hands, which took so long.
  void note_switch(double seconds) { switch_seconds_ = seconds; }
  /// Times that the other way turned out to be better.
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
      wait_ = kFirstWait;
      ++changes_;
    }
    rate_at_look_ = rate_;
    const double looks = close ? kLooksAShortWait : kLooksAWait;
    due_ = elapsed_ + std::max(wait_, looks * look_seconds());
    wait_ = std::min(2 * wait_, kLongestWait);
  }

  bool in_place_;
  const bool chooses_;
  bool looks_ = false;  ///< at the other way
  double rate_ = 0, rate_at_look_ = 0;
  double elapsed_ = 0, due_ = 0;
  double wait_ = kFirstWait, period_seconds_ = kFirstPeriod, switch_seconds_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace orrery::conservative
