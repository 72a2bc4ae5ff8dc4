// SPDX-License-Identifier: Apache-2.0
//
// The one range of addresses in which all LP memory of this process lies.
//
// The range is reserved once and costs no memory until it is used. Whether a pointer belongs to an
// LP is then one subtraction and one comparison. The interposed free makes this test for every
// pointer of the process. docs/memory.md describes the layout down to the chunk.
//
// The region has three pools: stocks of small chunks, large runs, and runs of at least a huge page.
// The reason is that neighbours with equal protection and page policy merge into one mapping of the
// kernel, and the number of mappings of a process is limited (65,530 on Linux).
//
// A mutex guards the pools, not an atomic bump pointer. Memory is taken in stocks of 1 to 16 MiB,
// and each time a system call locks the process' address space anyway. In exchange, memory that a
// finished run gave back is merged and served again.
//
// The region is address space of the process, not state of a run, hence a singleton.
#ifndef ORRERY_MEMORY_REGION_H
#define ORRERY_MEMORY_REGION_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "memory/size_class.h"

namespace orrery::memory {

namespace detail {
// Bounds of the region. Written once, when the region is reserved, read by every free. Relaxed
// suffices: each half-written combination (no base yet, or no length yet) answers "not LP memory",
// and a thread that holds an LP pointer got it from a thread that saw the bounds, through whatever
// synchronisation passed the pointer. They are plain integers with compiler built-ins, not
// std::atomic, whose member functions a sanitizer instruments: see interpose.cpp.
inline constinit std::uintptr_t region_base = std::uintptr_t{1} << 63;
inline constinit std::size_t region_bytes = 0;
// The address that the table entry of the page at address 0 would have. Written before the bounds
// and read only for LP pointers, so relaxed suffices for the same reason.
inline constinit std::atomic<std::uintptr_t> page_table_origin{0};
}  // namespace detail

[[gnu::always_inline]] inline bool is_lp_pointer(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer) -
             __atomic_load_n(&detail::region_base, __ATOMIC_RELAXED) <
         __atomic_load_n(&detail::region_bytes, __ATOMIC_RELAXED);
}

// A part of a block that is cut into equal runs: neighbouring pages, at most a block. This record
// lies in system memory and leads from a pointer to its run with one multiplication, so chunks need
// no headers. A large run is an area with one chunk.
struct Area {
  std::byte* base;
  std::uint64_t chunk_bytes;
  std::uint32_t reciprocal;  // of the chunk size; 0 for a large run, which has one chunk
  std::uint32_t pages;       // pages that lead here: all; of a large run the first
  std::uint8_t size_class;
  std::uint8_t row;
  std::uint8_t run_log;
  std::uint8_t run_mask;  // 2^run_log - 1
  // slots[i]: index of the i-th run in its owner's heap. There is one slot more than there are
  // runs, for the rest of the area behind the last run.
  std::uint32_t slots[];

  // Zeroed slots, not entered into the table yet; nullptr if there is no memory.
  static Area* make(std::byte* base, std::size_t bytes, unsigned size_class, Access access,
                    unsigned log) noexcept;
  // The arguments of make().
  std::size_t bytes() const noexcept {
    return is_large(size_class) ? (chunk_bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes
                                : pages * kPageBytes;
  }
  Access access() const noexcept {
    return row >= kMildRows && row < kLargeRows ? Access::mild : Access::intensive;
  }

  // Relaxed: owners read values of their own thread; a worker with a foreign pointer may read any
  // value, since it then compares addresses with those of its own run.
  std::uint32_t run_at(std::size_t slot) const noexcept {
    return std::atomic_ref(const_cast<std::uint32_t&>(slots[slot])).load(std::memory_order_relaxed);
  }
  void set_run_at(std::size_t slot, std::uint32_t run) noexcept {
    std::atomic_ref(slots[slot]).store(run, std::memory_order_relaxed);
  }
  std::size_t slot_of(const void* pointer) const noexcept {
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(pointer) - base);
    return offset * reciprocal >> 32 >> run_log;
  }
};

namespace detail {
inline std::atomic_ref<Area*> page_entry(const void* pointer) noexcept {
  const std::uintptr_t origin = page_table_origin.load(std::memory_order_relaxed);
  const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(pointer) / kPageBytes;
  return std::atomic_ref(*reinterpret_cast<Area**>(origin + page * sizeof(Area*)));
}
}  // namespace detail

// The area that covers `pointer`, an LP pointer; nullptr if none does (or if it points into a large
// run behind its first page). Entries are written with release by the worker that opens an area and
// read with acquire, so that a worker that meets a foreign pointer sees the area behind a published
// entry. Owners would need no order at all.
[[gnu::always_inline]] inline Area* area_of(const void* pointer) noexcept {
  return detail::page_entry(pointer).load(std::memory_order_acquire);
}
// Enter an area into the table, and remove it.
void publish_area(Area& area) noexcept;
void retract_area(const Area& area) noexcept;

class Region {
 public:
  enum class Pool : std::uint8_t { stock, large, huge };

  // The region, reserved by the first call. Never destroyed: late destructors may call free.
  static Region& instance();

  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  std::size_t bytes() const noexcept { return bytes_; }
  std::byte* base() const noexcept { return base_; }

  // Whether the region lies at the address that every process of this build asks for. Then
  // addresses in it are valid in another such process whose region is as large.
  bool is_at_fixed_place() const noexcept;

  // The advice at the end of an out-of-memory sentence; names the limit on the process's addresses,
  // if there is one.
  static std::string limit_advice();

  // Bytes of LP memory that are in huge pages, and that are resident at all, as the system counts
  // them. Reads /proc, so call it at the end of a run.
  struct Backing {
    std::size_t huge_bytes = 0, resident_bytes = 0;
  };
  Backing backing() const;

  // Returns zeroed, writable memory; `bytes` and `alignment` are multiples of a block. With
  // `huge_pages` the kernel is asked to use huge pages. Returns nullptr if the range or the system
  // is exhausted. Thread-safe.
  std::byte* take(Pool pool, std::size_t bytes, std::size_t alignment, bool huge_pages) noexcept;

  // As take, at an address that another process has named. Returns false if a part of it is taken.
  bool take_at(Pool pool, std::byte* base, std::size_t bytes, bool huge_pages) noexcept;

  // From now on take serves from share `index` of `count` equal shares of each pool, so that memory
  // that the processes of one run take never lies at the same addresses. take_at serves from all
  // shares. Call it before anything is taken, except the first memory of the first share, which all
  // processes have taken alike.
  void keep_to_share(unsigned index, unsigned count) noexcept;

  // Returns memory got from take, all of it, to the system and to later callers. Thread-safe.
  void give_back(Pool pool, std::byte* base, std::size_t bytes) noexcept;

 private:
  struct Extent {
    std::byte* base;
    std::size_t bytes;
  };
  struct PoolState {
    std::byte* begin = nullptr;  // of the pool, or of this process' share of it
    std::byte* top = nullptr;    // lowest address never taken, or given back since
    std::byte* limit = nullptr;  // end of the pool, or of the share
    std::vector<Extent> free;    // by address; no two touch, none touches top
  };

  Region();
  bool reserve(std::size_t bytes) noexcept;
  std::byte* find(PoolState& pool, std::size_t bytes, std::size_t alignment);
  static Extent in_share(const PoolState& pool, Extent extent);
  bool cut_out(PoolState& pool, Extent extent);
  bool make_usable(PoolState& pool, Extent extent, bool huge_pages) noexcept;
  void insert(PoolState& pool, Extent extent);

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::mutex mutex_;
  std::array<PoolState, 3> pools_;
};

// Size of the chunk at `pointer`, which must be the start of a live allocation.
inline std::size_t chunk_bytes_of(const void* pointer) noexcept {
  return area_of(pointer)->chunk_bytes;
}

// Size of the chunk that starts at `pointer`, or 0 if no chunk starts there. Needs no heap:
// malloc_usable_size and realloc call it for memory of any LP.
std::size_t chunk_bytes_at(const void* pointer) noexcept;

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_REGION_H
