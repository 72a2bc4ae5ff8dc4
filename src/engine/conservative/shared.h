// SPDX-License-Identifier: Apache-2.0
//
// What the workers of one run share. Constant while they execute, except for objects made for
// concurrent use (board, rounds, mesh, depot, team, control) and the records of LPs, each of which
// belongs to the worker that has the LP. The rest changes at a halt, between steps that all workers
// end together (Team::end_step): worker 0 changes the period and the partition, and each worker
// fills the lists of events that it hands out.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "core/huge_pages.h"
#include "engine/conservative/halt.h"
#include "engine/conservative/partition.h"
#include "engine/conservative/rank_link.h"
#include "engine/conservative/report.h"
#include "engine/conservative/settings.h"
#include "engine/conservative/tempo.h"
#include "run/events/event_pool.h"
#include "run/events/plain_event.h"
#include "run/threads/team.h"
#include "run/world/lp_record.h"
#include "run/world/world_engine.h"
#include "transport/board.h"
#include "transport/mesh.h"

namespace orrery::conservative {

struct Shared {
  Shared(World& run_world, const RunOptions& run_options, const Goal& run_goal,
         const Settings& run_settings, RunControl& run_control, unsigned most_workers)
      : world(run_world),
        model(run_world.model()),
        options(run_options),
        goal_events(run_goal.events),
        end(run_goal.end(run_options)),
        goal(run_goal),
        settings(run_settings),
        control(run_control),
        partition(run_world, most_workers),
        workers(partition.workers()),
        lps(run_world.lp_count()),
        mesh(workers, settings.channel_messages),
        board(partition.nodes()),
        handed_out(workers, std::vector<std::vector<PlainEvent*>>(workers)),
        team(workers, run_options.bind, run_options.place),
        rounds(workers) {
    if (control.ranks != nullptr)
      rank_link = std::make_unique<RankLink>(*control.ranks, partition, rounds, board, depot,
                                             settings.channel_messages);
  }

  World& world;
  const Model& model;
  const RunOptions& options;
  const std::uint64_t goal_events;
  const Time end;  ///< nothing at or after it is executed: a pause, or the horizon
  GoalWatch goal;  ///< started by worker 0, in the last step of the set-up
  const Settings settings;
  RunControl& control;
  Partition partition;
  const unsigned workers;
  std::vector<LpRecord, HugePageAllocator<LpRecord>> lps;
  EventDepot depot;
  transport::Mesh<Message> mesh;
  transport::Board<> board;
  /// The period under way.
  struct Period {
    bool in_place = false;
    std::uint64_t end_cycles = 0;
    std::uint64_t executed = 0;  ///< before the period, since the engine has the world
    /// The period ends at this count of executed events; for tests.
    std::uint64_t end_events = std::numeric_limits<std::uint64_t>::max();
    Key begin;  ///< everything before it is executed
  } period;
  Halt::Ending ending;                                            ///< of the last period
  bool moves = false;                                             ///< blocks change workers
  std::vector<std::vector<std::vector<PlainEvent*>>> handed_out;  ///< from, to
  Team team;  ///< its destructor ends the threads before the members above are destroyed
  Rounds rounds;
  std::unique_ptr<RankLink> rank_link;  ///< to the other ranks; null in a run of one rank
};

}  // namespace orrery::conservative
