// SPDX-License-Identifier: Apache-2.0
//
// What Time Warp's workers report to each other in a round (transport/rounds.h): the lowest key,
// whose minimum is GVT, and sums from which all draw the same conclusions.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

#include "core/key.h"
#include "engine/timewarp/statistics.h"
#include "run/rounds/halt_report.h"
#include "transport/lowest.h"
#include "transport/rounds.h"

namespace orrery::timewarp {

struct GvtReport : transport::LowestKeys, rounds::HaltReport, WorkCounters {
  std::uint64_t committed = 0;
  std::uint64_t most_committed = 0;  ///< by one worker, in the round before
  std::uint64_t pending = 0;         ///< events in the pending set
  std::int64_t latest_ticks = 0;     ///< time of the latest event executed since the last report

  // How the load is spread, for balance.h.
  std::uint64_t busy_cycles = 0, lived_cycles = 0;  ///< spent on events; spent in the loop
  /// Cycles for the events committed since the period of balance.h began: of all workers, and of
  /// the busiest one.
  double load = 0, most_load = 0;
  std::uint64_t workers = 0;
  bool balances = false;            ///< LPs may move between its workers
  std::uint64_t period_cycles = 0;  ///< of balance.h, by the clock of rank 0
  /// Not reported, but computed from all reports (Shared::sum_of_reports): the load of the busiest
  /// worker if loads were even within each rank whose LPs can move.
  double even_load = 0;

  std::int64_t memory_bytes = 0;
  std::uint64_t memory_budget_bytes = 0;  ///< of a rank
  /// Computed likewise: memory_bytes, or, with several ranks, this rank's budget times the highest
  /// share of its budget that any rank uses.
  std::int64_t pressing_bytes = 0;

  // For events that cannot be undone (held.h).
  Key on_its_way = Key::infinity();  ///< lowest of the messages that were sent, or wait for room
  Key latest_final;                  ///< highest executed event that cannot be undone

  // Of fault_list.h.
  bool fault_at_lowest = false;   ///< the lowest key is an event whose execution failed
  bool fault_is_certain = false;  ///< and would fail again
  bool faulted = false;           ///< an execution has failed, here or ahead

  void add(const GvtReport& one) {
    add_faults(one);
    LowestKeys::add(one);
    HaltReport::add(one);
    WorkCounters::add(one);
    committed += one.committed;
    most_committed = std::max(most_committed, one.most_committed);
    pending += one.pending;
    latest_ticks = std::max(latest_ticks, one.latest_ticks);
    busy_cycles += one.busy_cycles;
    lived_cycles += one.lived_cycles;
    load += one.load;
    most_load = std::max(most_load, one.most_load);
    workers += one.workers;
    balances |= one.balances;
    period_cycles += one.period_cycles;
    memory_bytes += one.memory_bytes;
    memory_budget_bytes += one.memory_budget_bytes;
    on_its_way = std::min(on_its_way, one.on_its_way);
    latest_final = std::max(latest_final, one.latest_final);
  }

 private:
  /// Keys are unique: if the lowest keys of two reports are equal, one of them is a notice that
  /// cancels the event that failed. But faults of committed events, which occur in coasting
  /// forward, all lie at GVT.
  void add_faults(const GvtReport& one) {
    const std::strong_ordering order = one.lowest <=> lowest;
    faulted |= one.faulted;
    if (order > 0) return;
    fault_at_lowest = one.fault_at_lowest && (order < 0 || fault_at_lowest);
    fault_is_certain = one.fault_is_certain && (order < 0 || fault_is_certain);
  }
};

using GvtRounds = transport::Rounds<GvtReport>;

}  // namespace orrery::timewarp
