// SPDX-License-Identifier: Apache-2.0
//
// The one range of addresses in which all LP memory of this process lies.
//
// The range is reserved once and costs nothing until it is used, so that "does this pointer belong
// to an LP" is a subtraction and a comparison: the interposed free asks it for every pointer of the
// process. It is cut into aligned blocks of 64 KiB. A table beside it, one word a block, tells a
// block's size class; there is nothing inside a block but chunks, which keeps metadata out of reach
// of a model's overruns and out of the caches that the model's state needs.
//
// It is divided into three pools (stocks of small chunks; large runs; runs of at least a huge page)
// because neighbours with equal protection and page policy merge into one mapping of the kernel,
// and the number of mappings of a process is limited (65,530 on Linux).
//
// The pools are behind a mutex, not an atomic bump pointer: memory is taken in stocks of 1 to 16
// MiB and each taking is a system call which locks the process' address space anyway; in exchange,
// memory that a finished run gave back is merged and served again.
//
// The region is the process' address space, not state of a run, hence a singleton.
#ifndef ORRERY_MEMORY_REGION_H
#define ORRERY_MEMORY_REGION_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
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
// Address of the table entry of the block at address 0, were there one. Written before the bounds
// and read only for LP pointers, so relaxed suffices for the same reason.
inline constinit std::atomic<std::uintptr_t> block_table_origin{0};
}  // namespace detail

[[gnu::always_inline]] inline bool is_lp_pointer(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer) -
             __atomic_load_n(&detail::region_base, __ATOMIC_RELAXED) <
         __atomic_load_n(&detail::region_bytes, __ATOMIC_RELAXED);
}

// What the table says of a block, in one word so that it is published and read at once.
class BlockInfo {
 public:
  constexpr BlockInfo() noexcept = default;
  constexpr explicit BlockInfo(std::uint64_t word) noexcept : word_(word) {}
  // A block of runs of 2^log chunks; slots[i] is the index of its i-th run in its owner's heap.
  static BlockInfo small(unsigned size_class, unsigned log, std::uint32_t* slots) noexcept {
    return BlockInfo(reinterpret_cast<std::uintptr_t>(slots) << 16 | (size_class + 1) << 8 | log);
  }
  // The first block of a large run, with the run's index in its owner's heap.
  static BlockInfo large(unsigned size_class, std::uint64_t run_index) noexcept {
    return BlockInfo(run_index << 16 | (size_class + 1) << 8);
  }
  bool used() const noexcept { return (word_ >> 8 & 0xff) != 0; }
  unsigned size_class() const noexcept { return static_cast<unsigned>(word_ >> 8 & 0xff) - 1; }
  unsigned run_log() const noexcept { return static_cast<unsigned>(word_ & 0xff); }
  std::uint64_t run_index() const noexcept { return word_ >> 16; }
  std::uint32_t* slots() const noexcept { return reinterpret_cast<std::uint32_t*>(word_ >> 16); }
  std::uint64_t word() const noexcept { return word_; }

 private:
  std::uint64_t word_ = 0;
};

namespace detail {
inline std::atomic_ref<std::uint64_t> block_entry(const void* pointer) noexcept {
  const std::uintptr_t origin = block_table_origin.load(std::memory_order_relaxed);
  const std::uintptr_t block = reinterpret_cast<std::uintptr_t>(pointer) / kBlockBytes;
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(origin + block * sizeof(std::uint64_t)));
}
}  // namespace detail

// Table entry of the block that covers `pointer`, an LP pointer. Entries are written with release
// by the worker that takes the block and read with acquire, so that a worker that meets a foreign
// pointer sees the (zeroed) slots behind a published entry. Owners would need no order at all.
inline BlockInfo block_info(const void* pointer) noexcept {
  return BlockInfo(detail::block_entry(pointer).load(std::memory_order_acquire));
}
inline void set_block_info(const void* pointer, BlockInfo info) noexcept {
  detail::block_entry(pointer).store(info.word(), std::memory_order_release);
}

class Region {
 public:
  enum class Pool : std::uint8_t { stock, large, huge };

  // The region, reserved by the first call. Never destroyed: free may ask for it at any late hour.
  static Region& instance();

  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  std::size_t bytes() const noexcept { return bytes_; }

  // Zeroed, writable memory; `bytes` and `alignment` are multiples of a block. With `huge_pages`
  // the kernel is asked to back it so. nullptr if the range or the system is exhausted.
  // Thread-safe.
  std::byte* take(Pool pool, std::size_t bytes, std::size_t alignment, bool huge_pages) noexcept;

  // Returns memory got from take (all of it) to the system and to later takers. Thread-safe.
  void give_back(Pool pool, std::byte* base, std::size_t bytes) noexcept;

 private:
  struct Extent {
    std::byte* base;
    std::size_t bytes;
  };
  struct PoolState {
    std::byte* top = nullptr;    // lowest address never taken, or given back since
    std::byte* limit = nullptr;  // end of the pool
    std::vector<Extent> free;    // by address; no two touch, none touches top
  };

  Region();
  bool reserve(std::size_t bytes) noexcept;
  std::byte* find(PoolState& pool, std::size_t bytes, std::size_t alignment);
  void insert(PoolState& pool, Extent extent);

  std::size_t bytes_ = 0;
  std::mutex mutex_;
  std::array<PoolState, 3> pools_;
};

// Size of the chunk at `pointer`, which is known to be the start of a live allocation.
inline std::size_t chunk_bytes_of(const void* pointer) noexcept {
  return chunk_bytes(block_info(pointer).size_class());
}

// Size of the chunk that starts at `pointer`, or 0 if that is no place where a chunk starts. Needs
// no heap: it serves malloc_usable_size and realloc for memory of any LP.
std::size_t chunk_bytes_at(const void* pointer) noexcept;

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_REGION_H
