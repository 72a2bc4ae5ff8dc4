// SPDX-License-Identifier: Apache-2.0
//
// Whether a loop that polls MPI has something to do. It calls MPI_Iprobe, MPI_Testsome and the like
// again and again, and where it finds nothing it may have just computed an event, or not.
//
// Fruitless polls are looked at in windows of kPolls. A window in which nothing was computed takes
// the shortest time that there is, so one that takes little more than the shortest seen was spent
// with nothing but looking. One poll in some microseconds is no loop that waits, whatever the
// shortest was.
#pragma once

#include <algorithm>
#include <cstdint>

namespace orrery::llf::mpi {

class Idling {
 public:
  static constexpr unsigned kPolls = 32;
  static constexpr std::int64_t kSlowestNs = 5'000 * kPolls;

  /// After a poll that found something.
  void found() { polls_ = 0; }
  /// Nothing has been found yet by the loop that was woken: it may look at many places in turn.
  void woken() { polls_ = -static_cast<int>(kPolls); }
  /// After a fruitless poll. `now()` is a clock in nanoseconds, asked at the ends of windows.
  template <class Now>
  bool fruitless(Now&& now) {
    if (++polls_ == 1) begun_ns_ = now();
    if (polls_ < static_cast<int>(kPolls)) return false;
    const std::int64_t taken = now() - begun_ns_;
    polls_ = 0;
    // What a loop does between polls may change for good.
    shortest_ns_ = std::min(taken, shortest_ns_ + shortest_ns_ / 1024 + 1);
    return taken <= shortest_ns_ + shortest_ns_ / 4 && taken <= kSlowestNs;
  }

 private:
  int polls_ = 0;
  std::int64_t begun_ns_ = 0;
  std::int64_t shortest_ns_ = kSlowestNs;
};

}  // namespace orrery::llf::mpi
