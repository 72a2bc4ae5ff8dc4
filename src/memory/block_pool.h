// SPDX-License-Identifier: Apache-2.0
//
// Platform memory of a worker for histories and checkpoints. Free lists by size class (the classes
// of the LP heaps) serve the block that was freed last. Blocks of large classes come from the
// system one by one. The pool keeps up to kKeptBytes of released large blocks, since the system
// would map and clear a megabyte afresh for each checkpoint (300 us instead of 100). One thread
// uses a pool at a time. The pool's destructor returns all blocks.
//
// Where memory is separated by cache sets (colour.h), this is mild memory: blocks lie in the mild
// part of the arena's ways. The threshold may be moved while the pool is used, since blocks are
// recycled quickly. A released block below the threshold is set aside. It serves again when the
// threshold is lowered, or when there is no other block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "memory/application_mode.h"
#include "memory/arena.h"
#include "memory/borrowed_pieces.h"
#include "memory/size_class.h"

namespace orrery::memory {

class BlockPool {
 public:
  BlockPool() = default;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool() {
    for (void* slab : slabs_) std::free(slab);
    trim();
  }

  /// Before the first allocation: takes mild memory from `arena`, which must outlive the pool.
  void use_arena(Arena& arena) {
    if (!arena.colouring().on) return;
    arena_ = &arena;
    pieces_ = BorrowedPieces(arena, Access::mild);
    floor_ = arena.colouring().mild_from;
    way_mask_ = arena.colouring().way_bytes - 1;
  }
  /// Moves the threshold; visits all free blocks.
  void set_mild_from(std::size_t offset) {
    if (arena_ == nullptr || offset == floor_) return;
    arena_->set_mild_from(offset);
    floor_ = offset;
    for (unsigned size_class = 0; size_class < kSmallClasses; ++size_class) {
      Free* lists[] = {free_[size_class], aside_[size_class]};
      free_[size_class] = aside_[size_class] = nullptr;
      for (Free* block : lists) {
        while (block != nullptr) {
          Free* next = block->next;
          put(block, size_class);
          block = next;
        }
      }
    }
  }
  std::size_t mild_from() const { return floor_; }

  /// Aligned to 16 bytes. Throws std::bad_alloc.
  void* allocate(std::size_t bytes) {
    const unsigned size_class = class_of(bytes);
    if (is_large(size_class)) [[unlikely]]
      return allocate_large(size_class);
    Free* head = free_[size_class];
    if (head == nullptr) [[unlikely]]
      return refill(size_class);
    used_bytes_ += chunk_bytes(size_class);
    free_[size_class] = head->next;
    __builtin_prefetch(head->next, 1);
    return head;
  }
  /// `bytes` must be the value given to allocate.
  void release(void* block, std::size_t bytes) noexcept {
    const unsigned size_class = class_of(bytes);
    used_bytes_ -= chunk_bytes(size_class);
    if (is_large(size_class)) [[unlikely]]
      return release_large(block, size_class);
    put(static_cast<Free*>(block), size_class);
  }
  /// Returns the large blocks that are kept for later to the system.
  void trim() noexcept {
    for (Free*& list : large_) {
      while (list != nullptr) std::free(std::exchange(list, list->next));
    }
    kept_bytes_ = 0;
  }
  /// Bytes in blocks that are in use.
  std::size_t used_bytes() const { return used_bytes_; }

 private:
  struct Free {
    Free* next;
  };
  static constexpr std::size_t kSlabBytes = 64 * 1024;
  static constexpr std::size_t kKeptBytes = 32 * 1024 * 1024;

  void put(Free* block, unsigned size_class) noexcept {
    const bool below = (reinterpret_cast<std::uintptr_t>(block) & way_mask_) < floor_;
    Free*& head = below ? aside_[size_class] : free_[size_class];
    block->next = head;
    head = block;
  }
  [[gnu::noinline]] void* allocate_large(unsigned size_class) {
    const std::size_t bytes = chunk_bytes(size_class);
    Free*& kept = large_[size_class - kSmallClasses];
    void* block = kept;
    if (kept != nullptr) {
      kept_bytes_ -= bytes;
      kept = kept->next;
    } else if (block = std::malloc(bytes); block == nullptr) {
      throw_refused(bytes);
    }
    used_bytes_ += bytes;
    return block;
  }
  [[gnu::noinline]] void release_large(void* block, unsigned size_class) noexcept {
    const std::size_t bytes = chunk_bytes(size_class);
    if (kept_bytes_ + bytes > kKeptBytes) return std::free(block);
    kept_bytes_ += bytes;
    auto* head = static_cast<Free*>(block);
    head->next = large_[size_class - kSmallClasses];
    large_[size_class - kSmallClasses] = head;
  }
  /// Takes a piece of the right colour, else a block that was set aside, else a spare piece of the
  /// other kind, else memory of the system.
  [[gnu::noinline]] void* refill(unsigned size_class) {
    const std::size_t each = chunk_bytes(size_class);
    Piece slab = pieces_.take(each);
    if (slab.base == nullptr && aside_[size_class] != nullptr) {
      used_bytes_ += each;
      free_[size_class] = aside_[size_class]->next;
      Free* block = aside_[size_class];
      aside_[size_class] = nullptr;
      return block;
    }
    if (slab.base == nullptr) slab = pieces_.take_spare(each);
    if (slab.base == nullptr) slab = take_slab();
    used_bytes_ += each;
    for (std::size_t at = (slab.bytes / each - 1) * each; at > 0; at -= each) {
      auto* block = reinterpret_cast<Free*>(slab.base + at);
      block->next = free_[size_class];
      free_[size_class] = block;
    }
    return slab.base;
  }
  Piece take_slab() {
    slabs_.reserve(slabs_.size() + 1);
    // Aligned to a cache line: blocks of 128 bytes then take two lines, not three.
    auto* slab = static_cast<std::byte*>(std::aligned_alloc(64, kSlabBytes));
    if (slab == nullptr) throw_refused(kSlabBytes);
    slabs_.push_back(slab);
    return {slab, kSlabBytes};
  }

  std::array<Free*, kSmallClasses> free_{};
  std::array<Free*, kClasses - kSmallClasses> large_{};
  std::size_t kept_bytes_ = 0;                ///< in large_
  std::array<Free*, kSmallClasses> aside_{};  ///< free, below the threshold
  Arena* arena_ = nullptr;                    ///< nullptr: no colouring
  std::size_t floor_ = 0;                     ///< offset in a way from which blocks are mild
  std::uintptr_t way_mask_ = 0;
  BorrowedPieces pieces_;
  std::vector<void*> slabs_;
  std::size_t used_bytes_ = 0;
};

}  // namespace orrery::memory
