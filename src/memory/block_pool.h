// SPDX-License-Identifier: Apache-2.0
//
// Platform memory of a worker for what it keeps beside events: histories and checkpoints. Free
// lists by size class (those of the LP heaps), last freed first served; larger blocks come from the
// system. One thread uses a pool at a time; blocks go back to the system with the pool.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "memory/size_class.h"

namespace orrery::memory {

class BlockPool {
 public:
  BlockPool() = default;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool() {
    for (void* slab : slabs_) std::free(slab);
  }

  /// Aligned to 16 bytes. Throws std::bad_alloc.
  void* allocate(std::size_t bytes) {
    const unsigned size_class = class_of(bytes);
    if (is_large(size_class)) [[unlikely]]
      return allocate_large(bytes);
    used_bytes_ += chunk_bytes(size_class);
    Free* head = free_[size_class];
    if (head == nullptr) [[unlikely]]
      return refill(size_class);
    free_[size_class] = head->next;
    __builtin_prefetch(head->next, 1);
    return head;
  }
  /// `bytes` as given to allocate.
  void release(void* block, std::size_t bytes) noexcept {
    const unsigned size_class = class_of(bytes);
    if (is_large(size_class)) [[unlikely]] {
      used_bytes_ -= bytes;
      return std::free(block);
    }
    used_bytes_ -= chunk_bytes(size_class);
    auto* head = static_cast<Free*>(block);
    head->next = free_[size_class];
    free_[size_class] = head;
  }
  /// Bytes in blocks that are in use.
  std::size_t used_bytes() const { return used_bytes_; }

 private:
  struct Free {
    Free* next;
  };
  static constexpr std::size_t kSlabBytes = 64 * 1024;

  [[gnu::noinline]] void* allocate_large(std::size_t bytes) {
    void* block = std::malloc(bytes);
    if (block == nullptr) throw std::bad_alloc();
    used_bytes_ += bytes;
    return block;
  }
  [[gnu::noinline]] void* refill(unsigned size_class) {
    const std::size_t each = chunk_bytes(size_class);
    // Aligned to a cache line: blocks of 128 bytes then take two lines, not three.
    auto* slab = static_cast<std::byte*>(std::aligned_alloc(64, kSlabBytes));
    if (slab == nullptr) throw std::bad_alloc();
    slabs_.push_back(slab);
    for (std::size_t at = (kSlabBytes / each - 1) * each; at > 0; at -= each) {
      auto* block = reinterpret_cast<Free*>(slab + at);
      block->next = free_[size_class];
      free_[size_class] = block;
    }
    return slab;
  }

  std::array<Free*, kSmallClasses> free_{};
  std::vector<void*> slabs_;
  std::size_t used_bytes_ = 0;
};

}  // namespace orrery::memory
