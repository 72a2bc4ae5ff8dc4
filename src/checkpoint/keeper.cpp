// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/keeper.h"

#include <algorithm>
#include <cstring>

#include "core/cycles.h"
#include "core/logical_process_access.h"
#include "memory/application_mode.h"

namespace orrery::checkpoint {
namespace {

/// Below this an image is copied about as fast as changes in it are found.
constexpr std::size_t kIncrementalBytes = 8 * 1024;
/// Images are kept beneath reverse records, for handlers that fail midway.
constexpr std::uint32_t kReverseImageInterval = 256;

constexpr unsigned bit(Kind kind) {
  return 1u << static_cast<unsigned>(kind);
}

}  // namespace

Keeper::Keeper(memory::BlockPool& pool, const Strategy& strategy, const Offload& offload,
               CopyQueue* queue)
    : pool_(pool), strategy_(strategy), offload_(offload), queue_(queue), thresholds_(offload) {}

std::unique_ptr<Kept> Keeper::adopt(const LogicalProcessBase& object,
                                    std::size_t image_bytes) const {
  const bool large = image_bytes >= kLargeBytes && strategy_.large_lps();
  if (!strategy_.every_lp() && !offload_.on() && !large) return nullptr;
  return std::make_unique<Kept>(candidates(object, image_bytes), strategy_.interval());
}

/// The kinds of checkpoints that an LP of this size may have, a bit each.
unsigned Keeper::candidates(const LogicalProcessBase& object, std::size_t image_bytes) const {
  if (strategy_.name == Strategy::Name::reverse && !object.reversible()) return bit(Kind::image);
  unsigned kinds = bit(strategy_.kind());
  if (strategy_.automatic() && !offload_.on()) {
    if (image_bytes >= kIncrementalBytes) kinds |= bit(Kind::delta);
    if (image_bytes >= kLargeBytes && object.reversible()) kinds |= bit(Kind::reverse);
  }
  return kinds;
}

// ---- Taking

bool Keeper::before_event(const Lp& lp, std::uint32_t ordinal) {
  if (lp.kept.copying != nullptr) resynchronise(lp.kept, lp.checkpoints, ordinal);
  const Kind kind = lp.kept.tuning.kind();
  const Checkpoint* base = lp.checkpoints;
  const std::uint32_t interval =
      kind == Kind::reverse ? kReverseImageInterval : lp.kept.tuning.interval();
  // An offloaded one is taken after an event; it is due again only if that was not to be.
  const std::uint32_t due = queue_ == nullptr || kind != Kind::image
                                ? interval
                                : std::max(interval, offload_.longest_distance) + 1;
  if (base == nullptr || difference(ordinal, base->ordinal) >= static_cast<std::int32_t>(due))
    take(lp, ordinal);
  event_start_ = read_cycles();
  if (kind != Kind::reverse) return false;
  kernel_before_ = lp.kernel;
  had_metrics_ = LogicalProcessAccess::metrics(lp.object) != nullptr;
  undo_log_.clear();
  return true;
}

void Keeper::after_event(const Lp& lp, std::uint32_t ordinal, bool succeeded) {
  const Kind kind = lp.kept.tuning.kind();
  if (kind == Kind::reverse) {
    if (succeeded) {
      push_reverse(lp, ordinal - 1);
    } else {
      lp.kept.half_changed = true;
    }
  }
  const bool over = lp.kept.tuning.add_event(read_cycles() - event_start_);
  if (queue_ != nullptr && kind == Kind::image && succeeded &&
      difference(ordinal, lp.checkpoints->ordinal) >=
          static_cast<std::int32_t>(lp.kept.tuning.interval()) &&
      !offload(lp, ordinal)) {
    take(lp, ordinal);
  }
  if (over) lp.kept.tuning.decide();
}

void Keeper::take(const Lp& lp, std::uint32_t ordinal) {
  const std::uint64_t start = read_cycles();
  if (lp.kept.tuning.kind() == Kind::delta) {
    const bool first = lp.kept.shadow == nullptr;
    take_delta(lp, ordinal);
    if (first) return;  // its cost says nothing about later ones
  } else {
    lp.checkpoints = checkpoint::take(pool_, lp.heap, lp.kernel, ordinal, lp.checkpoints);
    ++statistics_.images;
    count_distance(*lp.checkpoints);
    lp.kept.tuning.add_candidates(candidates(lp.object, lp.checkpoints->image_bytes));
  }
  lp.kept.tuning.add_checkpoint(read_cycles() - start);
}

void Keeper::take_delta(const Lp& lp, std::uint32_t ordinal) {
  if (!tracker_) tracker_.emplace();
  if (lp.kept.shadow == nullptr) lp.kept.shadow = std::make_unique<Shadow>(*tracker_);
  Shadow& shadow = *lp.kept.shadow;
  Checkpoint* before = newest_delta(lp.checkpoints);
  back_.clear();
  shadow_bytes_ -= shadow.bytes();
  shadow.follow(lp.heap, before == nullptr ? nullptr : &back_);
  shadow_bytes_ += shadow.bytes();
  if (before != nullptr && !back_.empty()) {
    before->back() = {static_cast<std::byte*>(pool_.allocate(back_.size())), back_.size()};
    std::memcpy(before->back().steps, back_.data(), back_.size());
    statistics_.delta_bytes += back_.size();
  }
  lp.checkpoints = make(pool_, Kind::delta, sizeof(Checkpoint::Back) + lp.heap.layout_bytes(),
                        lp.kernel, ordinal, lp.checkpoints);
  lp.checkpoints->back() = {nullptr, 0};
  lp.heap.save_layout(lp.checkpoints->layout());
  ++statistics_.deltas;
  count_distance(*lp.checkpoints);
}

/// How to undo event `ordinal`, which has just been executed.
void Keeper::push_reverse(const Lp& lp, std::uint32_t ordinal) {
  Checkpoint*& records = lp.kept.reversals;
  records = make(pool_, Kind::reverse, undo_log_.record_bytes(), kernel_before_, ordinal, records);
  records->had_metrics = had_metrics_;
  undo_log_.write(records->image());
  ++statistics_.reversals;
}

void Keeper::count_distance(const Checkpoint& checkpoint) {
  ++statistics_.taken;
  if (checkpoint.older == nullptr) return;
  statistics_.distance += checkpoint.ordinal - checkpoint.older->ordinal;
  ++statistics_.distances;
}

Checkpoint* Keeper::newest_delta(Checkpoint* list) {
  while (list != nullptr && list->kind != Kind::delta) list = list->older;
  return list;
}

// ---- Offloading

/// Hands a copy of the LP's state to the copier. False if the worker is to make it at once.
bool Keeper::offload(const Lp& lp, std::uint32_t ordinal) {
  // Mono: the one that is outstanding is finished or given up, as if its LP were needed.
  if (offload_.mode == Offload::Mode::mono && last_.kept != nullptr && last_.kept->copying)
    resynchronise(*last_.kept, *last_.list, last_.ordinal);
  CopyQueue::Slot* slot = queue_->next_free();
  if (slot == nullptr) {
    // The copier lies a whole ring behind: nothing of this copy would be done in time.
    ++statistics_.no_slot;
    return thresholds_.threshold() > 0;
  }
  close_slot(*slot);
  Checkpoint* checkpoint =
      make(pool_, Kind::image, lp.heap.image_bytes(), lp.kernel, ordinal, lp.checkpoints);
  lp.heap.save_layout(checkpoint->image());
  std::byte* to = checkpoint->image() + lp.heap.layout_bytes();
  slot->rows.clear();
  lp.heap.for_each_live([&](const std::byte* begin, std::size_t bytes, std::size_t) {
    for (std::size_t at = 0; at < bytes; at += offload_.burst_bytes) {
      const std::size_t part = std::min(offload_.burst_bytes, bytes - at);
      slot->rows.push_back({to, begin + at, part});
      to += part;
    }
  });
  slot->checkpoint = checkpoint;
  slot->lp = &lp.kept;
  lp.checkpoints = checkpoint;
  lp.kept.copying = slot;
  last_ = {&lp.kept, &lp.checkpoints, ordinal};
  ++statistics_.offloaded;
  queue_->publish(*slot, offload_.burst_bytes);
  return true;
}

/// An LP with an outstanding copy is to go on with event `ordinal`: the copy is finished or given
/// up.
void Keeper::resynchronise(Kept& kept, Checkpoint*& list, std::uint32_t ordinal) {
  CopyQueue::Slot& slot = *kept.copying;
  if (!CopyQueue::complete(slot)) {
    ++statistics_.resynchronised;
    const Checkpoint* complete = slot.checkpoint->older;
    const bool forced =
        complete == nullptr || difference(ordinal, complete->ordinal) >=
                                   static_cast<std::int32_t>(offload_.longest_distance);
    if (!forced && CopyQueue::progress(slot) < thresholds_.threshold()) {
      abort(kept, list);
      return;
    }
    const std::uint64_t start = read_cycles();
    CopyQueue::finish(slot);
    kept.tuning.add_checkpoint(read_cycles() - start);
    ++statistics_.by_worker;
    --statistics_.by_copier;  // close_slot counts it
  }
  close_slot(slot);
}

/// The copy in the slot, if there is one, is complete, and that is noted.
void Keeper::close_slot(CopyQueue::Slot& slot) {
  if (slot.lp == nullptr) return;
  std::exchange(slot.lp, nullptr)->copying = nullptr;
  count_distance(*slot.checkpoint);
  ++statistics_.images;
  ++statistics_.by_copier;
}

/// Gives the newest checkpoint of an LP up.
void Keeper::abort(Kept& kept, Checkpoint*& list) {
  CopyQueue::Slot& slot = *std::exchange(kept.copying, nullptr);
  CopyQueue::abort(slot);
  slot.lp = nullptr;
  list = slot.checkpoint->older;
  release(pool_, slot.checkpoint);
  ++statistics_.aborted;
}

/// The LP is about to be rolled back: its outstanding copy is of no more use.
void Keeper::drop_outstanding(const Lp& lp) {
  if (CopyQueue::complete(*lp.kept.copying)) {
    close_slot(*lp.kept.copying);
  } else {
    abort(lp.kept, lp.checkpoints);
  }
}

void Keeper::settle(const Lp& lp) {
  if (lp.kept.copying == nullptr) return;
  CopyQueue::finish(*lp.kept.copying);
  close_slot(*lp.kept.copying);
}

// ---- Going back

/// Drops checkpoints after event `ordinal`; true if there was a delta among them.
bool Keeper::drop_after(const Lp& lp, std::uint32_t ordinal) {
  bool delta = false;
  while (difference(lp.checkpoints->ordinal, ordinal) > 0) {
    delta |= lp.checkpoints->kind == Kind::delta;
    drop_newest(lp);
  }
  return delta;
}

/// Drops the newest checkpoint; the shadow follows to the next older delta.
void Keeper::drop_newest(const Lp& lp) {
  Checkpoint* newest = lp.checkpoints;
  lp.checkpoints = newest->older;
  if (newest->kind == Kind::delta) {
    Checkpoint* delta = newest_delta(lp.checkpoints);
    if (delta != nullptr && delta->back().steps != nullptr) {
      lp.kept.shadow->go_back(delta->back().steps, delta->back().bytes);
      pool_.release(delta->back().steps, delta->back().bytes);
      delta->back() = {nullptr, 0};
    }
  }
  release(pool_, newest);
}

/// Runs an event backwards. Metrics first: handlers do not see them.
void Keeper::undo(const Lp& lp, const Checkpoint& record, const Event& event) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&record + 1);
  UndoLog::restore_images(bytes, record.image_bytes);
  Reversal reversal(event.time, lp.id, UndoLog::values_of(bytes));
  {
    const memory::ApplicationMode application(lp.heap);
    // The first record() of an LP allocates; what is live must be what it was.
    if (!record.had_metrics) LogicalProcessAccess::drop_metrics(lp.object);
    lp.object.dispatch_reverse(reversal, event.type, event.payload);
  }
  lp.kernel = record.kernel;
}

void Keeper::restore_base(const Lp& lp, Checkpoint& base) {
  if (base.kind == Kind::delta) {
    lp.kept.shadow->restore();
    lp.heap.restore_layout(base.layout());
  } else {
    lp.heap.restore(base.image());
  }
  lp.kernel = base.kernel;
}

// ---- Commitment

std::uint32_t Keeper::commit(const Lp& lp, std::uint32_t ordinal) {
  Checkpoint* list = lp.checkpoints;
  if (lp.kept.copying != nullptr) {
    if (CopyQueue::complete(*lp.kept.copying)) {
      close_slot(*lp.kept.copying);
    } else {
      list = list->older;
    }
  }
  Checkpoint* base = base_for(list, ordinal);
  checkpoint::release_all(pool_, std::exchange(base->older, nullptr));
  Checkpoint** records = &lp.kept.reversals;
  while (*records != nullptr && difference((*records)->ordinal, ordinal) >= 0)
    records = &(*records)->older;
  checkpoint::release_all(pool_, std::exchange(*records, nullptr));
  if (lp.kept.tuning.kind() != Kind::delta && newest_delta(lp.checkpoints) == nullptr)
    drop_shadow(lp.kept);
  return base->ordinal;
}

void Keeper::release_all(const Lp& lp) {
  if (lp.kept.copying != nullptr) drop_outstanding(lp);
  checkpoint::release_all(pool_, std::exchange(lp.checkpoints, nullptr));
  checkpoint::release_all(pool_, std::exchange(lp.kept.reversals, nullptr));
  drop_shadow(lp.kept);
}

/// For an LP without deltas.
void Keeper::drop_shadow(Kept& kept) {
  if (kept.shadow == nullptr) return;
  shadow_bytes_ -= kept.shadow->bytes();
  kept.shadow.reset();
}

Keeper::Statistics& Keeper::Statistics::operator+=(const Statistics& other) {
  taken += other.taken;
  aborted += other.aborted;
  offloaded += other.offloaded;
  by_copier += other.by_copier;
  by_worker += other.by_worker;
  resynchronised += other.resynchronised;
  no_slot += other.no_slot;
  distance += other.distance;
  distances += other.distances;
  images += other.images;
  deltas += other.deltas;
  reversals += other.reversals;
  delta_bytes += other.delta_bytes;
  return *this;
}

std::string Keeper::note() const {
  if (!tracker_ || tracker_->available()) return {};
  return "incremental checkpoints compare all memory: " + tracker_->why_not();
}

}  // namespace orrery::checkpoint
