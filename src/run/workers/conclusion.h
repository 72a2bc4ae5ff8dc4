// SPDX-License-Identifier: Apache-2.0
//
// The end of an engine's work with a world, after its threads have ended: adds up what the workers
// of all ranks have done, in the world and in the result.
#pragma once

#include <cstdint>

#include "run/ranks/rank_end.h"
#include "run/results/statistics.h"
#include "run/world/world_engine.h"

namespace orrery {

/// Why and where an engine returns its world.
struct Ending {
  RunEnd end = RunEnd::completed;
  Key cut;
};

/// `loops`: a range of pointers to the EventLoops of this rank. `counters`: this rank's, described
/// by `table`; returns the sum over all ranks, which it reports, too. All ranks call it.
template <class Loops, class Counters, std::size_t N>
Counters conclude(World& world, const RunOptions& options, RunControl& control,
                  const Ending& ending, const Loops& loops, const CounterInfo<Counters> (&table)[N],
                  const Counters& counters, RunResult& result) {
  RankEnd<Counters> own;
  own.counters = counters;
  for (const auto& loop : loops) {
    world.trail.merge(loop->trail());
    world.mergeable_statistics.merge(loop->mergeable_statistics());
    own.executed += loop->executed();
    own.committed += loop->executed() - loop->taken_back();
    if (loop->fault() && loop->fault()->key == ending.cut) own.note(&*loop->fault());
    result.peak_memory_bytes += loop->memory_bytes();
    if (!loop->note().empty()) add_note(result.notes, loop->note());
  }
  own.set_trail(world.trail);
  const auto ends = share_ends(control.ranks, std::move(own));
  Counters sum;
  for (const RankEnd<Counters>& end : ends) {
    world.committed += end.committed;
    world.executed += end.executed;
    merge_counters(table, sum, end.counters);
  }
  report_counters(table, sum, result.statistics);
  if (ending.end == RunEnd::fault)
    result.fault = describe_fault(world.model(), ends, ending.cut, options.livelock_microsteps);
  result.end = ending.end;
  result.workers = static_cast<unsigned>(loops.size());
  world.cut = ending.cut;
  return sum;
}

}  // namespace orrery
