// SPDX-License-Identifier: Apache-2.0
//
// How far hosts are apart in virtual time while they run (--set spread=FILE): after each execution
// of a host a line with the machine's clock and the least and the greatest virtual time of all
// hosts. It shows what the order of execution does (Yoginath's thesis, 3.1: hosts are executed in
// the order of their virtual times), depends on the machine, and is no part of results.
//
// A host's virtual time is that up to which it has been executed. One that then has nothing to do
// for a window or longer is idle: no work of its own sets it behind or ahead of the others, and it
// is left out until it is executed again, as are hosts that have ended.
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

  /// The host has been executed until then.
  void executed(std::size_t host, std::int64_t until);
  /// It has been executed, and is idle now or has ended.
  void idle(std::size_t host);

 private:
  static constexpr std::int64_t kIdle = -1;

  void write_line();

  // Relaxed: each value stands for itself and publishes nothing else, and a line that misses the
  // newest is as good as one that was written a moment earlier.
  std::vector<std::atomic<std::int64_t>> times_;
  File file_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace orrery::lab
