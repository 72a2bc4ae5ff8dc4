// SPDX-License-Identifier: Apache-2.0
//
// ConservativeRun: collects the results at the end of the run. Included by run.h only.
#pragma once

#include <fmt/format.h>

namespace orrery::conservative {

template <class Pending>
void ConservativeRun<Pending>::conclude(RunResult& result) {
  World& world = shared_.world;
  const Halt::Ending& ending = shared_.ending;
  result.end = *ending.end;
  result.workers = shared_.workers;
  std::uint64_t ahead = 0;
  for (unsigned i = 0; i < shared_.workers; ++i) {
    ahead += executed_ahead_[i];
    world.trail.merge(workers_[i]->trail());
    world.mergeable_statistics.merge(workers_[i]->mergeable_statistics());
    result.peak_memory_bytes += workers_[i]->memory_bytes();
    if (!refusals_[i].empty()) result.notes.push_back(refusals_[i]);
  }
  result.peak_memory_bytes += shared_.depot.slab_bytes() + shared_.partition.bytes() +
                              shared_.lps.capacity() * sizeof(LpRecord);
  shared_.team.add_notes(result.notes);
  const auto ends = share_ends(shared_.control.ranks, own_end(ahead));
  if (ending.end == RunEnd::fault)
    result.fault = describe_fault(ends, ending.cut, shared_.options.livelock_microsteps);
  add_statistics(ends, result);
  world.cut = ending.cut;
  for (const auto& end : ends) {
    world.committed += end.committed;
    world.executed += end.executed;
  }
  if (world.parts() < shared_.workers)
    for (const auto& worker : workers_) worker->give_events(world.pending[0]);
  if (blocks_moved_ > 0) let_parts_follow();
  give_lps_back();
}

/// Called last, when all else is freed, because it takes memory. The LPs' states are in the
/// records.
template <class Pending>
void ConservativeRun<Pending>::give_lps_back() {
  World& world = shared_.world;
  if (!world.lps().empty()) return;
  shared_.rank_link.reset();
  workers_.clear();
  shared_.depot.clear();
  world.lps().restore();
  for (LpId id = 0; id < world.lp_count(); ++id) world.lp(id) = shared_.lps[id];
}

/// Updates the world's parts, so that the next engine finds LPs at the workers that executed them.
template <class Pending>
void ConservativeRun<Pending>::let_parts_follow() {
  World& world = shared_.world;
  const unsigned workers = shared_.workers;
  if (world.part_table().empty() || world.parts() < workers) return;
  for (LpId id = 0; id < world.lp_count(); ++id) {
    if (!world.is_here(id)) continue;
    const unsigned owner = shared_owners_[shared_.partition.block_of(id)];
    if (world.worker_of(world.part_of(id), workers) != owner) world.give_to(id, owner, workers);
  }
}

/// `ahead`: events that were executed behind a fault.
template <class Pending>
auto ConservativeRun<Pending>::own_end(std::uint64_t ahead) const -> RankEnd<Counters> {
  RankEnd<Counters> end;
  end.executed = executed();
  end.committed = executed() - ahead;
  end.counters.blocks_moved = blocks_moved_;
  end.set_trail(shared_.world.trail);
  for (const auto& worker : workers_) {
    merge_counters(kWorkerCounters, end.counters.statistics, worker->statistics());
    const auto& fault = worker->fault();
    if (fault && fault->key == shared_.ending.cut) end.note(&*fault);
  }
  return end;
}

template <class Pending>
void ConservativeRun<Pending>::add_statistics(const std::vector<RankEnd<Counters>>& ends,
                                              RunResult& result) const {
  WorkerStatistics sum;
  std::uint64_t blocks_moved = 0;
  for (const auto& end : ends) {
    merge_counters(kWorkerCounters, sum, end.counters.statistics);
    blocks_moved += end.counters.blocks_moved;
  }
  report_counters(kWorkerCounters, sum, result.statistics);
  result.statistics.push_back({"blocks_moved", "",
                               "blocks of LPs given to another worker to even out loads",
                               static_cast<double>(blocks_moved), true});
  const auto percent = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  result.account = fmt::format(
      "{} events went from worker to worker, {:.0f} % of the looks at promises found no safe "
      "event, and one worker alone executed {:.0f} % of the events",
      fmt::group_digits(sum.sent), percent(sum.waits, sum.looks),
      percent(sum.in_place, sum.executed));
}

}  // namespace orrery::conservative
