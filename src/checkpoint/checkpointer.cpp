// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpointer.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "core/cycles.h"
#include "core/float_environment.h"
#include "core/logical_process_access.h"
#include "core/model_stack.h"
#include "memory/application_mode.h"

namespace orrery::checkpoint {
namespace {

/// Smaller images are copied about as fast as changes in them are found.
constexpr std::size_t kIncrementalBytes = 8 * 1024;

constexpr unsigned bit(Kind kind) {
  return 1u << static_cast<unsigned>(kind);
}

/// The number of events after which the next checkpoint is due: twice as many after each refusal,
/// since the system has no more memory one event later.
std::int32_t delayed(std::uint32_t due, const CheckpointRecord& record) {
  return static_cast<std::int32_t>(due << std::min<unsigned>(record.refusals, 8));
}

}  // namespace

Checkpointer::Checkpointer(memory::BlockPool& pool, const Strategy& strategy,
                           const Offload& offload, CopyQueue* queue,
                           std::shared_ptr<PageTracker> tracker)
    : pool_(pool),
      strategy_(strategy),
      offload_(offload),
      queue_(queue),
      tracker_(std::move(tracker)),
      thresholds_(offload) {}

std::unique_ptr<CheckpointRecord> Checkpointer::adopt(const LogicalProcessBase& object,
                                                      std::size_t image_bytes) {
  const bool large = image_bytes >= kLargeBytes && strategy_.large_lps();
  if (!strategy_.every_lp() && !offload_.on() && !large) return nullptr;
  auto record = std::make_unique<CheckpointRecord>(Tuning(tuner_for(object, image_bytes)));
  record->size_class = size_class(image_bytes);
  return record;
}

/// The kinds of checkpoints that an LP of this size may have, a bit each.
unsigned Checkpointer::candidates(const LogicalProcessBase& object, std::size_t image_bytes) const {
  if (strategy_.name == Strategy::Name::reverse && !object.reversible()) return bit(Kind::image);
  unsigned kinds = bit(strategy_.kind());
  if (strategy_.automatic() && !offload_.on()) {
    if (image_bytes >= kIncrementalBytes) kinds |= bit(Kind::delta);
    if (image_bytes >= kLargeBytes && object.reversible()) kinds |= bit(Kind::reverse);
  }
  return kinds;
}

/// The tuner of LPs of this type and size.
CheckpointKindTuner& Checkpointer::tuner_for(const LogicalProcessBase& object,
                                             std::size_t image_bytes) {
  const std::pair key(std::type_index(typeid(object)), size_class(image_bytes));
  return tuners_.try_emplace(key, candidates(object, image_bytes), strategy_.interval())
      .first->second;
}

/// Switches an LP that has grown or shrunk to the tuner of its new size.
void Checkpointer::note_size(const Lp& lp, std::size_t image_bytes) {
  const unsigned now = size_class(image_bytes);
  if (now == lp.record.size_class) [[likely]]
    return;
  lp.record.size_class = now;
  lp.record.tuning.learn_from(tuner_for(lp.object, image_bytes));
}

// ---- Taking

bool Checkpointer::before_event(const Lp& lp, std::uint32_t ordinal) {
  end_quiet(lp.record);
  if (lp.record.copying != nullptr) resynchronise(lp.record, lp.checkpoints, ordinal);
  const Kind kind = lp.record.tuning.kind();
  const Checkpoint* base = lp.checkpoints;
  const std::uint32_t interval = kind == Kind::reverse ? CheckpointKindTuner::kReverseImageInterval
                                                       : lp.record.tuning.interval();
  // An offloaded checkpoint is taken after an event. It is due here only if that was not possible.
  const std::uint32_t due = queue_ == nullptr || kind != Kind::image
                                ? interval
                                : std::max(interval, offload_.longest_distance) + 1;
  if (base == nullptr || difference(ordinal, base->ordinal) >= delayed(due, lp.record))
    take(lp, ordinal);
  begun_.measuring = lp.record.tuning.wants_cost();
  if (begun_.measuring) begun_.event_start = read_cycles();
  // Not `kind`: take() may have changed it, if the LP has grown.
  if (lp.record.tuning.kind() != Kind::reverse) return false;
  begun_.kernel_before = lp.kernel;
  begun_.ledger_before = Ledger::extent_of(LogicalProcessAccess::ledger(lp.object));
  begun_.undo_log.clear();
  return true;
}

void Checkpointer::after_event(const Lp& lp, std::uint32_t ordinal, bool succeeded) {
  const Kind kind = lp.record.tuning.kind();
  if (kind == Kind::reverse) {
    if (!succeeded || !push_reverse(lp, ordinal - 1)) lp.record.half_changed = true;
  }
  if (begun_.measuring) lp.record.tuning.add_event(read_cycles() - begun_.event_start);
  if (queue_ != nullptr && kind == Kind::image && succeeded &&
      difference(ordinal, lp.checkpoints->ordinal) >=
          delayed(lp.record.tuning.interval(), lp.record) &&
      !offload(lp, ordinal)) {
    take(lp, ordinal);
  }
  lp.record.quiet = lp.record.granted_quiet = quiet_events(lp, ordinal);
}

/// The number of events from `ordinal` on that may pass without a call of the checkpointer.
std::uint8_t Checkpointer::quiet_events(const Lp& lp, std::uint32_t ordinal) const {
  if (queue_ != nullptr || lp.record.tuning.kind() == Kind::reverse) return 0;
  const std::int32_t until_due = delayed(lp.record.tuning.interval(), lp.record) -
                                 difference(ordinal, lp.checkpoints->ordinal);
  if (until_due <= 0) return 0;
  return static_cast<std::uint8_t>(
      std::min(static_cast<std::uint32_t>(until_due), lp.record.tuning.indifferent()));
}

void Checkpointer::end_quiet(CheckpointRecord& record) {
  record.tuning.skip(record.granted_quiet - record.quiet);
  record.quiet = record.granted_quiet = 0;
}

/// Takes a checkpoint. Without memory for it, calls do_without.
void Checkpointer::take(const Lp& lp, std::uint32_t ordinal) {
  const std::uint64_t start = read_cycles();
  const bool delta = lp.record.tuning.kind() == Kind::delta;
  const bool first = lp.record.shadow == nullptr;
  try {
    delta ? take_delta(lp, ordinal) : take_image(lp, ordinal);
  } catch (const std::bad_alloc&) {
    do_without(lp, ordinal);
    return;
  }
  lp.record.refusals = 0;
  // The cost of a shadow's first delta says nothing about later ones.
  if (!delta || !first) lp.record.tuning.add_checkpoint(read_cycles() - start);
}

void Checkpointer::take_image(const Lp& lp, std::uint32_t ordinal) {
  lp.checkpoints = checkpoint::take(pool_, lp.heap, lp.kernel, ordinal, lp.checkpoints, writing_);
  ++statistics_.images;
  count_distance(*lp.checkpoints);
  note_size(lp, lp.checkpoints->image_bytes);
}

/// Throws std::bad_alloc and then changes nothing.
void Checkpointer::take_delta(const Lp& lp, std::uint32_t ordinal) {
  if (lp.record.shadow == nullptr) lp.record.shadow = std::make_unique<Shadow>(tracker_);
  Shadow& shadow = *lp.record.shadow;
  Checkpoint* before = newest_delta(lp.checkpoints);
  Checkpoint* delta = make(pool_, Kind::delta, sizeof(Checkpoint::Back) + lp.heap.layout_bytes(),
                           lp.kernel, ordinal, lp.checkpoints);
  delta->back() = {nullptr, 0};
  lp.heap.save_layout(delta->layout());
  back_.clear();
  shadow_bytes_ -= shadow.bytes();
  try {
    shadow.follow(lp.heap, before == nullptr ? nullptr : &back_);
    shadow_bytes_ += shadow.bytes();
  } catch (const std::bad_alloc&) {
    shadow_bytes_ += shadow.bytes();
    release(pool_, delta);
    throw;
  }
  try {
    if (!back_.empty()) keep_way_back(shadow, *before);
  } catch (const std::bad_alloc&) {
    release(pool_, delta);
    throw;
  }
  lp.checkpoints = delta;
  ++statistics_.deltas;
  count_distance(*delta);
}

/// Stores the way back that the shadow has just produced in the previous delta.
void Checkpointer::keep_way_back(Shadow& shadow, Checkpoint& before) {
  try {
    before.back() = {static_cast<std::byte*>(pool_.allocate(back_.size())), back_.size()};
  } catch (const std::bad_alloc&) {
    shadow.unfollow(back_.data(), back_.size());
    throw;
  }
  std::memcpy(before.back().steps, back_.data(), back_.size());
  statistics_.delta_bytes += back_.size();
}

/// Handles a refusal of memory for a checkpoint: trims the pool, gives up deltas. Throws
/// std::bad_alloc if the LP has no checkpoint at all and none can be taken.
void Checkpointer::do_without(const Lp& lp, std::uint32_t ordinal) {
  ++statistics_.refused;
  pool_.trim();
  back_ = {};
  if (lp.record.refusals < 255) ++lp.record.refusals;
  if (lp.record.tuning.kind() == Kind::delta) {
    lp.record.tuning.exclude(Kind::delta);
    if (newest_delta(lp.checkpoints) == nullptr) drop_shadow(lp.record);
  }
  if (lp.checkpoints == nullptr) take_image(lp, ordinal);
}

/// Records how to undo event `ordinal`, which has just run. False if there is no memory for it.
bool Checkpointer::push_reverse(const Lp& lp, std::uint32_t ordinal) {
  Checkpoint*& records = lp.record.reversals;
  if (begun_.undo_log.was_refused()) {
    ++statistics_.refused;
    return false;
  }
  try {
    records = make(pool_, Kind::reverse, begun_.undo_log.record_bytes(), begun_.kernel_before,
                   ordinal, records);
  } catch (const std::bad_alloc&) {
    ++statistics_.refused;
    return false;
  }
  records->ledger_before = begun_.ledger_before;
  begun_.undo_log.write(records->image());
  ++statistics_.reversals;
  return true;
}

void Checkpointer::count_distance(const Checkpoint& checkpoint) {
  ++statistics_.taken;
  if (checkpoint.older == nullptr) return;
  statistics_.distance += checkpoint.ordinal - checkpoint.older->ordinal;
  ++statistics_.distances;
}

Checkpoint* Checkpointer::newest_delta(Checkpoint* list) {
  while (list != nullptr && list->kind != Kind::delta) list = list->older;
  return list;
}

// ---- Offloading

/// Hands a copy of the LP's state to the copier. False if the worker must make it at once.
bool Checkpointer::offload(const Lp& lp, std::uint32_t ordinal) {
  // Mono: the outstanding copy is finished or aborted, as if its LP were needed.
  if (offload_.mode == Offload::Mode::mono && last_.record != nullptr && last_.record->copying)
    resynchronise(*last_.record, *last_.list, last_.ordinal);
  CopyQueue::Slot* slot = queue_->next_free();
  if (slot == nullptr) {
    // The copier is a whole ring behind, so it could not copy anything in time.
    ++statistics_.no_slot;
    return thresholds_.threshold() > 0;
  }
  close_slot(*slot);
  if (!fill(*slot, lp, ordinal)) return true;  // the checkpoint is taken later
  lp.record.copying = slot;
  last_ = {&lp.record, &lp.checkpoints, ordinal};
  ++statistics_.offloaded;
  queue_->publish(*slot);
  return true;
}

/// Makes the checkpoint and fills the slot with the rows to copy. False if there is no memory for
/// it.
bool Checkpointer::fill(CopyQueue::Slot& slot, const Lp& lp, std::uint32_t ordinal) {
  Checkpoint* checkpoint = nullptr;
  try {
    checkpoint =
        make(pool_, Kind::image, lp.heap.image_bytes(), lp.kernel, ordinal, lp.checkpoints);
    lp.heap.save_layout(checkpoint->image());
    std::byte* to = checkpoint->image() + lp.heap.layout_bytes();
    slot.rows.clear();
    lp.heap.for_each_live([&](const std::byte* begin, std::size_t bytes, std::size_t) {
      for (std::size_t at = 0; at < bytes; at += offload_.burst_bytes) {
        const std::size_t part = std::min(offload_.burst_bytes, bytes - at);
        slot.rows.push_back({to, begin + at, part});
        to += part;
      }
    });
    CopyQueue::cut(slot, offload_.burst_bytes);
  } catch (const std::bad_alloc&) {
    if (checkpoint != nullptr) release(pool_, checkpoint);
    do_without(lp, ordinal);
    return false;
  }
  slot.checkpoint = checkpoint;
  slot.lp = &lp.record;
  lp.checkpoints = checkpoint;
  lp.record.refusals = 0;
  return true;
}

/// Finishes or aborts the outstanding copy of an LP that is about to run event `ordinal`.
void Checkpointer::resynchronise(CheckpointRecord& record, Checkpoint*& list,
                                 std::uint32_t ordinal) {
  CopyQueue::Slot& slot = *record.copying;
  if (!CopyQueue::complete(slot)) {
    ++statistics_.resynchronised;
    const Checkpoint* complete = slot.checkpoint->older;
    const bool forced =
        complete == nullptr || difference(ordinal, complete->ordinal) >=
                                   static_cast<std::int32_t>(offload_.longest_distance);
    if (!forced && CopyQueue::progress(slot) < thresholds_.threshold()) {
      abort(record, list);
      return;
    }
    const std::uint64_t start = read_cycles();
    CopyQueue::finish(slot);
    record.tuning.add_checkpoint(read_cycles() - start);
    ++statistics_.by_worker;
    --statistics_.by_copier;  // close_slot counts it
  }
  close_slot(slot);
}

/// Counts the copy in the slot, if there is one, as complete.
void Checkpointer::close_slot(CopyQueue::Slot& slot) {
  if (slot.lp == nullptr) return;
  std::exchange(slot.lp, nullptr)->copying = nullptr;
  count_distance(*slot.checkpoint);
  ++statistics_.images;
  ++statistics_.by_copier;
}

/// Drops the newest checkpoint of an LP, whose copy is outstanding.
void Checkpointer::abort(CheckpointRecord& record, Checkpoint*& list) {
  CopyQueue::Slot& slot = *std::exchange(record.copying, nullptr);
  CopyQueue::abort(slot);
  slot.lp = nullptr;
  list = slot.checkpoint->older;
  release(pool_, slot.checkpoint);
  ++statistics_.aborted;
}

/// The LP is about to be rolled back, and an incomplete copy is of no more use.
void Checkpointer::drop_outstanding(const Lp& lp) {
  if (CopyQueue::complete(*lp.record.copying)) {
    close_slot(*lp.record.copying);
  } else {
    abort(lp.record, lp.checkpoints);
  }
}

void Checkpointer::settle(const Lp& lp) {
  if (lp.record.copying == nullptr) return;
  CopyQueue::finish(*lp.record.copying);
  close_slot(*lp.record.copying);
}

// ---- Going back

/// Drops checkpoints after event `ordinal`; true if one of them was a delta.
bool Checkpointer::drop_after(const Lp& lp, std::uint32_t ordinal) {
  bool delta = false;
  while (difference(lp.checkpoints->ordinal, ordinal) > 0) {
    delta |= lp.checkpoints->kind == Kind::delta;
    drop_newest(lp);
  }
  return delta;
}

/// Drops the newest checkpoint; the shadow follows to the next older delta.
void Checkpointer::drop_newest(const Lp& lp) {
  Checkpoint* newest = lp.checkpoints;
  lp.checkpoints = newest->older;
  if (newest->kind == Kind::delta) {
    Checkpoint* delta = newest_delta(lp.checkpoints);
    if (delta != nullptr && delta->back().steps != nullptr) {
      lp.record.shadow->go_back(delta->back().steps, delta->back().bytes);
      pool_.release(delta->back().steps, delta->back().bytes);
      delta->back() = {nullptr, 0};
    }
  }
  release(pool_, newest);
}

/// Undoes an event. Metrics first: handlers do not see them.
void Checkpointer::undo(const Lp& lp, const Checkpoint& record, const Event& event) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&record + 1);
  UndoLog::restore_images(bytes, record.image_bytes);
  Reversal reversal(event.time, lp.id, UndoLog::values_of(bytes));
  {
    const memory::ApplicationMode application(lp.heap);
    const FloatGuard floats;
    // The first record() of an LP allocates, and so do timers; the live set must be restored, too.
    LogicalProcessAccess::shrink_ledger(lp.object, record.ledger_before);
    const bool survived = recoverable(
        [&] { lp.object.dispatch_reverse(reversal, event.type, event.payload, event.bytes); });
    if (!survived) throw_crash();
  }
  lp.kernel = record.kernel;
}

void Checkpointer::restore_base(const Lp& lp, Checkpoint& base) {
  if (base.kind == Kind::delta) {
    lp.record.shadow->restore();
    lp.heap.restore_layout(base.layout());
  } else {
    lp.heap.restore(base.image());
  }
  lp.kernel = base.kernel;
}

// ---- Commitment

std::uint32_t Checkpointer::commit(const Lp& lp, std::uint32_t ordinal) {
  Checkpoint* list = lp.checkpoints;
  if (lp.record.copying != nullptr) {
    if (CopyQueue::complete(*lp.record.copying)) {
      close_slot(*lp.record.copying);
    } else {
      list = list->older;
    }
  }
  Checkpoint* base = base_for(list, ordinal);
  checkpoint::release_all(pool_, std::exchange(base->older, nullptr));
  Checkpoint** records = &lp.record.reversals;
  while (*records != nullptr && difference((*records)->ordinal, ordinal) >= 0)
    records = &(*records)->older;
  checkpoint::release_all(pool_, std::exchange(*records, nullptr));
  if (lp.record.tuning.kind() != Kind::delta && newest_delta(lp.checkpoints) == nullptr)
    drop_shadow(lp.record);
  return base->ordinal;
}

void Checkpointer::release_all(const Lp& lp) {
  end_quiet(lp.record);
  if (lp.record.copying != nullptr) drop_outstanding(lp);
  checkpoint::release_all(pool_, std::exchange(lp.checkpoints, nullptr));
  checkpoint::release_all(pool_, std::exchange(lp.record.reversals, nullptr));
  drop_shadow(lp.record);
}

/// For an LP without deltas.
void Checkpointer::drop_shadow(CheckpointRecord& record) {
  if (record.shadow == nullptr) return;
  shadow_bytes_ -= record.shadow->bytes();
  record.shadow.reset();
}

void Checkpointer::report(const Statistics& sum, const Copier* copier, RunResult& result) const {
  if (sum.refused > 0)
    result.notes.push_back("the system refused the memory for " + std::to_string(sum.refused) +
                           " checkpoints; they were taken later, or as plain copies");
  if (sum.taken + sum.reversals == 0) return;
  const auto add = [&](const char* name, double value, const char* help, const char* unit = "") {
    result.statistics.push_back({name, unit, help, value});
  };
  const auto mean = [](std::uint64_t total, std::uint64_t count) {
    return count == 0 ? 0.0 : static_cast<double>(total) / static_cast<double>(count);
  };
  const auto count = [](std::uint64_t n) { return static_cast<double>(n); };
  add("checkpoint_distance", mean(sum.distance, sum.distances),
      "mean number of events from one full copy of a large LP to the next");
  add("checkpoint_images", count(sum.images), "full copies of large LPs");
  add("checkpoint_deltas", count(sum.deltas), "incremental checkpoints");
  add("checkpoint_delta_bytes", mean(sum.delta_bytes, sum.deltas),
      "mean size of an incremental checkpoint", "B");
  add("checkpoint_reversals", count(sum.reversals), "events that a reverse handler can undo");
  if (copier == nullptr) return;
  add("checkpoints_offloaded", count(sum.offloaded), "checkpoints handed to a copier");
  add("checkpoints_aborted", count(sum.aborted), "offloaded checkpoints that were given up");
  add("checkpoints_by_copier", count(sum.by_copier),
      "offloaded checkpoints that were complete when their LP was needed");
  add("checkpoints_by_worker", count(sum.by_worker),
      "offloaded checkpoints that the worker finished");
  add("checkpoint_resynchronisations", count(sum.resynchronised),
      "offloaded checkpoints that were unfinished when their LP was needed");
  add("checkpoints_no_slot", count(sum.no_slot),
      "checkpoints that were not offloaded because the copier's queue was full");
  add("abort_threshold", threshold(),
      "share of a copy from which on it is finished, not given up; at the end");
  add("copier_utilisation", copier->utilisation(), "share of the copiers' time that they copied");
}

}  // namespace orrery::checkpoint
