// SPDX-License-Identifier: Apache-2.0
//
// Wall-clock time of a run's phases.
#pragma once

#include <chrono>

namespace orrery {

class Stopwatch {
 public:
  /// Seconds since construction or the last lap().
  double lap() {
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - start_).count();
    start_ = now;
    return seconds;
  }
  /// The same without beginning a new lap.
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace orrery
