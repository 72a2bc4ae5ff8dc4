// SPDX-License-Identifier: Apache-2.0
//
// The budget of trials: they may cost a share of the run. What a trial costs is the time that it
// takes beyond what the incumbent would have taken for the same work. So nearly equal candidates
// are compared often, because that costs nothing, and a clearly worse one rarely.
#pragma once

#include <algorithm>

namespace orrery::tuning {

class TrialBudget {
 public:
  constexpr explicit TrialBudget(double share) : share_(share) {}

  /// Whether a trial that presumably costs `cost` may begin, after `elapsed` of the run. Any unit,
  /// the same everywhere.
  bool allows(double cost, double elapsed) const { return spent_ + cost < share_ * elapsed; }
  /// Adds the cost of a trial or a part of it; negative if the candidate was faster.
  void charge(double cost) { spent_ = std::max(spent_ + cost, 0.0); }
  double spent() const { return spent_; }

 private:
  double share_;
  double spent_ = 0;
};

}  // namespace orrery::tuning
