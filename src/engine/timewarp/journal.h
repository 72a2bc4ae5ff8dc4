// SPDX-License-Identifier: Apache-2.0
//
// The past of a worker's smallest LPs, those that are one chunk of at most a cache line: their
// events in the order in which they were executed, each with the LP's state before it. The journal
// is written front to back, and commitment reads it in the same order. This costs such an LP less
// than a history of its own: nothing is allocated and freed event by event, the next lines can be
// prefetched, and commitment touches neither the LP nor the checkpoint. The events of an LP are a
// chain through the entries, newest first. A committed entry ends the chain, so commitment need not
// update the LP. Every event has its checkpoint, and no rollback coasts forward: at that size it is
// cheaper to copy than to decide.
//
// Entries are numbered consecutively. Commitment goes through them from the oldest. Where
// stragglers were executed late, GVT may have passed an entry and not an older one: such an entry
// is committed in its place, and its memory is freed after that of all older entries.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "core/assert.h"
#include "engine/timewarp/lp_state.h"
#include "memory/block_pool.h"
#include "memory/lp_heap.h"

namespace orrery::timewarp {

class Journal {
 public:
  static constexpr std::size_t kMostImageBytes = 64;

  struct alignas(64) Entry {
    TwEvent* event;  ///< nullptr: committed, or undone
    std::int64_t ticks;
    std::uint64_t previous;  ///< number of the LP's entry before this; that may be committed
    checkpoint::KernelState kernel;  ///< before the event
    LpId lp;                         ///< kUndone: no chain contains the entry
    std::uint32_t event_bytes;
    alignas(64) std::byte image[kMostImageBytes];  ///< of the LP's chunk, before the event
  };
  static_assert(sizeof(Entry) == 128);

  explicit Journal(memory::BlockPool& pool) : pool_(pool) {}
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // ---- Executing

  /// Called before `event` is executed. May throw std::bad_alloc; then nothing is changed.
  [[gnu::always_inline]] void append(LpState& lp, TwEvent* event) {
    if (next_ == segment_end_) [[unlikely]]
      open_segment();
    Entry& entry = *next_++;
    __builtin_prefetch(next_ + 1, 1);
    __builtin_prefetch(next_[1].image, 1);
    const std::int64_t ticks = event->time().ticks();
    if (ticks <= newest_ticks_) [[unlikely]]
      ordered_from_ = head_;
    newest_ticks_ = ticks;
    entry.event = event;
    entry.ticks = ticks;
    entry.previous = lp.newest_entry();
    entry.kernel = lp.kernel;
    entry.lp = event->receiver;
    entry.event_bytes = static_cast<std::uint32_t>(event->bytes());
    save(entry, lp);
    lp.set_newest_entry(head_++, ticks);
    ++live_;
  }
  /// Whether `event` comes before one that its LP has executed and not committed.
  bool is_straggler(const LpState& lp, const TwEvent* event) const {
    const Entry* newest = find(lp.newest_entry());
    return newest != nullptr && event->key() < newest->event->key();
  }

  // ---- Rolling back

  /// Removes the events of the LP at or after `to`, last first, calling undo(event), and restores
  /// the LP's state before them. Returns the oldest of them, or nullptr if there is none.
  template <class Undo>
  TwEvent* roll_back(LpState& lp, const Key& to, Undo&& undo) {
    Entry* entry = find(lp.newest_entry());
    Entry* oldest = nullptr;
    TwEvent* oldest_event = nullptr;
    for (; entry != nullptr && entry->event->key() >= to; entry = find(entry->previous)) {
      oldest = entry;
      oldest_event = entry->event;
      take_out(*entry);
      undo(oldest_event);
    }
    if (oldest == nullptr) return nullptr;
    memory::LpHeap::copy_single(reinterpret_cast<std::byte*>(lp.object), oldest->image,
                                lp.image_bytes());
    lp.kernel = oldest->kernel;
    lp.set_newest_entry(oldest->previous, entry == nullptr ? LpState::kNever : entry->ticks);
    return oldest_event;
  }
  /// Removes all entries of an LP that leaves the journal, calling moved(entry), oldest first.
  /// `newest`: the number of the LP's last entry.
  template <class Moved>
  void take_all(std::uint64_t newest, Moved&& moved) {
    std::vector<Entry*> entries;
    for (Entry* entry = find(newest); entry != nullptr; entry = find(entry->previous))
      entries.push_back(entry);
    for (std::size_t i = entries.size(); i-- > 0;) {
      moved(*entries[i]);
      take_out(*entries[i]);
    }
  }
  /// Frees the memory of the newest entries, as far as they were undone.
  void trim();

  // ---- Committing

  /// Commits the events before `until`, calling committed(entry) in the order of execution.
  template <class Committed>
  void commit(const Key& until, Committed&& committed) {
    std::uint64_t first_kept = head_;
    for (std::uint64_t number = tail_; number != head_;) {
      const std::uint64_t end = std::min(head_, (number / kSegment + 1) * kSegment);
      for (Entry* entry = &at(number); number != end; ++number, ++entry) {
        __builtin_prefetch(entry + 4, 1);
        if (entry->event == nullptr) continue;
        if (is_before(*entry, until)) [[likely]] {
          committed(*entry);
          entry->event = nullptr;
          --live_;
          continue;
        }
        if (first_kept == head_) first_kept = number;
        if (number >= ordered_from_) return drop_until(first_kept);
      }
    }
    drop_until(first_kept);
  }

  /// Visits the uncommitted events, newest first. `visit` may undo any of them.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::uint64_t number = head_; number-- > tail_;) {
      const Entry& entry = at(number);
      if (entry.event != nullptr) visit(entry);
    }
  }
  /// Events that were executed and are not committed.
  std::uint64_t events() const { return live_; }

 private:
  static constexpr LpId kUndone = 0xffffffff;    ///< no LP has that number
  static constexpr std::uint64_t kSegment = 32;  ///< entries: a page
  static constexpr std::size_t kSegmentBytes = kSegment * sizeof(Entry);

  Entry& at(std::uint64_t number) const {
    return segments_[number / kSegment & (segments_.size() - 1)][number % kSegment];
  }
  [[gnu::always_inline]] static void save(Entry& entry, const LpState& lp) {
    const auto* chunk = reinterpret_cast<const std::byte*>(lp.object);
    const std::size_t bytes = lp.image_bytes();
    if (!memory::kPoisons && bytes == kMostImageBytes) [[likely]] {
      std::memcpy(entry.image, chunk, kMostImageBytes);
    } else {
      memory::LpHeap::copy_single(entry.image, chunk, std::min(bytes, kMostImageBytes));
    }
  }
  static bool is_before(const Entry& entry, const Key& key) {
    const std::int64_t ticks = key.time().ticks();
    return entry.ticks < ticks || (entry.ticks == ticks && entry.event->key() < key);
  }
  Entry* find(std::uint64_t number) const {
    if (number < tail_) return nullptr;
    Entry& entry = at(number);
    return entry.event == nullptr ? nullptr : &entry;
  }
  void take_out(Entry& entry) {
    entry.event = nullptr;
    entry.lp = kUndone;
    --live_;
  }
  void open_segment();
  void drop_until(std::uint64_t number);
  void release_segments(std::uint64_t first, std::uint64_t end);

  memory::BlockPool& pool_;
  std::vector<Entry*> segments_;  ///< a ring, by number / kSegment; a power of two
  // Entry 0 does not exist: the newest entry of an LP without a past has that number.
  std::uint64_t tail_ = kSegment, head_ = kSegment;  ///< oldest entry, behind the newest
  std::uint64_t ordered_from_ = 0;  ///< entries from here on are in the order of time
  std::int64_t newest_ticks_ = LpState::kNever;
  std::uint64_t live_ = 0;
  Entry* next_ = nullptr;
  Entry* segment_end_ = nullptr;
};

}  // namespace orrery::timewarp
