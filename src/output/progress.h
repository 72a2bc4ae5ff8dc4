// SPDX-License-Identifier: Apache-2.0
//
// The progress line: how far GVT has come, how fast, and how long the rest will take. ProgressMeter
// turns samples of a run's counters into smooth rates. It also makes the text, so that tests need
// no terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "output/terminal.h"

namespace orrery {

struct ProgressSample {
  double wall_seconds = 0;       ///< since the start of the run
  double simulated_seconds = 0;  ///< GVT
  std::uint64_t committed = 0;
  std::uint64_t executed = 0;
  std::uint64_t memory_bytes = 0;
  std::string engine{};  ///< the engine now, with its workers; empty if the run has one engine
};

class ProgressMeter {
 public:
  explicit ProgressMeter(double horizon_seconds) : horizon_seconds_(horizon_seconds) {}
  void add(const ProgressSample& sample);

  double share() const;
  double events_per_second() const { return events_per_second_; }
  double simulated_per_second() const { return simulated_per_second_; }
  double efficiency() const { return efficiency_; }
  /// Until the horizon, at the present rate; nothing if GVT does not advance.
  std::optional<double> seconds_left() const;
  std::string left_text() const;  ///< "12 s left"; empty without seconds_left()
  /// One line without its end, at most `terminal.width` - 1 columns if it has a width; with a bar
  /// if the terminal is interactive.
  std::string line(const Terminal& terminal) const;
  /// The line for a run that makes no progress: `where` names the handler that runs.
  std::string line_about(const std::string& where, double seconds, const Terminal& terminal) const;

 private:
  std::string percent_text() const;
  double horizon_seconds_;
  ProgressSample last_;
  bool started_ = false;
  double events_per_second_ = 0, simulated_per_second_ = 0, efficiency_ = 1;
};

/// A bar of `width` columns of which `share` is filled, in eighths of a column if the terminal has
/// UTF-8.
std::string bar_text(double share, unsigned width, bool utf8);

}  // namespace orrery
