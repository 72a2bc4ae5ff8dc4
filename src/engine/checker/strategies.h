// SPDX-License-Identifier: Apache-2.0
//
// The ways in which Time Warp takes an LP back, driven as its workers drive them: the path for
// small LPs (checkpoint.h), and the record that checkpoint::Keeper serves with images, deltas or
// reverse handlers. What the checker examines is thus the code that runs in Time Warp. Whatever a
// strategy does, the checker compares what comes out with an image of its own, byte for byte, so a
// strategy that restores too little, or a model's reverse handler that undoes too little, is found
// at the first rollback that shows it.
//
// Time Warp lets measured costs choose among kinds of checkpoints and intervals (tuning.h). Here
// every kind is to take part, whatever it costs, so each strategy has a keeper of its own, and
// makes records with one kind and a fixed interval.
//
// To add a strategy: a name for it in checkpoint/strategy.h, and a line in the plan's constructor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/keeper.h"
#include "memory/block_pool.h"
#include "memory/lp_heap.h"
#include "orrery/logical_process.h"

namespace orrery::checker {

/// The checkpoints of an LP, and its record if it has one.
struct History {
  checkpoint::Checkpoint* checkpoints = nullptr;
  std::unique_ptr<checkpoint::Kept> kept;  ///< nullptr: on the path for small LPs
  std::uint32_t interval = 1;
  bool one_chunk = false;  ///< on that path: the heap was one chunk at the newest checkpoint
};

class RollbackStrategy {
 public:
  /// An LP as the checker has it.
  struct Lp {
    LpId id;
    LogicalProcessBase* object;  ///< nullptr before it is made
    memory::LpHeap& heap;
    checkpoint::KernelState& kernel;
    History& history;
  };

  RollbackStrategy(memory::BlockPool& pool, std::string_view name, checkpoint::Strategy strategy,
                   std::shared_ptr<checkpoint::PageTracker> tracker)
      : pool_(pool),
        name_(name),
        strategy_(strategy),
        keeper_(pool, strategy, {}, nullptr, std::move(tracker)),
        single_(make_history(1)) {}
  ~RollbackStrategy();

  std::string_view name() const { return name_; }
  checkpoint::Kind kind() const { return strategy_.kind(); }
  /// Whether it can bring back an LP from an event, or from what is none.
  bool serves(const LogicalProcessBase* object, bool event) const;
  /// What to say when it did not restore the LP.
  std::string_view hint() const;

  /// For an LP's next events, with a checkpoint before every `interval`-th; reverse handlers need
  /// one only.
  History make_history(std::uint32_t interval) const;
  /// For rollbacks of one event: of one LP at a time, and empty in between. So the LPs that are not
  /// to be rolled back over several events keep no checkpoints, and memory stays bounded.
  History& single() { return single_; }

  /// Before the handler runs. True if it is to fill undo_log().
  bool before_event(const Lp& lp, std::uint32_t ordinal);
  /// After it; `ordinal` is that of the next one.
  void after_event(const Lp& lp, std::uint32_t ordinal, bool succeeded);
  checkpoint::UndoLog& undo_log() { return keeper_.undo_log(); }
  /// Before the event that a rollback has just undone: what its handler left in the log is taken
  /// for what it would leave there again.
  void before_repetition(const Lp& lp, std::uint32_t ordinal);

  /// Goes back from the state before event `now` to the one before event `target`, or as near
  /// before that as checkpoints lead; returns where. event_at as for Keeper::restore, which throws
  /// what a reverse handler throws.
  template <class EventAt>
  std::uint32_t restore(const Lp& lp, std::uint32_t now, std::uint32_t target, EventAt&& event_at) {
    if (lp.history.kept != nullptr) return keeper_.restore(kept(lp), now, target, event_at);
    return restore_small(lp, target);
  }
  /// What is before event `ordinal` is committed.
  void commit(const Lp& lp, std::uint32_t ordinal);
  void release(const Lp& lp);

  const checkpoint::Keeper::Statistics& statistics() const { return keeper_.statistics(); }
  std::uint64_t small_copies() const { return small_copies_; }
  std::size_t bytes() const { return keeper_.bytes(); }

 private:
  static checkpoint::Keeper::Lp kept(const Lp& lp) {
    return {lp.id, *lp.object, lp.heap, lp.kernel, lp.history.checkpoints, *lp.history.kept};
  }
  void take_small(const Lp& lp, std::uint32_t ordinal);
  std::uint32_t restore_small(const Lp& lp, std::uint32_t target);

  memory::BlockPool& pool_;
  const std::string name_;
  const checkpoint::Strategy strategy_;
  checkpoint::Keeper keeper_;
  History single_;
  std::uint64_t small_copies_ = 0;
};

/// What a checker runs with: the strategies of rollbacks, and how many events a rollback over
/// several of them takes back.
class RollbackPlan {
 public:
  /// `checkpoint` is what --checkpoint asks for: "auto" is all strategies in turn; "copy",
  /// "incremental" and "reverse" are rollbacks of one event by that one, "periodic:N" is rollbacks
  /// over N events too. Throws UsageError for other names.
  RollbackPlan(std::string_view checkpoint, memory::BlockPool& pool);

  /// All in turn; a copy where another does not serve.
  RollbackStrategy& choose(std::uint32_t turn, const LogicalProcessBase* object, bool event);
  /// The path for small LPs, which serves whatever there is.
  RollbackStrategy& copy() { return *strategies_.front(); }

  bool has_long_rollbacks() const { return most_events_ > 0; }
  unsigned fewest_events() const { return fewest_events_; }
  unsigned most_events() const { return most_events_; }

  /// Those that took part, for people.
  std::string names() const;
  /// Of all keepers together.
  checkpoint::Keeper::Statistics statistics() const;
  std::uint64_t small_copies() const;
  /// Memory beside the pool's.
  std::size_t bytes() const;

 private:
  void add(std::string_view name, checkpoint::Strategy strategy);

  memory::BlockPool& pool_;
  const std::shared_ptr<checkpoint::PageTracker> tracker_ =
      std::make_shared<checkpoint::PageTracker>();
  std::vector<std::unique_ptr<RollbackStrategy>> strategies_;  ///< a copy is the first
  std::vector<bool> served_;                                   ///< which of them took part
  std::size_t first_ = 0;                                      ///< of those that were asked for
  unsigned fewest_events_ = 0, most_events_ = 0;
};

}  // namespace orrery::checker
