// SPDX-License-Identifier: Apache-2.0
//
// A worker's supply of LP memory: it cuts the region into runs for the heaps of the worker's LPs
// and, where memory is separated by cache sets, into pieces for events and checkpoints.
//
// A run belongs to one LP until the arena is destroyed: an old checkpoint may refer to any chunk
// that its LP ever used, so no run moves from one LP to another during a simulation. Serving a run
// is therefore a bump of a pointer. There is one current area for each class, run length and
// access, and a million LPs with one small object each lie as densely as an array.
//
// Without colouring an area is a block of 64 KiB. With colouring, memory is taken way by way
// (colour.h), and every way is divided into pieces for intensive and for mild memory. Which kind a
// run will need more of is not known in advance. So pieces of one kind that lie unused beyond a
// bound (kSpareBytes, or an eighth of the stocks if that is more) serve the other kind: a million
// LPs must not pay twice for the separation. Runs that fit no piece, or would waste much of one,
// lie in whole blocks without colour.
//
// An arena is used by one thread at a time. LPs that move to another worker keep their memory and
// take later runs from their new worker's arena, so all arenas of a simulation must live to its
// end. Pools of the platform may end earlier: their pieces return to the arena and serve again.
#ifndef ORRERY_MEMORY_ARENA_H
#define ORRERY_MEMORY_ARENA_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "memory/colour.h"
#include "memory/region.h"
#include "memory/size_class.h"
#include "memory/spare_pieces.h"

namespace orrery::memory {

class Arena {
 public:
  // `deny_oversize`: large runs of more than a block are refused.
  explicit Arena(const Colouring& colouring = {}, bool deny_oversize = false);
  // Returns all memory to the region and the system. No heap may use the arena any more.
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Returns 2^log neighbouring chunks of a small class that no other heap has, or nullptr if memory
  // is exhausted. Reduces `log` where the areas are too small for such runs.
  std::byte* take_run(unsigned size_class, Access access, unsigned& log) noexcept {
    if (log != 0) {
      log = std::min<unsigned>(log, longest_logs_[index(access)][size_class]);
    }
    Cursor& cursor = cursors_[index(access)][size_class][log];
    const std::size_t run_bytes = chunk_bytes(size_class) << log;
    if (cursor.left_bytes < run_bytes && !refill(cursor, size_class, access, log)) [[unlikely]] {
      return nullptr;
    }
    std::byte* run = cursor.next;
    cursor.next += run_bytes;
    cursor.left_bytes -= run_bytes;
    return run;
  }

  // Returns a run of a large class; `alignment` is a power of two that is at least a block.
  std::byte* take_large(unsigned size_class, std::size_t alignment) noexcept;
  // Whether take_large refuses the class.
  bool denies(unsigned size_class) const noexcept {
    return deny_oversize_ && chunk_bytes(size_class) > kBlockBytes;
  }

  // Memory of one colour for a pool of the platform, not zeroed. Empty if there is no colouring, no
  // piece of that many bytes, or no memory: the pool then takes memory from the system.
  // take_spare_piece returns mild memory below the threshold, or a piece of the other kind if more
  // of that kind lies unused than the bound allows. A pool that ends before the arena must return
  // its pieces with the same access (borrowed_pieces.h does); they then serve any caller, LPs as
  // well.
  Piece take_piece(Access access, std::size_t least_bytes) noexcept;
  Piece take_spare_piece(Access access, std::size_t least_bytes) noexcept;
  void give_back(Access access, const Piece& piece) noexcept;

  const Colouring& colouring() const noexcept { return colouring_; }
  // From now on mild memory is taken from [offset, way_bytes) of the ways. Memory taken before
  // stays.
  void set_mild_from(std::size_t offset) noexcept {
    colouring_.mild_from = offset;
    spare_[index(Access::mild)].set_floor(offset);
  }

  // Visits all memory that the arena has from the region, and all its areas, for code that writes a
  // snapshot: visit(const Extent&), visit(const Area&).
  struct Extent {
    std::byte* base;
    std::size_t bytes;
    Region::Pool pool;
    bool huge_pages;
  };
  template <typename Visit>
  void for_each_extent(Visit&& visit) const {
    for (const Extent& extent : extents_) visit(extent);
  }
  template <typename Visit>
  void for_each_area(Visit&& visit) const {
    for (const Area* const area : areas_) visit(*area);
  }
  // Takes the memory and the areas that an arena of another process had, for the heaps in them.
  // False if the memory is not available. What that arena had left unused stays unused.
  bool restore_extent(const Extent& extent) noexcept;
  bool restore_area(std::byte* base, std::size_t bytes, unsigned size_class, Access access,
                    unsigned log) noexcept;

  // Address space taken for LPs so far, an upper bound of the memory in use.
  std::size_t taken_bytes() const noexcept { return taken_bytes_; }
  // Address space taken from the region in stocks: for LPs, for pools, and unused.
  std::size_t stock_bytes() const noexcept { return stocks_bytes_; }
  // Bytes of pieces that serve the other kind of memory than they were meant for.
  std::size_t displaced_bytes() const noexcept { return displaced_bytes_; }

 private:
  struct Cursor {
    std::byte* next = nullptr;
    std::size_t left_bytes = 0;
    // An area is served from a start inside it (see phase) to its end, then from its beginning.
    std::byte* start = nullptr;
    std::size_t start_bytes = 0;
  };
  static constexpr unsigned index(Access access) { return static_cast<unsigned>(access); }

  std::uint64_t phase(unsigned size_class, unsigned log) const noexcept;
  bool refill(Cursor& cursor, unsigned size_class, Access access, unsigned log) noexcept;
  Area* open_area(unsigned size_class, Access access, unsigned log, std::size_t& bytes) noexcept;
  std::size_t largest_piece(Access access) const noexcept;
  bool may_displace(Access access) const noexcept;
  bool wastes_piece(unsigned size_class, Access access) const noexcept;
  bool open_way(Access access) noexcept;
  std::byte* take_block() noexcept;
  std::byte* take_from_stock(std::size_t bytes) noexcept;
  bool open(std::byte* base, std::size_t bytes, unsigned size_class, Access access,
            unsigned log) noexcept;
  std::byte* take_extent(Region::Pool pool, std::size_t bytes, std::size_t alignment,
                         bool huge_pages) noexcept;

  Colouring colouring_;
  const bool deny_oversize_;
  std::array<std::array<std::uint8_t, kSmallClasses>, 2> longest_logs_;
  std::array<std::array<std::array<Cursor, kMaxRunLog + 1>, kSmallClasses>, 2> cursors_{};
  std::array<SparePieces, 2> spare_;  // by access
  std::vector<std::byte*> blocks_;    // without colour, not used yet
  std::byte* stock_next_ = nullptr;
  std::size_t stock_left_bytes_ = 0;
  std::size_t stocks_bytes_ = 0;
  std::size_t taken_bytes_ = 0;
  std::size_t displaced_bytes_ = 0;
  std::vector<Extent> extents_;
  std::vector<Area*> areas_;
};

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_ARENA_H
