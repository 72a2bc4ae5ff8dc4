// SPDX-License-Identifier: Apache-2.0
//
// The progress line of a study: how many runs have ended, and the time left if the other runs take
// as long.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "output/status_line.h"

namespace orrery::study {

struct StudySample {
  std::uint64_t done = 0, total = 0, failed = 0, running = 0;
  std::uint64_t done_before = 0;  ///< runs that were finished before the start
  double seconds = 0;             ///< since the start
};

/// "12 of 40 runs  30 %  2 running  1 min 03 s left", with a bar on a terminal.
std::string progress_line(const StudySample& sample, const Terminal& terminal);

/// Writes to standard error: a line that is rewritten on a terminal, else a new line now and then.
class StudyProgress {
 public:
  explicit StudyProgress(bool quiet);

  /// Shows the line if the last one is old enough.
  void show(StudySample sample);
  /// Prints a line of its own, also with `quiet`.
  void say(const std::string& line);
  /// Removes the line, before other output is printed.
  void clear() { line_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;

  StatusLine line_;
  const bool quiet_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point next_ = begin_;
};

}  // namespace orrery::study
