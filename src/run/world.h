// SPDX-License-Identifier: Apache-2.0
//
// The world of a run: all that there is of a simulation between two engines. LPs with the state
// that the platform keeps of them, pending events, how far it has come. An engine takes a world,
// moves it forward and gives it back whole (engine.h), at a *cut*, a key: everything below it is
// committed, nothing at or above it has been executed. What engines keep beside (histories,
// checkpoints, threads) is gone by then.
//
// LPs lie in ordinary memory, or in LP heaps (memory/lp_heap.h), which engines need that roll back.
// Heaps take their memory from arenas, one for each part of the LPs, which one thread at a time
// uses; parts are those of the most workers that the world may meet, so that each finds its LPs
// where it made them. An engine with fewer workers gives several parts to each.
//
// The table of LPs may be taken apart: an engine that keeps an LP's state in a record of its own
// moves it there, and a million LPs do not exist twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/attachment.h"
#include "core/huge_pages.h"
#include "core/kernel_state.h"
#include "core/key.h"
#include "core/tally.h"
#include "memory/arena.h"
#include "memory/lp_heap.h"
#include "orrery/logical_process.h"
#include "orrery/model.h"
#include "run/event_list.h"
#include "run/faults.h"
#include "run/lp_executions.h"
#include "run/promises.h"
#include "run/rank_place.h"

namespace orrery {

class World {
 public:
  /// The part of LPs that other ranks have.
  static constexpr std::uint16_t kElsewhere = 0xffff;
  /// Where LPs lie.
  struct Layout {
    /// Of each LP its part; empty: all in part 0.
    std::vector<std::uint16_t> parts;
    /// Of each part the colouring of its arena; empty: in ordinary memory.
    std::vector<memory::Colouring> arenas;
    unsigned part_count = 1;     ///< in ordinary memory; else as many as arenas
    bool deny_oversize = false;  ///< requests of LPs for more than a block are refused
    /// Of each LP its rank; empty: there is one rank. Those of others are in part kElsewhere, and
    /// have no object here.
    std::vector<std::uint16_t> ranks = {};
    RankPlace place = {};
  };
  /// What the platform keeps of an LP.
  struct Lp {
    LogicalProcessBase* object = nullptr;
    KernelState kernel;
  };

  World(const Model& model, Layout layout, Promises promises, std::uint32_t livelock_microsteps);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  /// Ends the LPs, with the table as it is.
  ~World();

  const Model& model() const { return model_; }
  const Promises& promises() const { return promises_; }
  const LpExecutions& executions() const { return executions_; }
  LpId lp_count() const { return lp_count_; }
  bool on_heaps() const { return !arenas_.empty(); }
  const RankPlace& place() const { return place_; }
  unsigned rank_of(LpId id) const { return ranks_.empty() ? 0 : ranks_[id]; }
  /// Whether this rank has the LP.
  bool is_here(LpId id) const { return ranks_.empty() || ranks_[id] == place_.rank; }
  bool denies_oversize() const { return denies_oversize_; }
  unsigned parts() const { return static_cast<unsigned>(pending.size()); }
  unsigned part_of(LpId id) const { return parts_.empty() ? 0 : parts_[id]; }
  /// The same of all; empty: all are in part 0.
  const std::vector<std::uint16_t>& part_table() const { return parts_; }
  /// An LP belongs to another part from now on. What memory it has stays in the arena that it is
  /// from; whoever executes it binds its heap to another. For a world with a part table, while
  /// nobody else reads it.
  void move_to(LpId id, unsigned part) { parts_[id] = static_cast<std::uint16_t>(part); }

  // ---- LPs

  using Table = std::vector<Lp, HugePageAllocator<Lp>>;
  Table& lps() { return lps_; }
  Lp& lp(LpId id) { return lps_[id]; }
  memory::LpHeap& heap(LpId id) { return places_[id].heap; }
  const memory::LpHeap& heap(LpId id) const { return places_[id].heap; }
  std::unique_ptr<Attachment>& attachment(LpId id) { return places_[id].attachment; }
  memory::Arena& arena(unsigned part) { return *arenas_[part]; }
  /// For heaps that are restored with the memory that they had in another process: an arena for
  /// that alone. What they take besides comes from those of their parts.
  memory::Arena& add_ground() { return *grounds_.emplace_back(std::make_unique<memory::Arena>()); }
  template <class Visit>
  void for_each_arena(Visit&& visit) const {
    for (const auto& arena : grounds_) visit(*arena);
    for (const auto& arena : arenas_) visit(*arena);
  }
  // Parts are dealt to workers in order, several to each if there are more parts.
  unsigned worker_of(unsigned part, unsigned workers) const { return part * workers / parts(); }
  unsigned first_part(unsigned worker, unsigned workers) const {
    return (worker * parts() + workers - 1) / workers;
  }
  /// An LP moves to a part of that worker, of no more workers than parts.
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
  /// Before anything is done with the heaps of a part, by a thread near to which its LPs are to
  /// lie.
  void make_heaps(unsigned part);

  /// Takes the table away, for an engine that has moved all it says into records of its own.
  void drop_table() { Table().swap(lps_); }
  void bring_table_back(Table table) { lps_ = std::move(table); }

  /// What it keeps of each LP beside the object.
  std::size_t bytes_per_lp() const { return sizeof(Lp) + (on_heaps() ? sizeof(Place) : 0); }

  // ---- Between engines

  std::vector<EventList> pending;  ///< by part, in no order; the receiver may be of another part
  Key cut;
  std::uint64_t committed = 0;  ///< events, of all ranks, like the next
  std::uint64_t executed = 0;   ///< committed, and rolled back
  LivelockTrail trail;          ///< of what is committed
  Tally tally;                  ///< the same, without what finish() records
  bool failed = false;          ///< the run has ended with a fault

 private:
  /// On a line of its own: neighbours may belong to different threads.
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
  Table lps_;
  std::unique_ptr<Place[], FreePlaces> places_;  ///< made where their part is
  std::vector<char> made_;                       ///< by part: whether its places are
};

}  // namespace orrery
