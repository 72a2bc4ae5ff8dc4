// SPDX-License-Identifier: Apache-2.0
//
// The memory of an LP under the checker: its heap, a table of what was asked for, and the guard
// that serves the model's malloc and free while a handler runs.
//
// What is not live holds the world's pattern (world.h): chunks that are free, and the slack between
// the end of an allocation and the end of its chunk. So memory that a handler gets is filled with
// it already, and a byte in between that does not hold it any more has been written by an overrun
// or after it was freed; this is looked at after every handler. In a build with the address
// sanitizer the sanitizer watches these bytes instead, at the very access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/checker/allocation_table.h"
#include "engine/checker/world.h"
#include "memory/heap_observer.h"
#include "memory/lp_heap.h"

namespace orrery::checker {

struct LpMemory {
  explicit LpMemory(memory::Arena& arena) : heap(arena) {}
  memory::LpHeap heap;
  AllocationTable live;
  std::uint64_t allocated = 0;  ///< allocations so far
};

/// What a handler asked of its heap, in order.
struct AllocationStep {
  bool allocates;
  Allocation allocation;
};

/// A byte that no correct handler writes.
struct Overrun {
  enum class Kind : std::uint8_t { slack, free_chunk } kind;
  const std::byte* address;
  std::byte value;
  Allocation allocation;  ///< kind slack: the one in front
};

class Guard final : public memory::HeapObserver {
 public:
  /// The handler that runs next uses `lp`, in `world`; its requests are appended to `steps`.
  /// What it leaves on the stack is overwritten with the pattern of `stack_world`.
  void begin(LpMemory& lp, WorldIndex world, WorldIndex stack_world,
             std::vector<AllocationStep>& steps, const void* stack_end);
  /// After the handler: the first damage to what is not live.
  std::optional<Overrun> damage();

  /// Puts the pattern of `world` where nothing is live. Call it after each restore.
  static void fill_free(LpMemory& lp, WorldIndex world);
  /// Takes the record of `steps` back; the heap itself is restored by whoever restores it.
  static void undo(LpMemory& lp, const std::vector<AllocationStep>& steps);
  /// Brings the record of `steps` back.
  static void redo(LpMemory& lp, const std::vector<AllocationStep>& steps);

  /// What was freed last at `address`, by any LP; nullptr if that is long ago.
  const Allocation* last_freed_at(const std::byte* address) const;

  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override;
  void deallocate(void* pointer) noexcept override;
  void* reallocate(void* pointer, std::size_t bytes) noexcept override;

 private:
  static constexpr std::size_t kRememberedFrees = 1024;

  std::optional<Overrun> damaged_slack(const Allocation& allocation) const;
  void* serve(std::size_t bytes, std::size_t alignment, const void* frame) noexcept;
  void take_back(void* pointer) noexcept;
  void remember_place(Allocation& allocation, const void* innermost) const;

  LpMemory* lp_ = nullptr;
  std::vector<AllocationStep>* steps_ = nullptr;
  WorldIndex world_ = 0, stack_world_ = 0;
  const void* stack_end_ = nullptr;
  std::optional<Overrun> damage_;  ///< found when the allocation was freed
  /// A ring. There from the beginning: a first free may come when memory is gone.
  std::vector<Allocation> freed_ = std::vector<Allocation>(kRememberedFrees);
  std::size_t freed_next_ = 0;
};

/// Overwrites the stack below the caller with the world's pattern, so that a local variable which
/// nobody initialised differs between the worlds.
void scrub_stack(WorldIndex world);

}  // namespace orrery::checker
