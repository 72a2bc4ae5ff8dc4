// SPDX-License-Identifier: Apache-2.0
//
// What workers report to each other in a round (transport/rounds.h): lower bounds on the events
// that may still be executed, and sums from which all workers draw the same conclusions.
//
// The minimum of all `lowest` is GVT. A worker that has joined a round goes on executing, and a
// message that it sends then may reach its receiver after the receiver has reported. A worker
// executes in the order of keys, so all such messages have keys above the first event that it
// executes after it joined. So the key of that event counts, besides the events pending when the
// worker joins and when it reports. Messages that wait for room in a ring when the worker joins
// count themselves.
//
// `begins` is the same bound on the times of causes, for bounds by delays: a message that waits for
// room has a cause that is not before the worker's last promise (board.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/key.h"
#include "engine/conservative/lookaheads.h"
#include "run/rounds/halt_report.h"
#include "transport/lowest.h"
#include "transport/rounds.h"

namespace orrery::conservative {

struct Report : transport::LowestKeys, rounds::HaltReport {
  std::int64_t begins = kNever;  ///< ticks; of a worker, or of a rank
  Key highest;                   ///< of the events that were begun
  bool fault_at_lowest = false;  ///< `lowest` is an event whose execution failed
  bool period_is_over = false;
  std::uint64_t executed = 0;  ///< by this engine in this world; of a worker: this period
  std::uint64_t memory_bytes = 0;

  void add(const Report& one) {
    if (one.lowest < lowest) fault_at_lowest = one.fault_at_lowest;
    LowestKeys::add(one);
    HaltReport::add(one);
    begins = std::min(begins, one.begins);
    highest = std::max(highest, one.highest);
    period_is_over |= one.period_is_over;
    executed += one.executed;
    memory_bytes += one.memory_bytes;
  }
};

using Rounds = transport::Rounds<Report>;

}  // namespace orrery::conservative
