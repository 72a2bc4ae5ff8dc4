// SPDX-License-Identifier: Apache-2.0
//
// The ways in which Time Warp rolls an LP back, used as its workers use them: the path for small
// LPs (checkpoint.h), and the record that checkpoint::Checkpointer serves with images, deltas or
// reverse handlers. So the checker tests the code that runs in Time Warp. After each rollback the
// checker compares the LP with an image of its own, byte for byte. This finds a strategy that restores too
// little, or a model's reverse handler that undoes too little, at the first rollback that shows it.
//
// Time Warp lets measured costs choose among kinds of checkpoints and intervals (tuning.h). Here
// every kind must be tested, whatever it costs, so each strategy has a checkpointer of its own, and
// makes records with one kind and a fixed interval.
//
// To add a strategy, add its name in checkpoint/strategy.h and a line in RollbackPlan's
// constructor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpointer.h"
#include "memory/block_pool.h"
#include "memory/lp_heap.h"
#include "orrery/logical_process.h"

namespace orrery::checker {

/// The checkpoints of an LP, and its record if it has one.
struct RollbackHistory {
  checkpoint::Checkpoint* checkpoints = nullptr;
  std::unique_ptr<checkpoint::CheckpointRecord> record;  ///< nullptr: on the path for small LPs
  std::uint32_t interval = 1;                            ///< events
  bool one_chunk = false;  ///< small LPs: the heap was one chunk at the newest checkpoint
};

class RollbackStrategy {
 public:
  /// The parts of an LP that a rollback restores.
  struct Lp {
    LpId id;
    LogicalProcessBase* object;  ///< nullptr before it is made
    memory::LpHeap& heap;
    checkpoint::KernelState& kernel;
    RollbackHistory& history;
  };

  RollbackStrategy(memory::BlockPool& pool, std::string_view name, checkpoint::Strategy strategy,
                   std::shared_ptr<checkpoint::PageTracker> tracker)
      : pool_(pool),
        name_(name),
        strategy_(strategy),
        checkpointer_(pool, strategy, {}, nullptr, std::move(tracker)),
        single_(make_history(1)) {
    checkpointer_.writing().choose(0);  // past the caches: a write into them is simpler
  }
  ~RollbackStrategy();

  std::string_view name() const { return name_; }
  checkpoint::Kind kind() const { return strategy_.kind(); }
  /// Whether the strategy can undo a job of an LP. `event`: the job is an event.
  bool serves(const LogicalProcessBase* object, bool event) const;
  /// Advice for the message that the strategy did not restore the LP; may be empty.
  std::string_view hint() const;

  /// A history for an LP's next events, with a checkpoint before every `interval`-th event; reverse
  /// handlers need one checkpoint only.
  RollbackHistory make_history(std::uint32_t interval) const;
  /// The history for rollbacks of one event: used for one LP at a time, and empty in between. So
  /// LPs that are not to be rolled back over several events keep no checkpoints, and memory stays
  /// bounded.
  RollbackHistory& single() { return single_; }

  /// Call before the handler runs. True if the handler is to fill undo_log().
  bool before_event(const Lp& lp, std::uint32_t ordinal);
  /// Call after the handler; `ordinal` is that of the next event.
  void after_event(const Lp& lp, std::uint32_t ordinal, bool succeeded);
  checkpoint::UndoLog& undo_log() { return checkpointer_.undo_log(); }
  /// As before_event, for an event that a rollback has just undone. Keeps the undo log: the handler
  /// would write the same again.
  void before_repetition(const Lp& lp, std::uint32_t ordinal);

  /// Restores the state before event `target`, or before an earlier event if there is no checkpoint
  /// for `target`; returns that event. The LP is in the state before event `now`. event_at as for
  /// Checkpointer::restore. Throws what a reverse handler throws.
  template <class EventAt>
  std::uint32_t restore(const Lp& lp, std::uint32_t now, std::uint32_t target, EventAt&& event_at) {
    if (lp.history.record != nullptr)
      return checkpointer_.restore(view_of(lp), now, target, event_at);
    return restore_small(lp, target);
  }
  /// Events before event `ordinal` are committed.
  void commit(const Lp& lp, std::uint32_t ordinal);
  void release(const Lp& lp);

  const checkpoint::Checkpointer::Statistics& statistics() const {
    return checkpointer_.statistics();
  }
  std::uint64_t small_copies() const { return small_copies_; }
  std::size_t bytes() const { return checkpointer_.bytes(); }

 private:
  static checkpoint::Checkpointer::Lp view_of(const Lp& lp) {
    return {lp.id, *lp.object, lp.heap, lp.kernel, lp.history.checkpoints, *lp.history.record};
  }
  void take_small(const Lp& lp, std::uint32_t ordinal);
  std::uint32_t restore_small(const Lp& lp, std::uint32_t target);

  memory::BlockPool& pool_;
  const std::string name_;
  const checkpoint::Strategy strategy_;
  checkpoint::Checkpointer checkpointer_;
  RollbackHistory single_;
  std::uint64_t small_copies_ = 0;
};

/// The strategies that a run of the checker uses, and the number of events that its rollbacks of
/// several events undo.
class RollbackPlan {
 public:
  /// `checkpoint` is the value of --checkpoint: "auto" and "adaptive" are all strategies in turn;
  /// "copy", "incremental" and "reverse" are rollbacks of one event by that strategy; "periodic:N"
  /// adds rollbacks over N events. Throws UsageError for other names.
  RollbackPlan(std::string_view checkpoint, memory::BlockPool& pool);

  /// The strategies in turn; a copy where another strategy cannot serve.
  RollbackStrategy& choose(std::uint32_t turn, const LogicalProcessBase* object, bool event);
  /// The path for small LPs, which can undo every job.
  RollbackStrategy& copy() { return *strategies_.front(); }

  bool has_long_rollbacks() const { return most_events_ > 0; }
  unsigned fewest_events() const { return fewest_events_; }
  unsigned most_events() const { return most_events_; }

  /// The names of the strategies that took part, for messages.
  std::string names() const;
  /// The sum over all checkpointers.
  checkpoint::Checkpointer::Statistics statistics() const;
  std::uint64_t small_copies() const;
  /// Memory in use, without the pool's.
  std::size_t bytes() const;

 private:
  void add(std::string_view name, checkpoint::Strategy strategy);

  memory::BlockPool& pool_;
  const std::shared_ptr<checkpoint::PageTracker> tracker_ =
      std::make_shared<checkpoint::PageTracker>();
  std::vector<std::unique_ptr<RollbackStrategy>> strategies_;  ///< a copy is the first
  std::vector<bool> served_;                                   ///< which of them took part
  std::size_t first_ = 0;  ///< index of the first strategy that --checkpoint names
  unsigned fewest_events_ = 0, most_events_ = 0;
};

}  // namespace orrery::checker
