// SPDX-License-Identifier: Apache-2.0
//
// The world of a run: the whole state of a simulation between two engines, that is LPs with their
// kernel states, pending events, and the progress. An engine takes a world, moves it forward and
// returns it whole (engine.h), at a *cut*, a key: everything below it is committed, nothing at or
// above it has been executed. Other data of an engine (histories, checkpoints, threads) no longer
// exists then.
//
// LPs lie in ordinary memory, or in LP heaps (memory/lp_heap.h), which optimistic engines need.
// Heaps take their memory from arenas, one for each part of the LPs, which one thread at a time
// uses. There are as many parts as the largest number of workers in the run, so that each worker
// finds its LPs where it made them. An engine with fewer workers gives several parts to each.
//
// An engine keeps its own data of an LP in the world's record of it (lp_table.h), so that a million
// LPs do not exist twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/attachment.h"
#include "core/huge_pages.h"
#include "core/key.h"
#include "core/mergeable_statistics.h"
#include "memory/arena.h"
#include "memory/lp_heap.h"
#include "orrery/model.h"
#include "run/containment/faults.h"
#include "run/events/event_list.h"
#include "run/execution/lp_executions.h"
#include "run/execution/promises.h"
#include "run/options/rank_place.h"
#include "run/world/lp_table.h"

namespace orrery {

class World {
 public:
  /// The part of LPs of other ranks.
  static constexpr std::uint16_t kElsewhere = 0xffff;
  /// Placement of the LPs.
  struct Layout {
    /// The part of each LP; empty: all in part 0.
    std::vector<std::uint16_t> parts;
    /// The colouring of each part's arena; empty: LPs lie in ordinary memory.
    std::vector<memory::Colouring> arenas;
    unsigned part_count = 1;     ///< in ordinary memory; else the number of arenas
    bool deny_oversize = false;  ///< refuse LPs single allocations above a block
    /// The rank of each LP; empty: there is one rank. LPs of other ranks are in part kElsewhere,
    /// and have no object here.
    std::vector<std::uint16_t> ranks = {};
    RankPlace place = {};
  };
  using Lp = LpEntry;

  World(const Model& model, Layout layout, Promises promises, std::uint32_t livelock_microsteps);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  /// Destroys the LPs in the table.
  ~World();

  const Model& model() const { return model_; }
  const Promises& promises() const { return promises_; }
  const LpExecutions& executions() const { return executions_; }
  LpId lp_count() const { return lp_count_; }
  bool on_heaps() const { return !arenas_.empty(); }
  const RankPlace& place() const { return place_; }
  unsigned rank_of(LpId id) const { return ranks_.empty() ? 0 : ranks_[id]; }
  /// Whether the LP belongs to this rank.
  bool is_here(LpId id) const { return ranks_.empty() || ranks_[id] == place_.rank; }
  bool denies_oversize() const { return denies_oversize_; }
  unsigned parts() const { return static_cast<unsigned>(pending.size()); }
  unsigned part_of(LpId id) const { return parts_.empty() ? 0 : parts_[id]; }
  /// Moves an LP to another part. Its memory stays in its arena; the executing thread binds the
  /// heap to another arena. For a world with a part table, while no other thread reads the table.
  void move_to(LpId id, unsigned part) { parts_[id] = static_cast<std::uint16_t>(part); }

  // ---- LPs

  LpTable& lps() { return lps_; }
  Lp& lp(LpId id) { return lps_[id]; }
  memory::LpHeap& heap(LpId id) { return places_[id].heap; }
  const memory::LpHeap& heap(LpId id) const { return places_[id].heap; }
  std::unique_ptr<Attachment>& attachment(LpId id) { return places_[id].attachment; }
  memory::Arena& arena(unsigned part) { return *arenas_[part]; }
  /// An arena for heaps that are restored with their memory from another process, and only for this
  /// memory. Further memory of these heaps comes from the arenas of their parts.
  memory::Arena& add_ground() { return *grounds_.emplace_back(std::make_unique<memory::Arena>()); }
  template <class Visit>
  void for_each_arena(Visit&& visit) const {
    for (const auto& arena : grounds_) visit(*arena);
    for (const auto& arena : arenas_) visit(*arena);
  }
  // Parts are assigned to workers in order, several to each if there are more parts.
  unsigned worker_of(unsigned part, unsigned workers) const { return part * workers / parts(); }
  unsigned first_part(unsigned worker, unsigned workers) const {
    return (worker * parts() + workers - 1) / workers;
  }
  /// Moves an LP to a part of that worker, with at most as many workers as parts.
  void give_to(LpId id, unsigned worker, unsigned workers) {
    const unsigned first = first_part(worker, workers), end = first_part(worker + 1, workers);
    move_to(id, first + id % (end - first));
  }
  /// Calls visit(id) for the LPs of a part, in order.
  template <class Visit>
  void for_each_of(unsigned part, Visit&& visit) const {
    for (LpId id = 0; id < lp_count_; ++id)
      if (part_of(id) == part) visit(id);
  }
  /// Call before all other use of the heaps and records of a part, by a thread near to which its LPs
  /// are to lie.
  void make_heaps(unsigned part);

  /// Memory of each LP besides the object.
  std::size_t bytes_per_lp() const {
    return lps_.bytes_per_lp() + (on_heaps() ? sizeof(Place) : 0);
  }

  // ---- Between engines

  /// Adds a pending event to the list of its receiver's part. An engine that takes the world with
  /// several workers then need not send most events from one worker to the others.
  void append_pending(const EventHeader& event, const void* payload) {
    pending[part_of(event.receiver)].append(event, payload);
  }

  std::vector<EventList> pending;  ///< by part, in no order; the receiver may be of another part
  Key cut;
  std::uint64_t committed = 0;               ///< events, of all ranks, as is the next
  std::uint64_t executed = 0;                ///< committed and rolled back
  LivelockTrail trail;                       ///< of committed events
  MergeableStatistics mergeable_statistics;  ///< of committed events, without what finish() records
  bool failed = false;                       ///< the run has ended with a fault

 private:
  /// On a cache line of its own, since neighbours may belong to different threads.
  struct alignas(64) Place {
    explicit Place(memory::Arena& arena) : heap(arena) {}
    memory::LpHeap heap;
    std::unique_ptr<Attachment> attachment;
  };

  struct FreePlaces {
    std::size_t count;
    void operator()(Place* places) const { HugePageAllocator<Place>().deallocate(places, count); }
  };

  void destroy(LpId id);
  void end_object(LogicalProcessBase* object) const;

  const Model& model_;
  const Promises promises_;
  const LpExecutions executions_;
  const LpId lp_count_;
  const bool denies_oversize_;
  std::vector<std::uint16_t> parts_;
  const std::vector<std::uint16_t> ranks_;
  const RankPlace place_;
  std::vector<std::unique_ptr<memory::Arena>> arenas_, grounds_;
  LpTable lps_;
  std::unique_ptr<Place[], FreePlaces> places_;  ///< made by the threads of their parts
  std::vector<char> made_;                       ///< by part: whether its places exist
};

}  // namespace orrery
