// SPDX-License-Identifier: Apache-2.0
//
// Memory for events of the sequential engine: free lists by size, last freed first served, so that
// the event that was just handled lends its cache lines to the one that it sends. Slabs go back to
// the system when the run ends. An allocation is a load and a store once warm.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

namespace orrery {

class EventPool {
 public:
  EventPool() = default;
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;
  ~EventPool() {
    for (void* slab : slabs_) std::free(slab);
  }

  void* allocate(std::size_t size) {
    const std::size_t kind = class_of(size);
    Free* head = free_[kind];
    if (head == nullptr) [[unlikely]]
      return refill(kind);
    free_[kind] = head->next;
    return head;
  }
  void release(void* memory, std::size_t size) {
    const std::size_t kind = class_of(size);
    auto* head = static_cast<Free*>(memory);
    head->next = free_[kind];
    free_[kind] = head;
  }
  /// Bytes taken from the system.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    Free* next;
  };
  static constexpr std::size_t kStep = 32;        // half a cache line: an event without payload
  static constexpr std::size_t kSmallKinds = 17;  // up to 512 bytes in steps, then powers of two
  static constexpr std::size_t kKinds = kSmallKinds + 32;
  static constexpr std::size_t kSlabBytes = 256 * 1024;

  static std::size_t class_of(std::size_t size) {
    const std::size_t steps = (size + kStep - 1) / kStep;
    if (steps < kSmallKinds) [[likely]]
      return steps;
    return kSmallKinds + static_cast<std::size_t>(std::bit_width(size - 1)) - 9;
  }
  static std::size_t bytes_of(std::size_t kind) {
    return kind < kSmallKinds ? kind * kStep : std::size_t{1} << (kind - kSmallKinds + 9);
  }

  [[gnu::noinline]] void* refill(std::size_t kind) {
    const std::size_t each = bytes_of(kind);
    const std::size_t count = each >= kSlabBytes ? 1 : kSlabBytes / each;
    auto* slab = static_cast<std::byte*>(std::aligned_alloc(64, (each * count + 63) / 64 * 64));
    if (slab == nullptr) throw std::bad_alloc();
    slabs_.push_back(slab);
    bytes_ += each * count;
    for (std::size_t i = count; i-- > 1;) release(slab + i * each, each);
    return slab;
  }

  std::array<Free*, kKinds> free_{};
  std::vector<void*> slabs_;
  std::size_t bytes_ = 0;
};

}  // namespace orrery
