// SPDX-License-Identifier: Apache-2.0
//
// The counters of a worker.
#pragma once

#include <cstdint>

#include "run/results/statistics.h"

namespace orrery::timewarp {

/// The counters that workers report to each other in a round (gvt.h).
struct WorkCounters {
  std::uint64_t executed = 0, rolled_back = 0, coasted = 0;
  std::uint64_t cancellations = 0;   ///< events cancelled
  std::uint64_t undone_at_cuts = 0;  ///< of rolled_back

  void add(const WorkCounters& one) {
    executed += one.executed;
    rolled_back += one.rolled_back;
    coasted += one.coasted;
    cancellations += one.cancellations;
    undone_at_cuts += one.undone_at_cuts;
  }
};

/// Over the run, one per worker.
struct WorkerStatistics : WorkCounters {
  std::uint64_t rollbacks = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t streamed_checkpoints = 0;
  std::uint64_t remote_events = 0;
  std::uint64_t notices = 0;
  std::uint64_t retreats = 0;
  std::uint64_t gvt_rounds = 0;
  std::uint64_t idle_polls = 0;
  std::uint64_t cuts = 0;
  std::uint64_t interrupted = 0, squashed = 0, gave_way = 0, rings = 0;
  std::uint64_t held = 0;                  ///< executed events of LPs that must not roll back
  std::uint64_t moves = 0, lps_moved = 0;  ///< of LPs between workers
};

/// `executed`: without coasting forward. `checkpoints`: of small and journaled LPs; run.cpp adds
/// those of LPs with a record, and `streamed_checkpoints`, which checkpoint::Checkpointer counts.
inline constexpr CounterInfo<WorkerStatistics> kWorkerCounters[] = {
    {&WorkerStatistics::executed, Merge::sum},
    {&WorkerStatistics::rolled_back, Merge::sum, "rolled_back", "executed events that were undone"},
    {&WorkerStatistics::rollbacks, Merge::sum, "rollbacks", "rollbacks of single LPs"},
    {&WorkerStatistics::coasted, Merge::sum, "coasted",
     "events executed again after a rollback to restore a state"},
    {&WorkerStatistics::checkpoints, Merge::sum, "checkpoints", "checkpoints taken"},
    {&WorkerStatistics::streamed_checkpoints, Merge::sum, "streamed_checkpoints",
     "of these, written past the caches"},
    {&WorkerStatistics::remote_events, Merge::sum, "remote_events", "events sent to other workers"},
    {&WorkerStatistics::cancellations, Merge::sum, "cancellations", "events cancelled"},
    {&WorkerStatistics::notices, Merge::sum, "cancellation_notices",
     "cancelled events that another worker had executed"},
    {&WorkerStatistics::retreats, Merge::sum, "retreats",
     "rollbacks of LPs that were too far ahead of GVT"},
    {&WorkerStatistics::gvt_rounds, Merge::maximum, "gvt_rounds", "computations of GVT"},
    {&WorkerStatistics::idle_polls, Merge::sum, "idle_polls",
     "times that a worker found no event to execute"},
    {&WorkerStatistics::interrupted, Merge::sum, "interrupted",
     "handlers interrupted for an earlier event"},
    {&WorkerStatistics::squashed, Merge::sum, "squashed",
     "interrupted handlers that were undone, not resumed"},
    {&WorkerStatistics::gave_way, Merge::sum, "gave_way",
     "interrupted handlers undone because too many were nested"},
    {&WorkerStatistics::rings, Merge::sum, "rings",
     "times that a worker interrupted another worker"},
    {&WorkerStatistics::cuts, Merge::maximum},
    {&WorkerStatistics::undone_at_cuts, Merge::sum},
    {&WorkerStatistics::held, Merge::sum},
    {&WorkerStatistics::moves, Merge::maximum},  // ranks move together
    {&WorkerStatistics::lps_moved, Merge::sum},
};

}  // namespace orrery::timewarp
