// SPDX-License-Identifier: Apache-2.0
//
// A worker's checkpoints of the LPs that have a record of their own: large LPs, and all LPs if
// --checkpoint or --offload asks for more than plain copies. The checkpointer takes, restores and
// releases checkpoints of all kinds (checkpoint.h), offloads copies, and finds the best kind for
// the LPs of a type and size from their measured costs (checkpoint_kind_tuner.h).
//
// The system may refuse memory. A refused checkpoint is taken later, so that the LP coasts forward
// further. An LP that was refused a delta has images from then on. An event whose reverse record
// was refused is undone from an image. Only the first checkpoint of an LP is indispensable: without
// it no rollback is possible.
//
// Such an LP keeps its newest checkpoint when everything before it is committed, and the committed
// events after it, so its next event needs no checkpoint. This pays if a copy costs more than
// keeping a few events. For small LPs a fresh copy is cheaper.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <typeindex>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_kind_tuner.h"
#include "checkpoint/copier.h"
#include "checkpoint/incremental.h"
#include "checkpoint/offload.h"
#include "checkpoint/strategy.h"
#include "checkpoint/tuning.h"
#include "checkpoint/undo_log.h"
#include "core/assert.h"
#include "core/attachment.h"
#include "orrery/logical_process.h"
#include "run/results/statistics.h"

namespace orrery::checkpoint {

/// The record of an LP.
struct CheckpointRecord final : Attachment {
  explicit CheckpointRecord(const Tuning& chosen) : tuning(chosen) {}

  Tuning tuning;
  unsigned size_class = 0;             ///< for which the tuner was chosen
  std::uint32_t committed = 0;         ///< ordinal: all events before it are committed
  bool half_changed = false;           ///< the last event cannot be undone by its reverse handler
  std::uint8_t refusals = 0;           ///< since the last checkpoint; the more, the later the next
  std::uint8_t quiet = 0;              ///< events that may pass without asking the checkpointer
  std::uint8_t granted_quiet = 0;      ///< value of `quiet` when it was granted
  CopyQueue::Slot* copying = nullptr;  ///< of the newest checkpoint, if it may not be complete
  std::unique_ptr<Shadow> shadow;
  Checkpoint* reversals = nullptr;  ///< reverse records of its last events, newest first
};

class Checkpointer {
 public:
  /// LPs with less memory need no record unless the strategy wants one.
  static constexpr std::size_t kLargeBytes = 1024;

  /// The parts of an LP, which its engine owns.
  struct Lp {
    LpId id;
    LogicalProcessBase& object;
    memory::LpHeap& heap;
    KernelState& kernel;
    Checkpoint*& checkpoints;
    CheckpointRecord& record;
  };
  /// An event of an LP's history.
  struct Event {
    Time time;
    EventTypeId type;
    const void* payload;
    std::size_t bytes;  ///< of the payload, without a trailer
  };
  struct Statistics {
    std::uint64_t taken = 0;                     ///< complete, offloaded or not
    std::uint64_t aborted = 0;                   ///< offloaded checkpoints that were aborted
    std::uint64_t offloaded = 0;                 ///< handed to the copier
    std::uint64_t by_copier = 0, by_worker = 0;  ///< of these: the side that finished the copy
    std::uint64_t resynchronised = 0;            ///< incomplete when their LP was needed
    std::uint64_t no_slot = 0;                   ///< not taken, because the ring was full
    std::uint64_t distance = 0;  ///< events between neighbouring complete ones, added up
    std::uint64_t distances = 0;
    std::uint64_t images = 0, deltas = 0, reversals = 0;
    std::uint64_t delta_bytes = 0;
    std::uint64_t streamed = 0;  ///< images written past the caches, of small LPs as well
    std::uint64_t refused = 0;   ///< checkpoints and records for which there was no memory
  };
  /// How the statistics of several checkpointers are merged.
  static constexpr CounterInfo<Statistics> kCounters[] = {
      {&Statistics::taken, Merge::sum},       {&Statistics::aborted, Merge::sum},
      {&Statistics::offloaded, Merge::sum},   {&Statistics::by_copier, Merge::sum},
      {&Statistics::by_worker, Merge::sum},   {&Statistics::resynchronised, Merge::sum},
      {&Statistics::no_slot, Merge::sum},     {&Statistics::distance, Merge::sum},
      {&Statistics::distances, Merge::sum},   {&Statistics::images, Merge::sum},
      {&Statistics::deltas, Merge::sum},      {&Statistics::reversals, Merge::sum},
      {&Statistics::delta_bytes, Merge::sum}, {&Statistics::refused, Merge::sum},
      {&Statistics::streamed, Merge::sum}};

  Checkpointer(memory::BlockPool& pool, const Strategy& strategy, const Offload& offload,
               CopyQueue* queue, std::shared_ptr<PageTracker> tracker);
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// A record for an LP of this size, or nullptr if it needs none.
  std::unique_ptr<CheckpointRecord> adopt(const LogicalProcessBase& object,
                                          std::size_t image_bytes);

  /// Whether the LP's next event needs neither before_event() nor after_event(): no checkpoint is
  /// due and nothing is measured.
  static bool passes_quietly(CheckpointRecord& record) {
    if (record.quiet == 0) return false;
    --record.quiet;
    return true;
  }
  /// Call before event `ordinal` is executed: settles the LP's outstanding copy and takes a
  /// checkpoint if one is due. True if the handler must fill undo_log().
  bool before_event(const Lp& lp, std::uint32_t ordinal);
  /// Call after the event; `ordinal` is that of the next event.
  void after_event(const Lp& lp, std::uint32_t ordinal, bool succeeded);
  UndoLog& undo_log() { return begun_.undo_log; }

  /// The data of an event between before_event and after_event.
  struct Begun {
    UndoLog undo_log;
    KernelState kernel_before;
    Ledger::Extent ledger_before = Ledger::kNone;
    bool measuring = false;
    std::uint64_t event_start = 0;
  };
  /// Call when the event is interrupted: other events may run before it resumes.
  Begun set_aside() { return std::exchange(begun_, {}); }
  /// Call when the event resumes after `cycles`, or when it ends as failed; its cost then means
  /// nothing.
  void bring_back(Begun&& begun, std::uint64_t cycles) {
    begun_ = std::move(begun);
    begun_.event_start += cycles;
  }

  /// Goes back from the state before event `now` to the newest state, not after that before event
  /// `target`, that a checkpoint leads to. Returns the ordinal from which to coast forward.
  /// event_at(ordinal) returns an event of the history. Throws what a reverse handler throws.
  template <class EventAt>
  std::uint32_t restore(const Lp& lp, std::uint32_t now, std::uint32_t target, EventAt&& event_at);
  /// Counts a checkpoint of the engine's own for which memory was refused.
  void count_refusal() { ++statistics_.refused; }
  void add_rollback(const Lp& lp, std::uint64_t cycles) { lp.record.tuning.add_rollback(cycles); }

  /// Fossil collection: all events before `ordinal` are committed. Releases data that no rollback
  /// needs. Returns the ordinal of the oldest checkpoint; events from there on are still needed.
  std::uint32_t commit(const Lp& lp, std::uint32_t ordinal);
  /// Releases all checkpoints of the LP.
  void release_all(const Lp& lp);
  /// The same for an LP that moves to another worker, which makes a new record for it. This record
  /// ends.
  void dismiss(const Lp& lp) {
    release_all(lp);
    if (last_.record == &lp.record) last_ = {};
  }
  /// Waits until no thread copies the LP's memory.
  void settle(const Lp& lp);

  void note(std::uint64_t executed, std::uint64_t cycles) { thresholds_.note(executed, cycles); }
  double threshold() const { return thresholds_.threshold(); }
  /// Adds the statistics `sum` of all workers to the result, and a note if memory was refused.
  /// `copier`: null if no checkpoint is offloaded.
  void report(const Statistics& sum, const Copier* copier, RunResult& result) const;
  const Statistics& statistics() const { return statistics_; }
  /// How images are written, those of the engine's own checkpoints as well.
  ImageWriting& writing() { return writing_; }
  /// Memory in bytes, without the pool's.
  std::size_t bytes() const { return shadow_bytes_; }

 private:
  void take(const Lp& lp, std::uint32_t ordinal);
  std::uint8_t quiet_events(const Lp& lp, std::uint32_t ordinal) const;
  static void end_quiet(CheckpointRecord& record);
  void take_image(const Lp& lp, std::uint32_t ordinal);
  void take_delta(const Lp& lp, std::uint32_t ordinal);
  void keep_way_back(Shadow& shadow, Checkpoint& before);
  void do_without(const Lp& lp, std::uint32_t ordinal);
  bool push_reverse(const Lp& lp, std::uint32_t ordinal);
  void count_distance(const Checkpoint& checkpoint);
  unsigned candidates(const LogicalProcessBase& object, std::size_t image_bytes) const;
  CheckpointKindTuner& tuner_for(const LogicalProcessBase& object, std::size_t image_bytes);
  void note_size(const Lp& lp, std::size_t image_bytes);
  static unsigned size_class(std::size_t image_bytes) {
    return static_cast<unsigned>(std::bit_width(image_bytes));
  }
  void drop_shadow(CheckpointRecord& record);

  bool offload(const Lp& lp, std::uint32_t ordinal);
  bool fill(CopyQueue::Slot& slot, const Lp& lp, std::uint32_t ordinal);
  void resynchronise(CheckpointRecord& record, Checkpoint*& list, std::uint32_t ordinal);
  void close_slot(CopyQueue::Slot& slot);
  void abort(CheckpointRecord& record, Checkpoint*& list);
  void drop_outstanding(const Lp& lp);

  bool drop_after(const Lp& lp, std::uint32_t ordinal);
  void drop_newest(const Lp& lp);
  void undo(const Lp& lp, const Checkpoint& record, const Event& event);
  void restore_base(const Lp& lp, Checkpoint& base);
  static Checkpoint* newest_delta(Checkpoint* list);

  memory::BlockPool& pool_;
  const Strategy strategy_;
  const Offload offload_;
  CopyQueue* const queue_;  ///< nullptr: copies are made at once
  const std::shared_ptr<PageTracker> tracker_;
  /// By type and size class. LPs keep pointers to them, so they must not move.
  std::map<std::pair<std::type_index, unsigned>, CheckpointKindTuner> tuners_;
  Begun begun_;  ///< of the current event
  std::vector<std::byte> back_;
  struct Outstanding {
    CheckpointRecord* record = nullptr;
    Checkpoint** list = nullptr;
    std::uint32_t ordinal = 0;
  } last_;  ///< the outstanding copy of mode mono
  ThresholdSearch thresholds_;
  std::size_t shadow_bytes_ = 0;
  Statistics statistics_;
  ImageWriting writing_{statistics_.streamed};
};

template <class EventAt>
std::uint32_t Checkpointer::restore(const Lp& lp, std::uint32_t now, std::uint32_t target,
                                    EventAt&& event_at) {
  ORRERY_ASSERT(difference(now, target) >= 0, "a rollback goes back");
  end_quiet(lp.record);
  if (lp.record.copying != nullptr) drop_outstanding(lp);
  bool reversing = !std::exchange(lp.record.half_changed, false);
  std::uint32_t state = now;  // the LP's state, as far as reverse handlers have gone back
  for (Checkpoint*& records = lp.record.reversals;
       records != nullptr && difference(records->ordinal, target) >= 0;) {
    // Going back to the previous delta changes the LP's memory, so events cannot be undone after
    // that.
    if (drop_after(lp, records->ordinal) || records->ordinal != state - 1) reversing = false;
    if (reversing) undo(lp, *records, event_at(state = records->ordinal));
    release(pool_, std::exchange(records, records->older));
  }
  if (drop_after(lp, target)) reversing = false;
  if (reversing && state == target) return target;
  // Records point into the LP's memory as it was when they were made.
  checkpoint::release_all(pool_, std::exchange(lp.record.reversals, nullptr));
  ORRERY_ASSERT(lp.checkpoints != nullptr && difference(target, lp.checkpoints->ordinal) >= 0,
                "a checkpoint that leads to the target is kept");
  restore_base(lp, *lp.checkpoints);
  return lp.checkpoints->ordinal;
}

}  // namespace orrery::checkpoint
