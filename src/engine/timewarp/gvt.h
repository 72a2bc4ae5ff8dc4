// SPDX-License-Identifier: Apache-2.0
//
// What Time Warp's workers report to each other in a round (transport/rounds.h): the lowest key,
// whose minimum is GVT, and sums from which all draw the same conclusions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/key.h"
#include "transport/lowest.h"
#include "transport/rounds.h"

namespace orrery::timewarp {

struct GvtReport : transport::LowestKeys {
  Key on_its_way = Key::infinity();  ///< lowest of the messages that were sent, or wait for room
  Key latest_final;                  ///< highest executed event that cannot be undone (held.h)
  bool fault_at_lowest = false;      ///< `lowest` is an event whose execution failed
  bool fault_is_certain = false;     ///< and would fail again
  bool stop = false;                 ///< the run was asked to stop
  bool time_is_over = false;         ///< this engine's time with the world is over
  bool faulted = false;              ///< an execution has failed, here or ahead
  std::uint64_t executed = 0, rolled_back = 0, coasted = 0, committed = 0;
  std::uint64_t cancellations = 0;                  ///< events cancelled since the start of the run
  std::uint64_t most_committed = 0;                 ///< by one worker, in the round before
  std::uint64_t busy_cycles = 0, lived_cycles = 0;  ///< spent on events; spent in the loop
  /// Cycles for the events committed since the period of balance.h began: of all threads, and of
  /// the busiest one.
  double load = 0, most_load = 0;
  std::uint64_t workers = 0, threads = 0;
  bool balances = false;                 ///< LPs may move between its workers
  std::uint64_t period_cycles = 0;       ///< of balance.h, by the clock of rank 0
  std::uint64_t pending = 0;             ///< events in the pending set
  std::uint64_t sent = 0, received = 0;  ///< messages, since the start of the run
  std::uint64_t undone_at_cuts = 0;      ///< of rolled_back
  std::int64_t memory_bytes = 0;
  std::uint64_t memory_budget_bytes = 0;  ///< of a rank
  /// Not reported, but computed from all reports (Shared::sum_of_reports): memory_bytes, or, with
  /// several ranks, this rank's budget times the highest share of its budget that any rank uses.
  std::int64_t pressing_bytes = 0;
  /// Computed likewise: the load of the busiest thread if loads were even within each rank whose
  /// LPs can move.
  double even_load = 0;
  std::int64_t latest_ticks = 0;  ///< time of the latest event executed since the last report

  void add(const GvtReport& one) {
    on_its_way = std::min(on_its_way, one.on_its_way);
    latest_final = std::max(latest_final, one.latest_final);
    if (one.lowest < lowest) {
      fault_at_lowest = one.fault_at_lowest;
      fault_is_certain = one.fault_is_certain;
    } else if (one.lowest == lowest) {
      // Keys are unique: the other report's key is a notice that cancels the event that failed. But
      // faults of committed events, which occur in coasting forward, all lie at GVT.
      fault_at_lowest &= one.fault_at_lowest;
      fault_is_certain &= one.fault_is_certain;
    }
    LowestKeys::add(one);
    stop |= one.stop;
    time_is_over |= one.time_is_over;
    faulted |= one.faulted;
    executed += one.executed;
    rolled_back += one.rolled_back;
    coasted += one.coasted;
    committed += one.committed;
    cancellations += one.cancellations;
    most_committed = std::max(most_committed, one.most_committed);
    busy_cycles += one.busy_cycles;
    lived_cycles += one.lived_cycles;
    load += one.load;
    most_load = std::max(most_load, one.most_load);
    workers += one.workers;
    threads += one.threads;
    balances |= one.balances;
    period_cycles += one.period_cycles;
    pending += one.pending;
    sent += one.sent;
    received += one.received;
    undone_at_cuts += one.undone_at_cuts;
    memory_bytes += one.memory_bytes;
    memory_budget_bytes += one.memory_budget_bytes;
    latest_ticks = std::max(latest_ticks, one.latest_ticks);
  }
};

using GvtRounds = transport::Rounds<GvtReport>;

}  // namespace orrery::timewarp
