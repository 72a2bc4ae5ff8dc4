// SPDX-License-Identifier: Apache-2.0
//
// An LP's record in engines without rollbacks but with several threads: on a cache line of its own,
// since neighbouring LPs may belong to two threads.
#pragma once

#include "memory/lp_heap.h"
#include "run/containment/guarded_call.h"
#include "run/world/world.h"

namespace orrery {

struct alignas(64) LpRecord : LpEntry {
  memory::LpHeap* heap = nullptr;  ///< nullptr: in ordinary memory

  static LpRecord of(World& world, LpId id) {
    return {world.lp(id), world.on_heaps() ? &world.heap(id) : nullptr};
  }

  /// Runs `action`, the LP's code. If it fails, `on_failure` runs while its exception is being
  /// handled. Returns whether it succeeded. `arena`: the thread's own, from which the LP takes more
  /// memory if it has a heap.
  template <class Action, class OnFailure>
  [[gnu::always_inline]] bool call(memory::Arena* arena, Action&& action, OnFailure&& on_failure) {
    if (heap == nullptr) return guarded_call(action, on_failure);
    heap->use_arena(*arena);
    return guarded_call(*heap, action, on_failure);
  }
};
static_assert(sizeof(LpRecord) == 64);

}  // namespace orrery
