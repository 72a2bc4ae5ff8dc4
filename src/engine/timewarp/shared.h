// SPDX-License-Identifier: Apache-2.0
//
// What the workers of one Time Warp run have in common. Constant while they run, except for what is
// made for concurrent use (Gvt, channels, depot, control) and the LP states, each of which belongs to
// the worker that owns the LP.
#pragma once

#include <atomic>
#include <barrier>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/interval.h"
#include "core/engine.h"
#include "engine/timewarp/channel.h"
#include "engine/timewarp/event_pool.h"
#include "engine/timewarp/gvt.h"
#include "engine/timewarp/lp_state.h"
#include "memory/arena.h"

namespace orrery::timewarp {

/// A table of LP states in memory that costs nothing until an LP is made in it.
class LpTable {
 public:
  explicit LpTable(std::uint64_t count)
      : count_(count), states_(static_cast<LpState*>(
                           ::operator new(count * sizeof(LpState), std::align_val_t(64)))) {}
  ~LpTable() { ::operator delete(states_, std::align_val_t(64)); }
  LpTable(const LpTable&) = delete;
  LpTable& operator=(const LpTable&) = delete;

  LpState& operator[](LpId id) { return states_[id]; }
  void construct(LpId id, memory::Arena& arena) { new (&states_[id]) LpState(arena); }
  void destroy(LpId id) { states_[id].~LpState(); }
  std::uint64_t count() const { return count_; }

 private:
  std::uint64_t count_;
  LpState* states_;
};

struct Shared {
  Shared(const Model& run_model, const RunOptions& run_options, RunControl& run_control,
         unsigned worker_count, std::vector<std::uint16_t> lp_owners)
      : model(run_model),
        options(run_options),
        control(run_control),
        workers(worker_count),
        owners(std::move(lp_owners)),
        lps(owners.size()),
        gvt(worker_count),
        set_up(worker_count) {
    for (unsigned i = 0; i < workers; ++i) arenas.push_back(std::make_unique<memory::Arena>());
    if (workers == 1) return;
    std::size_t capacity = 4096;
    while (capacity > 64 && capacity * workers > 32768) capacity /= 2;
    for (unsigned i = 0; i < workers * workers; ++i)
      channels.push_back(std::make_unique<Channel>(capacity));
  }

  Channel& channel(unsigned from, unsigned to) { return *channels[from * workers + to]; }

  const Model& model;
  const RunOptions& options;
  RunControl& control;
  const unsigned workers;
  const std::vector<std::uint16_t> owners;  ///< owners[lp] = worker
  LpTable lps;
  std::vector<std::unique_ptr<memory::Arena>> arenas;  ///< arenas[worker]
  std::vector<std::unique_ptr<Channel>> channels;
  EventDepot depot;
  Gvt gvt;
  std::uint64_t memory_budget_bytes = 0;
  bool crowded = false;  ///< more workers than cores
  bool bind = false;     ///< workers go to cores of their own
  std::barrier<> set_up;                ///< all LPs made and started
  std::atomic<bool> set_up_failed{false};  ///< set before the barrier, read after it: relaxed
};

/// Sums over the run, one per worker.
struct WorkerStatistics {
  std::uint64_t executed = 0;     ///< events, without coasting forward
  std::uint64_t rolled_back = 0;  ///< events undone
  std::uint64_t rollbacks = 0;
  std::uint64_t coasted = 0;  ///< events executed again to get from a checkpoint to its target
  std::uint64_t checkpoints = 0;
  std::uint64_t remote_events = 0;
  std::uint64_t cancellations = 0;  ///< events cancelled by their senders
  std::uint64_t notices = 0;        ///< of these, executed by another worker already
  std::uint64_t gvt_rounds = 0;
  std::uint64_t retreats = 0;  ///< rollbacks of LPs to save memory
  std::uint64_t idle_polls = 0;
};

/// Why workers stopped; the same on all of them.
struct Ending {
  RunEnd end = RunEnd::completed;
  Key reached = Key::infinity();
};

}  // namespace orrery::timewarp
