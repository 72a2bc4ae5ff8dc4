// SPDX-License-Identifier: Apache-2.0
//
// What the workers of one Time Warp run have in common. Constant while they run, except for what is
// made for concurrent use (rounds, mesh, depot, team, control) and the LP states, each of which
// belongs to the worker that owns the LP.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "checkpoint/keeper.h"
#include "engine/timewarp/cache_layout.h"
#include "engine/timewarp/gvt.h"
#include "engine/timewarp/lp_state.h"
#include "engine/timewarp/mailbox.h"
#include "engine/timewarp/settings.h"
#include "memory/arena.h"
#include "run/team.h"

namespace orrery::timewarp {

struct Shared {
  Shared(const Model& run_model, const RunOptions& run_options, RunControl& run_control,
         unsigned worker_count, std::vector<std::uint16_t> lp_owners,
         const CacheLayout& cache_layout);

  /// Where worker `index` hands its copies over, or nullptr if it makes them itself.
  checkpoint::CopyQueue* copy_queue(unsigned index) const {
    return copier != nullptr && copier->asynchronous() ? &copier->queue(index) : nullptr;
  }

  const Model& model;
  const RunOptions& options;
  const Settings settings;
  RunControl& control;
  const unsigned workers;
  const std::vector<std::uint16_t> owners;  ///< owners[lp] = worker
  LpTable lps;
  std::vector<std::unique_ptr<memory::Arena>> arenas;  ///< arenas[worker]
  Mesh mesh;
  std::unique_ptr<checkpoint::Copier> copier;  ///< if settings.offload.on()
  EventDepot depot;
  GvtRounds rounds;
  const CacheLayout cache;
  /// Threshold of mild memory that worker 0 chose last; each adopts it when it sees it: relaxed.
  std::atomic<std::size_t> mild_from;
  const std::uint64_t memory_budget_bytes;
  // Found while setting up, read after the last step: relaxed.
  std::atomic<bool> any_reversible{false};
  std::atomic<std::uint64_t> state_bytes{0};  ///< live memory of all LPs
  Team team;                                  ///< last: its threads end before what they use
};

/// Why workers stopped; the same on all of them.
struct Ending {
  RunEnd end = RunEnd::completed;
  Key reached = Key::infinity();
};

}  // namespace orrery::timewarp
