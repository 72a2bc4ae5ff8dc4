// SPDX-License-Identifier: Apache-2.0
//
// What workers report to each other in a round (transport/rounds.h): lower bounds of what may still
// be executed, and sums from which all draw the same conclusions.
//
// `lowest` is GVT when the lowest of all is taken. A worker that has joined goes on executing, and
// what it sends then may be behind it in somebody's ring when that one reports. All that comes of
// what it executes since it joined has keys above the first of these, since it executes in the
// order of keys; so that one's key counts, beside what is pending when it joins and when it
// reports. Messages that waited for room when it joined count themselves.
//
// `begins` is the same in times of causes, for bounds by delays: a message that waits for room has
// a cause that was not before what the worker promised last (board.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/key.h"
#include "engine/conservative/lookaheads.h"
#include "transport/lowest.h"
#include "transport/rounds.h"

namespace orrery::conservative {

struct Report : transport::LowestKeys {
  std::int64_t begins = kNever;  ///< of this worker, or of a rank
  Key highest;                   ///< that was begun
  bool fault_at_lowest = false;  ///< `lowest` is an event whose execution failed
  bool stop = false;             ///< the run was asked to stop
  bool period_is_over = false;
  bool time_is_over = false;             ///< that the engine has with this world
  std::uint64_t executed = 0;            ///< since the engine has the world
  std::uint64_t sent = 0, received = 0;  ///< messages, the same
  std::uint64_t memory_bytes = 0;

  void add(const Report& one) {
    if (one.lowest < lowest) fault_at_lowest = one.fault_at_lowest;
    LowestKeys::add(one);
    begins = std::min(begins, one.begins);
    highest = std::max(highest, one.highest);
    stop |= one.stop;
    period_is_over |= one.period_is_over;
    time_is_over |= one.time_is_over;
    executed += one.executed;
    sent += one.sent;
    received += one.received;
    memory_bytes += one.memory_bytes;
  }
};

using Rounds = transport::Rounds<Report>;

}  // namespace orrery::conservative
