// SPDX-License-Identifier: Apache-2.0
//
// Detects a loop that polls MPI without any other work. Such a loop calls MPI_Iprobe, MPI_Testsome
// and the like again and again; between two polls that find nothing, it may have computed an event,
// or not.
//
// Fruitless polls are timed in windows of kPolls. A window without any computation takes the
// shortest possible time, so a window that takes little more than the shortest one seen contained
// only polls. A loop that polls less than once in some microseconds does not wait, whatever the
// shortest time was.
#pragma once

#include <algorithm>
#include <cstdint>

namespace orrery::llf::mpi {

class Idling {
 public:
  static constexpr unsigned kPolls = 32;
  static constexpr std::int64_t kSlowestNs = 5'000 * kPolls;

  /// Call it after a poll that found something.
  void found() { polls_ = 0; }
  /// Call it after the loop was woken and has not found anything yet: the loop may poll many
  /// sources in turn.
  void woken() { polls_ = -static_cast<int>(kPolls); }
  /// Call it after a fruitless poll. `now()`: a clock in nanoseconds, read at the ends of windows.
  /// True if the loop only polls.
  template <class Now>
  bool fruitless(Now&& now) {
    if (++polls_ == 1) begun_ns_ = now();
    if (polls_ < static_cast<int>(kPolls)) return false;
    const std::int64_t taken = now() - begun_ns_;
    polls_ = 0;
    // Forgets slowly, since the work between polls may change for good.
    shortest_ns_ = std::min(taken, shortest_ns_ + shortest_ns_ / 1024 + 1);
    return taken <= shortest_ns_ + shortest_ns_ / 4 && taken <= kSlowestNs;
  }

 private:
  int polls_ = 0;
  std::int64_t begun_ns_ = 0;
  std::int64_t shortest_ns_ = kSlowestNs;
};

}  // namespace orrery::llf::mpi
