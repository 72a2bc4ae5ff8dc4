// SPDX-License-Identifier: Apache-2.0
//
// What the workers of one Time Warp run have in common. Constant while they run, except for what is
// made for concurrent use (Gvt, channels, depot, control) and the LP states, each of which belongs
// to the worker that owns the LP.
#pragma once

#include <atomic>
#include <barrier>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/keeper.h"
#include "engine/timewarp/cache_layout.h"
#include "engine/timewarp/channel.h"
#include "engine/timewarp/event_pool.h"
#include "engine/timewarp/gvt.h"
#include "engine/timewarp/lp_state.h"
#include "engine/timewarp/settings.h"
#include "memory/arena.h"
#include "run/engine.h"

namespace orrery::timewarp {

/// The LPs' states and heaps. Each owner constructs its own, so that the memory is near its core.
class LpTable {
 public:
  explicit LpTable(std::uint64_t count)
      : count_(count), states_(allocate<LpState>(count)), heaps_(allocate<Heap>(count)) {}
  ~LpTable() {
    release(states_);
    release(heaps_);
  }
  LpTable(const LpTable&) = delete;
  LpTable& operator=(const LpTable&) = delete;

  LpState& operator[](LpId id) { return states_[id]; }
  memory::LpHeap& heap(LpId id) { return heaps_[id].heap; }
  std::unique_ptr<checkpoint::Kept>& kept(LpId id) { return heaps_[id].kept; }
  void construct(LpId id, memory::Arena& arena) {
    new (&states_[id]) LpState;
    new (&heaps_[id]) Heap(arena);
  }
  void destroy(LpId id) {
    states_[id].~LpState();
    heaps_[id].~Heap();
  }
  std::uint64_t count() const { return count_; }
  static constexpr std::size_t bytes_per_lp() { return sizeof(LpState) + sizeof(Heap); }

 private:
  /// On a line of its own: LPs that are neighbours here may belong to different workers.
  struct alignas(64) Heap {
    explicit Heap(memory::Arena& arena) : heap(arena) {}
    memory::LpHeap heap;
    std::unique_ptr<checkpoint::Kept> kept;  ///< if LpState::kept
  };
  static constexpr std::align_val_t kLine{64};
  template <class T>
  static T* allocate(std::uint64_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kLine));
  }
  static void release(void* memory) { ::operator delete(memory, kLine); }

  std::uint64_t count_;
  LpState* states_;
  Heap* heaps_;
};

struct Shared {
  Shared(const Model& run_model, const RunOptions& run_options, RunControl& run_control,
         unsigned worker_count, std::vector<std::uint16_t> lp_owners,
         const CacheLayout& cache_layout)
      : model(run_model),
        options(run_options),
        settings(Settings::of(run_options)),
        control(run_control),
        workers(worker_count),
        owners(std::move(lp_owners)),
        lps(owners.size()),
        strategy(settings.strategy),
        offload(settings.offload),
        gvt(worker_count),
        cache(cache_layout),
        mild_from(cache_layout.colouring.mild_from),
        set_up(worker_count) {
    for (unsigned i = 0; i < workers; ++i)
      arenas.push_back(std::make_unique<memory::Arena>(cache.of_worker(i), settings.deny_oversize));
    if (offload.on()) {
      copier = settings.copier->make(workers, std::min(offload.copiers, workers));
    }
    if (workers == 1) return;
    std::size_t capacity = std::bit_floor(std::max<std::size_t>(settings.channel_messages, 1));
    while (capacity > 64 && capacity * workers > 32768) capacity /= 2;
    for (unsigned i = 0; i < workers * workers; ++i)
      channels.push_back(std::make_unique<Channel>(capacity));
  }

  /// Where worker `index` hands its copies over, or nullptr if it makes them itself.
  checkpoint::CopyQueue* copy_queue(unsigned index) const {
    return copier != nullptr && copier->asynchronous() ? &copier->queue(index) : nullptr;
  }
  Channel& channel(unsigned from, unsigned to) { return *channels[from * workers + to]; }

  const Model& model;
  const RunOptions& options;
  const Settings settings;
  RunControl& control;
  const unsigned workers;
  const std::vector<std::uint16_t> owners;  ///< owners[lp] = worker
  LpTable lps;
  std::vector<std::unique_ptr<memory::Arena>> arenas;  ///< arenas[worker]
  std::vector<std::unique_ptr<Channel>> channels;
  const checkpoint::Strategy strategy;
  const checkpoint::Offload offload;
  std::unique_ptr<checkpoint::Copier> copier;  ///< if offload.on()
  EventDepot depot;
  Gvt gvt;
  const CacheLayout cache;
  /// Threshold of mild memory that worker 0 chose last; each adopts it when it sees it: relaxed.
  std::atomic<std::size_t> mild_from;
  std::uint64_t memory_budget_bytes = 0;
  bool crowded = false;   ///< more workers than cores
  bool bind = false;      ///< workers go to cores of their own
  std::barrier<> set_up;  ///< all LPs made and started
  /// By step of the set-up; set before the barrier that ends the step, read after it: relaxed.
  std::atomic<bool> set_up_failed[2] = {false, false};
  // Found while setting up, read after the last barrier: relaxed.
  std::atomic<bool> any_reversible{false};
  std::atomic<std::uint64_t> state_bytes{0};  ///< live memory of all LPs
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
  std::uint64_t refusals = 0;       ///< requests of LPs for memory that were refused
  std::uint64_t refused_bytes = 0;  ///< size of the last one, if no fault told it
};

/// Why workers stopped; the same on all of them.
struct Ending {
  RunEnd end = RunEnd::completed;
  Key reached = Key::infinity();
};

}  // namespace orrery::timewarp
