// SPDX-License-Identifier: Apache-2.0
//
// When vehicles depart: the rate over the period, as steps of equal length. The rates of a profile
// are relative to its busiest step, which has the rate of the trip table: tables are made for busy
// hours, and an assignment of the table then is one for the busiest hour of the run.
//
// Departures are drawn on a clock on which the rate is constant, and its instants are mapped to
// those of the run (the time change that makes any Poisson process a homogeneous one). For the flat
// profile both clocks are one.
#pragma once

#include <string>
#include <vector>

#include "orrery/time.h"

namespace traffic {

class DepartureProfile {
 public:
  /// Flat.
  DepartureProfile() = default;
  /// `name`: flat, peak or day.
  DepartureProfile(const std::string& name, orrery::Duration period);

  bool is_flat() const { return begin_.empty(); }
  /// The mean rate by that of the busiest step.
  double mean_rate() const { return mean_rate_; }

  /// The instant of the run, from its start, at which the clock of constant rate shows `elapsed`;
  /// both go from 0 to the period.
  orrery::Duration instant(orrery::Duration elapsed) const {
    return is_flat() ? elapsed : mapped(elapsed);
  }

 private:
  orrery::Duration mapped(orrery::Duration elapsed) const;

  double mean_rate_ = 1;
  orrery::Duration period_;
  std::vector<orrery::Duration>
      begin_;  ///< of each step, on the clock of constant rate, and the end
};

}  // namespace traffic
