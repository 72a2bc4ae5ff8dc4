// SPDX-License-Identifier: Apache-2.0
//
// What Time Warp keeps for an LP: one cache line that every event touches, and its heap on another
// line, which only allocations and checkpoints of LPs with more than one chunk touch.
//
// The history holds the events that were executed and are not committed, oldest first, as an array:
// a rollback walks it from the end, coasting forward and commitment from the front. A form of its
// own for a history of one event, without an array, was slower (docs/decisions/past-of-lps.md). The
// smallest LPs have no history of their own: their executed events are in their worker's journal
// (journal.h).
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpointer.h"
#include "core/assert.h"
#include "engine/timewarp/event.h"
#include "memory/block_pool.h"
#include "memory/lp_heap.h"
#include "run/world/world.h"

namespace orrery::timewarp {

struct alignas(64) LpState : LpEntry {
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  checkpoint::Checkpoint* checkpoints = nullptr;  ///< newest first
  /// Time of the last event in the history, for the first straggler test; kNever if it is empty. In
  /// a journaled LP that event may be committed already.
  std::int64_t last_ticks = kNever;
  std::uint32_t count : 24 = 0;           ///< events in the history
  std::uint32_t active : 1 = 0;           ///< in its worker's list of LPs with a history
  std::uint32_t faulted : 1 = 0;          ///< the last event in the history failed
  std::uint32_t one_chunk : 1 = 0;        ///< the heap is one chunk, at `object`
  std::uint32_t recorded : 1 = 0;         ///< has a record at its heap (checkpoint/checkpointer.h)
  std::uint32_t journaled : 1 = 0;        ///< its past is in the journal, and not here
  std::uint32_t held : 1 = 0;             ///< must not roll back (held.h); never has a past
  std::uint32_t has_dead_timers : 1 = 0;  ///< DeadTimers has some of its timers
  std::uint32_t base = 0;  ///< ordinal of the first event; wraps, only differences count

  LpState() = default;
  LpState(const LpState&) = delete;
  LpState& operator=(const LpState&) = delete;

  std::uint32_t next_ordinal() const { return base + count; }
  TwEvent* const* executed() const {
    return executed_.array == nullptr ? nullptr : executed_.array->events;
  }
  TwEvent* last() const { return executed()[count - 1]; }

  void append(memory::BlockPool& pool, TwEvent* event) {
    ORRERY_ASSERT(count == 0 || last()->key() < event->key(), "a history is in the order of keys");
    last_ticks = event->time().ticks();
    if (executed_.array == nullptr || count == executed_.array->capacity) [[unlikely]]
      grow(pool);
    executed_.array->events[count] = event;
    count = count + 1;
  }
  /// Keeps the first `events` events.
  void truncate(std::uint32_t events) {
    ORRERY_ASSERT(events <= count, "a history is cut, not grown");
    count = events & kMostEvents;
    last_ticks = events == 0 ? kNever : last()->time().ticks();
  }
  /// Drops the first `dropped` events.
  void drop_front(std::uint32_t dropped) {
    ORRERY_ASSERT(dropped <= count, "no more is dropped than there is");
    if (dropped == 0) return;
    TwEvent** events = executed_.array->events;
    std::memmove(events, events + dropped, (count - dropped) * sizeof(TwEvent*));
    count = (count - dropped) & kMostEvents;
    base += dropped;
    if (count == 0) last_ticks = kNever;
  }
  /// Forgets the history of an LP that has committed everything, and its checkpoints.
  void rest(memory::BlockPool& pool) {
    forget_history(pool);
    checkpoint::release_all(pool, checkpoints);
    checkpoints = nullptr;
  }
  void forget_history(memory::BlockPool& pool) {
    if (executed_.array != nullptr)
      pool.release(executed_.array, EventArray::bytes(executed_.array->capacity));
    executed_.array = nullptr;
    base += count;
    count = 0;
    last_ticks = kNever;
  }

  // Of an LP whose past is in the journal.
  std::uint32_t image_bytes() const { return base; }
  std::uint64_t newest_entry() const { return executed_.newest_entry; }
  void set_newest_entry(std::uint64_t number, std::int64_t ticks) {
    executed_.newest_entry = number;
    last_ticks = ticks;
  }
  void enter_journal(std::size_t chunk_bytes) {
    journaled = 1;
    base = static_cast<std::uint32_t>(chunk_bytes);
    set_newest_entry(0, kNever);
  }
  /// The LP has a history of its own again, which is empty.
  void leave_journal() {
    journaled = 0;
    base = 0;
    executed_.array = nullptr;
    last_ticks = kNever;
  }

 private:
  static constexpr std::uint32_t kMostEvents = (1u << 24) - 1;
  struct EventArray {
    std::uint64_t capacity;
    TwEvent* events[1];  // `capacity` of them
    static std::size_t bytes(std::uint64_t capacity) {
      return sizeof(std::uint64_t) + capacity * sizeof(TwEvent*);
    }
  };

  void grow(memory::BlockPool& pool) {
    // 7, 15, 31, ...: blocks of 64, 128, 256 bytes, ...
    EventArray* const old = executed_.array;
    const std::uint64_t capacity = old != nullptr ? 2 * old->capacity + 1 : 7;
    if (capacity > kMostEvents) memory::throw_refused(EventArray::bytes(capacity));
    auto* array = static_cast<EventArray*>(pool.allocate(EventArray::bytes(capacity)));
    array->capacity = capacity;
    if (old != nullptr) {
      std::memcpy(static_cast<void*>(array->events), old->events, count * sizeof(TwEvent*));
      pool.release(old, EventArray::bytes(old->capacity));
    }
    executed_.array = array;
  }

  union {
    EventArray* array = nullptr;
    std::uint64_t newest_entry;  ///< in the journal; 0: none
  } executed_;
};
static_assert(sizeof(LpState) == 64);

/// The world's LPs while this engine has them. Each worker takes its own LPs.
class LpStates {
 public:
  explicit LpStates(World& world) : world_(world), states_(world.lps().data<LpState>()) {}

  LpState& operator[](LpId id) const { return states_[id]; }
  memory::LpHeap& heap(LpId id) { return world_.heap(id); }
  /// Only if LpState::recorded.
  checkpoint::CheckpointRecord& record(LpId id) {
    return static_cast<checkpoint::CheckpointRecord&>(*world_.attachment(id));
  }
  void attach(LpId id, std::unique_ptr<checkpoint::CheckpointRecord> record) {
    world_.attachment(id) = std::move(record);
  }
  void detach(LpId id) { world_.attachment(id).reset(); }

  /// Takes an LP over; `arena` is its worker's.
  LpState& take(LpId id, memory::Arena& arena) {
    bind(id, arena);
    return world_.lps().take<LpState>(id);
  }
  /// At a cut: an LP goes to another worker, whose arena is `arena`.
  void bind(LpId id, memory::Arena& arena) { world_.heap(id).use_arena(arena); }

 private:
  World& world_;
  LpState* const states_;
};

}  // namespace orrery::timewarp
