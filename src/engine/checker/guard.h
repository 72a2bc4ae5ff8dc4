// SPDX-License-Identifier: Apache-2.0
//
// The memory of an LP under the checker: its heap, a table of its allocations, and the guard that
// serves the model's malloc and free while a handler runs.
//
// Memory that is not live holds the world's pattern (world.h): free chunks, and the slack between
// the end of an allocation and the end of its chunk. So a handler gets memory that is filled with
// the pattern. A byte outside of allocations that no longer holds the pattern was written by an
// overrun, or after it was freed; the guard checks this after every handler. In a build with the
// address sanitizer, the sanitizer watches these bytes instead, at each access.
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

/// A request of a handler to its heap.
struct AllocationStep {
  bool allocates;
  Allocation allocation;
};

/// A byte that no correct handler writes.
struct Overrun {
  enum class Kind : std::uint8_t { slack, free_chunk } kind;
  const std::byte* address;
  std::byte value;
  Allocation allocation;  ///< kind slack: the allocation in front of the byte
};

class Guard final : public memory::HeapObserver {
 public:
  /// The handler that runs next uses `lp`, in `world`; its requests are appended to `steps`. After
  /// each request, the guard's part of the stack is overwritten with the pattern of `stack_world`.
  void begin(LpMemory& lp, WorldIndex world, WorldIndex stack_world,
             std::vector<AllocationStep>& steps, const void* stack_end);
  /// Call after the handler: the first overrun, if any.
  std::optional<Overrun> damage();

  /// Fills free memory with the pattern of `world`. Call after each restore.
  static void fill_free(LpMemory& lp, WorldIndex world);
  /// Removes `steps` from the table of allocations; the caller restores the heap itself.
  static void undo(LpMemory& lp, const std::vector<AllocationStep>& steps);
  /// Enters `steps` in the table of allocations again.
  static void redo(LpMemory& lp, const std::vector<AllocationStep>& steps);

  /// The allocation at `address` that was freed last, by any LP; nullptr if not among the last
  /// kRememberedFrees.
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
  /// A ring. Allocated from the beginning: the first free may come when no memory is left.
  std::vector<Allocation> freed_ = std::vector<Allocation>(kRememberedFrees);
  std::size_t freed_next_ = 0;
};

/// Overwrites the stack below the caller with the world's pattern, so that an uninitialised local
/// variable differs between the worlds.
void scrub_stack(WorldIndex world);

}  // namespace orrery::checker
