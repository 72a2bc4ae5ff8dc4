// SPDX-License-Identifier: Apache-2.0
//
// What Time Warp keeps of an LP: two cache lines. The history holds the events that were executed
// and are not committed, oldest first, as an array: a rollback walks it from the end, coasting
// forward and commitment from the front. With frequent GVT rounds it rarely holds more than two
// events, for which there is room in the state itself, so an LP at rest costs these two lines and its
// own memory, and a busy one touches no third.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "checkpoint/checkpoint.h"
#include "engine/timewarp/event.h"
#include "memory/block_pool.h"
#include "memory/lp_heap.h"
#include "orrery/logical_process.h"

namespace orrery::timewarp {

struct alignas(64) LpState {
  static constexpr std::uint32_t kInlineEvents = 2;

  explicit LpState(memory::Arena& arena) : heap(arena) {}
  LpState(const LpState&) = delete;
  LpState& operator=(const LpState&) = delete;

  LogicalProcessBase* object = nullptr;  ///< lies in `heap`
  checkpoint::KernelState kernel;
  TwEvent** history = inline_history;
  checkpoint::Checkpoint* checkpoints = nullptr;  ///< newest first
  /// Time of the last event in the history: the first straggler test. Lowest value if it is empty.
  std::int64_t last_ticks = std::numeric_limits<std::int64_t>::min();
  std::uint32_t count = 0;     ///< events in the history
  std::uint32_t capacity = kInlineEvents;  ///< of the history
  std::uint32_t base = 0;      ///< ordinal of history[0]; ordinals wrap, only differences count
  bool active = false;         ///< in its worker's list of LPs with a history
  bool faulted = false;        ///< the last event in the history failed
  memory::LpHeap heap;
  TwEvent* inline_history[2];

  std::uint32_t next_ordinal() const { return base + count; }

  void append(memory::BlockPool& pool, TwEvent* event) {
    if (count == capacity) [[unlikely]]
      grow(pool);
    history[count++] = event;
    last_ticks = event->time().ticks();
  }
  /// Keeps the first `kept` events.
  void truncate(std::uint32_t kept) {
    count = kept;
    last_ticks = kept == 0 ? std::numeric_limits<std::int64_t>::min()
                           : history[kept - 1]->time().ticks();
  }
  /// Drops the first `dropped` events.
  void drop_front(std::uint32_t dropped) {
    std::memmove(history, history + dropped, (count - dropped) * sizeof(TwEvent*));
    count -= dropped;
    base += dropped;
  }
  /// Releases the history of an LP that has committed everything, and its checkpoints.
  void rest(memory::BlockPool& pool) {
    if (capacity > kInlineEvents) {
      pool.release(history, capacity * sizeof(TwEvent*));
      history = inline_history;
      capacity = kInlineEvents;
    }
    base += count;
    count = 0;
    last_ticks = std::numeric_limits<std::int64_t>::min();
    checkpoint::release_all(pool, checkpoints);
    checkpoints = nullptr;
  }

 private:
  void grow(memory::BlockPool& pool) {
    const std::uint32_t larger = capacity * 4;
    auto** moved = static_cast<TwEvent**>(pool.allocate(larger * sizeof(TwEvent*)));
    std::memcpy(moved, history, count * sizeof(TwEvent*));
    if (capacity > kInlineEvents) pool.release(history, capacity * sizeof(TwEvent*));
    history = moved;
    capacity = larger;
  }
};
static_assert(sizeof(LpState) == 128);

}  // namespace orrery::timewarp
