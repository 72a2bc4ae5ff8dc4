// SPDX-License-Identifier: Apache-2.0
//
// What Time Warp keeps of an LP: one cache line that every event touches, and its heap on another
// line, which only allocations and checkpoints of LPs with more than one chunk touch.
//
// The history holds the events that were executed and are not committed, oldest first, as an array:
// a rollback walks it from the end, coasting forward and commitment from the front. GVT rounds are
// frequent, so most often it is one event: that one lies in place of the pointer to the array.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "checkpoint/checkpoint.h"
#include "checkpoint/keeper.h"
#include "core/assert.h"
#include "engine/timewarp/event.h"
#include "memory/block_pool.h"
#include "memory/lp_heap.h"
#include "orrery/logical_process.h"

namespace orrery::timewarp {

struct alignas(64) LpState {
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  LogicalProcessBase* object = nullptr;  ///< lies in the LP's heap
  checkpoint::KernelState kernel;
  checkpoint::Checkpoint* checkpoints = nullptr;  ///< newest first
  /// Time of the last event in the history: the first straggler test. kNever if it is empty.
  std::int64_t last_ticks = kNever;
  std::uint32_t count : 27 = 0;     ///< events in the history
  std::uint32_t active : 1 = 0;     ///< in its worker's list of LPs with a history
  std::uint32_t faulted : 1 = 0;    ///< the last event in the history failed
  std::uint32_t has_array : 1 = 0;  ///< the history lies in an array
  std::uint32_t one_chunk : 1 = 0;  ///< the heap is one chunk, at `object`
  std::uint32_t recorded : 1 = 0;   ///< has a record at its heap (checkpoint/keeper.h)
  std::uint32_t base = 0;           ///< ordinal of the first event; wraps, only differences count

  LpState() = default;
  LpState(const LpState&) = delete;
  LpState& operator=(const LpState&) = delete;

  std::uint32_t next_ordinal() const { return base + count; }
  TwEvent* const* history() const { return has_array ? history_.array->events : &history_.only; }
  TwEvent* last() const { return history()[count - 1]; }

  void append(memory::BlockPool& pool, TwEvent* event) {
    ORRERY_ASSERT(count == 0 || last()->key() < event->key(), "a history is in the order of keys");
    last_ticks = event->time().ticks();
    if (!has_array && count == 0) [[likely]] {
      history_.only = event;
      count = 1;
      return;
    }
    if (!has_array || count == history_.array->capacity) [[unlikely]]
      grow(pool);
    history_.array->events[count] = event;
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
    if (dropped == count) {
      base += dropped;
      truncate(0);
      return;
    }
    TwEvent** events = history_.array->events;
    std::memmove(events, events + dropped, (count - dropped) * sizeof(TwEvent*));
    count = (count - dropped) & kMostEvents;
    base += dropped;
  }
  /// Forgets the history of an LP that has committed everything, and its checkpoints.
  void rest(memory::BlockPool& pool) {
    forget_history(pool);
    checkpoint::release_all(pool, checkpoints);
    checkpoints = nullptr;
  }
  void forget_history(memory::BlockPool& pool) {
    if (has_array) [[unlikely]]
      pool.release(history_.array, History::bytes(history_.array->capacity));
    has_array = 0;
    base += count;
    count = 0;
    last_ticks = kNever;
  }

 private:
  static constexpr std::uint32_t kMostEvents = (1u << 27) - 1;
  struct History {
    std::uint64_t capacity;
    TwEvent* events[1];  // `capacity` of them
    static std::size_t bytes(std::uint64_t capacity) {
      return sizeof(std::uint64_t) + capacity * sizeof(TwEvent*);
    }
  };

  void grow(memory::BlockPool& pool) {
    // 7, 15, 31, ...: blocks of 64, 128, 256 bytes, ...
    const std::uint64_t capacity = has_array ? 2 * history_.array->capacity + 1 : 7;
    if (capacity > kMostEvents) throw std::bad_alloc();
    auto* array = static_cast<History*>(pool.allocate(History::bytes(capacity)));
    array->capacity = capacity;
    std::memcpy(static_cast<void*>(array->events), history(), count * sizeof(TwEvent*));
    if (has_array) pool.release(history_.array, History::bytes(history_.array->capacity));
    history_.array = array;
    has_array = 1;
  }

  union {
    TwEvent* only = nullptr;
    History* array;
  } history_;
};
static_assert(sizeof(LpState) == 64);

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
  std::unique_ptr<checkpoint::Kept>& record(LpId id) { return heaps_[id].record; }
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
    std::unique_ptr<checkpoint::Kept> record;  ///< if LpState::recorded
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

}  // namespace orrery::timewarp
