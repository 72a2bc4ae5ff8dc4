// SPDX-License-Identifier: Apache-2.0
//
// The twin of an LP: the same LP at other addresses, which handles every event as well. An event
// executed again after a rollback gets the same addresses by design, so it cannot show that a
// model's results depend on addresses; the twin can. The twin's allocations are enlarged by random
// amounts, so that their addresses differ in order, too, not only by a constant.
//
// The memory of an LP and its twin is not compared, since it holds different pointers; but what the
// twin sends, records, emits and reports must be the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "engine/checker/world.h"
#include "memory/heap_observer.h"
#include "memory/lp_heap.h"
#include "memory/poison.h"

namespace orrery::checker {

/// Serves the memory of twins.
class TwinMemory final : public memory::HeapObserver {
 public:
  explicit TwinMemory(std::uint64_t seed) : state_(seed | 1) {}
  void begin(memory::LpHeap& heap) { heap_ = &heap; }

  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    const std::size_t wanted = bytes + extra_bytes(bytes);
    void* const pointer = heap_->allocate(wanted, std::max(alignment, memory::kMinAlignmentBytes));
    if (pointer != nullptr) std::memset(pointer, std::to_integer<int>(fill_of(1)), wanted);
    return pointer;
  }
  /// Misuse of the heap is not reported here: the checker has reported it for the LP itself.
  void deallocate(void* pointer) noexcept override {
    static_cast<void>(heap_->deallocate(pointer));
  }
  void* reallocate(void* pointer, std::size_t bytes) noexcept override {
    const std::size_t before = heap_->usable_size(pointer);
    if (before == 0) return nullptr;
    void* const moved = allocate(bytes, memory::kMinAlignmentBytes);
    if (moved != nullptr) {
      memory::copy_poisoned(moved, pointer, std::min(before, bytes));
      deallocate(pointer);
    }
    return moved;
  }

 private:
  static constexpr std::size_t kMostEnlargedBytes = 4096;

  /// A random size that makes the allocation up to three size classes larger.
  std::size_t extra_bytes(std::size_t bytes) {
    if (bytes > kMostEnlargedBytes) return 0;
    state_ ^= state_ << 13;  // xorshift (Marsaglia 2003)
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (state_ >> 33 & 3) * std::max<std::size_t>(16, bytes / 4);
  }

  memory::LpHeap* heap_ = nullptr;
  std::uint64_t state_;
};

}  // namespace orrery::checker
