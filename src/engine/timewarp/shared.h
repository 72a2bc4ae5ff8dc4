// SPDX-License-Identifier: Apache-2.0
//
// What the workers of one Time Warp run share. Constant while they run, except for objects made for
// concurrent use (rounds, mesh, depot, team, control) and the LP states, each of which belongs to
// the worker that owns the LP.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "checkpoint/checkpointer.h"
#include "engine/timewarp/balance.h"
#include "engine/timewarp/gvt.h"
#include "engine/timewarp/lp_state.h"
#include "engine/timewarp/mailbox.h"
#include "engine/timewarp/moving.h"
#include "engine/timewarp/rank_link.h"
#include "engine/timewarp/settings.h"
#include "engine/timewarp/thread_waker.h"
#include "memory/arena.h"
#include "run/containment/model_text.h"
#include "run/containment/preemption.h"
#include "run/threads/federation.h"
#include "run/threads/team.h"
#include "run/world/world_engine.h"

namespace orrery::timewarp {

struct Shared {
  Shared(World& run_world, const RunOptions& run_options, const Goal& run_goal,
         const Settings& run_settings, RunControl& run_control, unsigned worker_count);

  unsigned worker_of(unsigned part) const { return world.worker_of(part, workers); }
  unsigned first_part(unsigned worker) const { return world.first_part(worker, workers); }
  memory::Arena& arena(unsigned worker) const { return world.arena(first_part(worker)); }
  /// Workers of all ranks, taking each rank to have as many as this one.
  unsigned all_workers() const { return workers * world.place().ranks; }
  bool is_short_of_credit() const {
    return rank_link != nullptr && rank_link->is_short_of_credit();
  }
  /// Memory of events that came from other ranks, which workers do not count.
  std::int64_t bytes_from_ranks() const {
    return rank_link == nullptr ? 0 : rank_link->used_bytes();
  }

  /// The reports of all workers of all ranks in the last round, added up.
  GvtReport sum_of_reports() const;
  std::vector<std::uint16_t> find_owners() const;
  /// Called by one thread, once all LPs are taken. Returns why the run cannot start with these
  /// options, or nothing. All ranks must call this together and get the same answer.
  std::optional<SetUpFailure> refusal();
  Balance::Terms balance_terms() const;
  /// The queue for the copies of worker `index`, or nullptr if the worker makes them itself.
  checkpoint::CopyQueue* copy_queue(unsigned index) const {
    return copier != nullptr && copier->asynchronous() ? &copier->queue(index) : nullptr;
  }

  World& world;
  const Model& model;
  const RunOptions& options;
  GoalWatch goal;                  ///< started by the first thread, in the last step of the set-up
  const std::uint64_t cut_events;  ///< committed from cut to cut; 0: no matter how many
  const bool ends_at_cut;
  const Key end;  ///< nothing at or after it is executed: a pause, or the horizon
  const Settings settings;
  RunControl& control;
  const unsigned workers;
  std::vector<std::uint16_t> owners;  ///< owners[lp] = worker; changes at cuts (moving.h)
  LpStates lps;
  Mesh mesh;
  std::unique_ptr<checkpoint::Copier> copier;  ///< if settings.offload.on()
  const std::shared_ptr<checkpoint::PageTracker> tracker;
  EventDepot depot;
  /// Of the first worker; on if LPs and checkpoints are kept on different sets of the cache.
  const memory::Colouring& colouring;
  /// Threshold of mild memory that worker 0 chose last. Relaxed: each worker may adopt it late.
  std::atomic<std::size_t> mild_from;
  const std::size_t stream_from_bytes;  ///< Checkpointer::choose_writing
  const std::uint64_t memory_budget_bytes;
  // Written in the set-up. Relaxed: the end of a step orders them before they are read.
  std::atomic<bool> any_reversible{false};
  std::atomic<std::uint64_t> state_bytes{0};  ///< live memory of all LPs
  Team team;  ///< its destructor ends the threads before the members above are destroyed
  const Federation federation;          ///< of its threads, if they share cores
  GvtRounds rounds;                     ///< of its threads
  std::unique_ptr<RankLink> rank_link;  ///< null: there are no other ranks
  Moving moving;
  const ModelText text;
  ThreadWaker waker;
  const bool preempts;          ///< handlers are interrupted
  const double cores_a_worker;  ///< share of a core that a worker has
};

/// Why workers stopped; the same on all of them.
struct Ending {
  RunEnd end = RunEnd::completed;
  Key reached = Key::infinity();
};

}  // namespace orrery::timewarp
