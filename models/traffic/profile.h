// SPDX-License-Identifier: Apache-2.0
//
// When vehicles depart: the rate over the period, as steps of equal length. The rates of a profile
// are relative to its busiest step, which has the rate of the trip table. Trip tables are made for
// busy hours, so an assignment of the table is valid for the busiest hour of the run.
//
// Departures are drawn on a clock on which the rate is constant, and then mapped to times of the
// run (the time change that turns any Poisson process into a homogeneous one). For the flat profile
// both clocks are the same.
#pragma once

#include <string>
#include <vector>

#include "orrery/time.h"

namespace traffic {

class DepartureProfile {
 public:
  /// The flat profile.
  DepartureProfile() = default;
  /// `name`: flat, peak or day.
  DepartureProfile(const std::string& name, orrery::Duration period);

  bool is_flat() const { return begin_.empty(); }
  /// The mean rate divided by the rate of the busiest step.
  double mean_rate() const { return mean_rate_; }

  /// The time since the start of the run at which the clock of constant rate shows `elapsed`. Both
  /// go from 0 to the period.
  orrery::Duration instant(orrery::Duration elapsed) const {
    return is_flat() ? elapsed : mapped(elapsed);
  }

 private:
  orrery::Duration mapped(orrery::Duration elapsed) const;

  double mean_rate_ = 1;
  orrery::Duration period_;
  std::vector<orrery::Duration>
      begin_;  ///< start of each step on the clock of constant rate, then the end
};

}  // namespace traffic
