// SPDX-License-Identifier: Apache-2.0
//
// A worker's supply of LP memory: it cuts blocks of the region into runs for the heaps of its LPs.
//
// A run belongs to one LP until the arena goes: an old checkpoint may refer to any chunk that its
// LP ever used, so nothing is handed from one LP to another while a simulation lasts. Serving a run
// is therefore a bump of a pointer; there is one current block for each pair of class and run
// length, and a million LPs with one small object each lie as densely as an array.
//
// An arena is used by one thread at a time. LPs that move to another worker keep their memory and
// take later runs from their new worker's arena, so all arenas of a simulation end together.
#ifndef ORRERY_MEMORY_ARENA_H
#define ORRERY_MEMORY_ARENA_H

#include <array>
#include <cstddef>
#include <vector>

#include "memory/region.h"
#include "memory/size_class.h"

namespace orrery::memory {

class Arena {
 public:
  Arena();
  // Gives all memory back to the region and the system. No heap may use it any more.
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Address of 2^log neighbouring chunks of a class, which no one else has; nullptr if exhausted.
  std::byte* take_run(unsigned size_class, unsigned log) noexcept {
    if (is_large(size_class)) {
      return take_large(size_class, kBlockBytes);
    }
    Cursor& cursor = cursors_[size_class][log];
    const std::size_t run_bytes = chunk_bytes(size_class) << log;
    if (cursor.left_bytes < run_bytes && !open_block(cursor, size_class, log)) [[unlikely]] {
      return nullptr;
    }
    std::byte* run = cursor.next;
    cursor.next += run_bytes;
    cursor.left_bytes -= run_bytes;
    return run;
  }

  // A run of a large class, aligned to a power of two that is at least a block.
  std::byte* take_large(unsigned size_class, std::size_t alignment) noexcept;

  // Address space taken so far, an upper bound of the memory in use.
  std::size_t taken_bytes() const noexcept { return taken_bytes_; }

 private:
  struct Cursor {
    std::byte* next = nullptr;
    std::size_t left_bytes = 0;
  };
  struct Extent {
    std::byte* base;
    std::size_t bytes;
    Region::Pool pool;
  };

  bool open_block(Cursor& cursor, unsigned size_class, unsigned log) noexcept;
  std::byte* take_block() noexcept;
  std::byte* take_extent(Region::Pool pool, std::size_t bytes, std::size_t alignment,
                         bool huge_pages) noexcept;

  std::array<std::array<Cursor, kMaxRunLog + 1>, kSmallClasses> cursors_;
  std::byte* stock_next_ = nullptr;
  std::size_t stock_left_bytes_ = 0;
  std::size_t stocks_bytes_ = 0;
  std::size_t taken_bytes_ = 0;
  std::vector<Extent> extents_;
};

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_ARENA_H
