// SPDX-License-Identifier: Apache-2.0
//
// What Time Warp's workers report to each other in a round (transport/rounds.h): the lowest key,
// whose minimum is GVT, and sums from which all draw the same conclusions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/key.h"
#include "transport/rounds.h"

namespace orrery::timewarp {

struct GvtReport {
  Key lowest = Key::infinity();
  bool fault_at_lowest = false;  ///< `lowest` is an event whose execution failed
  bool stop = false;             ///< the run was asked to stop
  std::uint64_t executed = 0, rolled_back = 0, committed = 0;
  std::uint64_t cancellations = 0;  ///< events cancelled since the start of the run
  std::uint64_t pending = 0;        ///< events in the pending set
  std::int64_t memory_bytes = 0;
  std::int64_t latest_ticks = 0;  ///< time of the latest event executed since the last report

  void add(const GvtReport& one) {
    if (one.lowest < lowest) {
      lowest = one.lowest;
      fault_at_lowest = one.fault_at_lowest;
    } else if (one.lowest == lowest) {
      // Keys are unique: the other one is the notice that cancels the event that failed.
      fault_at_lowest = false;
    }
    stop |= one.stop;
    executed += one.executed;
    rolled_back += one.rolled_back;
    committed += one.committed;
    cancellations += one.cancellations;
    pending += one.pending;
    memory_bytes += one.memory_bytes;
    latest_ticks = std::max(latest_ticks, one.latest_ticks);
  }
};

using GvtRounds = transport::Rounds<GvtReport>;

}  // namespace orrery::timewarp
