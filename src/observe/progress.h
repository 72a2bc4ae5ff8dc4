// SPDX-License-Identifier: Apache-2.0
//
// The progress line: how far GVT has come, how fast, and how long it will take. A meter turns
// samples of a run's counters into rates that are calm enough to read; the text is made here, too,
// so that it can be tested without a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "observe/terminal.h"

namespace orrery {

struct ProgressSample {
  double wall_seconds = 0;       ///< since the start of the run
  double simulated_seconds = 0;  ///< GVT
  std::uint64_t committed = 0;
  std::uint64_t executed = 0;
  std::uint64_t memory_bytes = 0;
  std::string engine{};  ///< of the moment, with its workers; empty where a run has one engine
};

class ProgressMeter {
 public:
  explicit ProgressMeter(double horizon_seconds) : horizon_seconds_(horizon_seconds) {}
  void add(const ProgressSample& sample);

  double share() const;
  double events_per_second() const { return events_per_second_; }
  double simulated_per_second() const { return simulated_per_second_; }
  double efficiency() const { return efficiency_; }
  /// Until the horizon, at this pace; nothing where nothing moves.
  std::optional<double> seconds_left() const;
  std::string left_text() const;  ///< "12 s left"; empty likewise
  /// One line without its end, at most `terminal.width` - 1 columns if it has a width; with a bar
  /// if the terminal is interactive.
  std::string line(const Terminal& terminal) const;
  /// The same where nothing goes on: `where` names the handler that runs.
  std::string line_about(const std::string& where, double seconds, const Terminal& terminal) const;

 private:
  std::string percent_text() const;
  double horizon_seconds_;
  ProgressSample last_;
  bool started_ = false;
  double events_per_second_ = 0, simulated_per_second_ = 0, efficiency_ = 1;
};

/// A bar of `width` columns of which `share` is filled, in eighths of a column where the terminal
/// has the characters.
std::string bar_text(double share, unsigned width, bool utf8);

}  // namespace orrery
