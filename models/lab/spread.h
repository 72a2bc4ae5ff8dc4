// SPDX-License-Identifier: Apache-2.0
//
// Measures how far hosts are apart in virtual time (--set spread=FILE): after each execution of a
// host, writes a line with the machine's clock and the least and greatest virtual time of all
// hosts. The file shows the effect of the order of execution (Yoginath's thesis, 3.1: hosts are
// executed in the order of their virtual times). It depends on the machine and is no part of
// results.
//
// A host's virtual time is the time up to which it has been executed. A host that has nothing to do
// for a window or longer is idle: no work of its own puts it behind or ahead of the others. Idle
// hosts are left out until they are executed again; hosts that have ended are left out, too.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "file.h"

namespace orrery::lab {

class Spread {
 public:
  /// Throws UsageError if the file cannot be made.
  Spread(const std::string& file, std::size_t hosts);

  /// The host has been executed until `until`.
  void executed(std::size_t host, std::int64_t until);
  /// The host has been executed, and is now idle or has ended.
  void idle(std::size_t host);

 private:
  static constexpr std::int64_t kIdle = -1;

  void write_line();

  // Relaxed: each value is independent and publishes no other data. A line that misses the newest
  // value is as good as a line written a moment earlier.
  std::vector<std::atomic<std::int64_t>> times_;
  File file_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace orrery::lab
