// SPDX-License-Identifier: Apache-2.0
//
// The status line of a measurement: rewritten on a terminal, else a new line now and then.
#pragma once

#include <chrono>
#include <string>

#include "output/status_line.h"

namespace orrery::advise {

class Status {
 public:
  Status(double budget_seconds, bool quiet) : budget_(budget_seconds), quiet_(quiet) {}

  /// Seconds since the start.
  double seconds() const;
  /// Seconds that are left of the budget; below 0 when it is used up.
  double left() const { return budget_ - seconds(); }
  void show(const std::string& what);
  void clear() { line_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;

  const double budget_;
  const bool quiet_;
  StatusLine line_;
  const Clock::time_point begin_ = Clock::now();
  double next_line_ = 0;
};

}  // namespace orrery::advise
