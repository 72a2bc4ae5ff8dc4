// SPDX-License-Identifier: Apache-2.0
//
// The heap of one logical process: memory that can be checkpointed and rolled back, at fixed
// addresses, for any C++ object graph.
//
// It follows DyMeLoR (Toccaceli and Quaglia, PADS 2008) in that chunks have no headers, a bitmap
// tells which are live, and a checkpoint copies these only, neighbours in one copy. It differs
// where a million small LPs must cost next to nothing: an LP owns short *runs* of chunks in blocks
// that it shares with others, not blocks of its own. The first run of a class has one chunk, the
// next ones 4, 16 and 64. A run's metadata is 16 bytes; that of the first lies in the LpHeap
// itself, which is 40 bytes, so that a heap with one object needs nothing from the system's malloc.
//
// Three sizes of heap, each searched in the way that is fastest for it:
//   one run         compare with it
//   up to 8 runs    linear search, both for allocation and for free
//   more            an index: per class the first run with room and a bitmap of all such runs; for
//                   free, the block's slot table gives the run. Both take constant time, bar a scan
//                   of bitmap words when a run fills up.
//
// Allocation takes the first chunk with room in the order of the runs' creation, and a run's length
// depends only on how many the class has already. Which address is served thus depends on the live
// set alone, never on history: an event executed again after a rollback gets the same addresses,
// and equal states give equal images, byte for byte. Runs are never given away or returned while
// the heap lives, since a rollback may resurrect their chunks.
//
// A heap is used by one thread at a time and takes no locks. Operations that may ask the system for
// memory do so in platform mode.
#ifndef ORRERY_MEMORY_LP_HEAP_H
#define ORRERY_MEMORY_LP_HEAP_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "memory/application_mode.h"
#include "memory/arena.h"
#include "memory/poison.h"
#include "memory/size_class.h"

namespace orrery::memory {

enum class FreeStatus : std::uint8_t { ok, not_live, foreign, not_start };

// 2^log chunks of one class. Bits of chunks that do not exist are never set in free_chunks, so that
// "full" is a comparison with zero.
struct Run {
  std::uint64_t free_chunks;
  std::uint64_t where;  // base address << 16 | size class << 8 | log (addresses have 48 bits)

  static Run make(const std::byte* base, unsigned size_class, unsigned log) noexcept {
    return {mask(log), static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(base)) << 16 |
                           size_class << 8 | log};
  }
  static constexpr std::uint64_t mask(unsigned log) noexcept {
    return ~std::uint64_t{0} >> (64 - (1U << log));
  }
  std::byte* base() const noexcept { return reinterpret_cast<std::byte*>(where >> 16); }
  unsigned size_class() const noexcept { return static_cast<unsigned>(where >> 8 & 0xff); }
  unsigned log() const noexcept { return static_cast<unsigned>(where & 0xff); }
  std::uint64_t live_chunks() const noexcept { return mask(log()) & ~free_chunks; }
};

class LpHeap {
 public:
  // A heap without memory; the arena must outlive it. Costs nothing.
  explicit LpHeap(Arena& arena) noexcept : arena_(&arena) {}

  // A heap that can serve nothing: it stands for one that a HeapObserver serves.
  struct NoArena {};
  static constexpr NoArena kNoArena{};
  explicit LpHeap(NoArena) noexcept : arena_(nullptr) {}
  ~LpHeap() {
    if (capacity_ != 1) {
      release_lists();
    }
  }
  LpHeap(LpHeap&& other) noexcept
      : arena_(other.arena_),
        store_(std::exchange(other.store_, Store{})),
        live_bytes_(std::exchange(other.live_bytes_, 0)),
        run_count_(std::exchange(other.run_count_, 0)),
        capacity_(std::exchange(other.capacity_, 1)) {}
  LpHeap(const LpHeap&) = delete;
  LpHeap& operator=(const LpHeap&) = delete;
  LpHeap& operator=(LpHeap&&) = delete;

  // Later runs come from this arena. For an LP that moves to another worker; it keeps its memory.
  void use_arena(Arena& arena) noexcept { arena_ = &arena; }

  // Memory of at least `bytes` (0 counts as 1), not zeroed; nullptr if there is none. `alignment`
  // is a power of two, by default 16.
  void* allocate(std::size_t bytes) noexcept;
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept;

  // Frees a live allocation of this heap; anything else is answered and leaves the heap unchanged.
  // nullptr is foreign here.
  FreeStatus deallocate(void* pointer) noexcept;

  // As realloc: `pointer` is live and stays so if the answer is nullptr. A chunk that already has
  // the right class is kept.
  void* reallocate(void* pointer, std::size_t bytes) noexcept;

  // Bytes that may be used at `pointer`, or 0 if it is not a live allocation of this heap.
  std::size_t usable_size(const void* pointer) const noexcept;

  // Whether `pointer` lies in a run of this heap, live or not.
  bool owns(const void* pointer) const noexcept;

  // Bytes in live chunks.
  std::size_t live_bytes() const noexcept { return live_bytes_; }

  std::size_t run_count() const noexcept { return run_count_; }

  // Size of a checkpoint taken now.
  std::size_t image_bytes() const noexcept { return header_bytes(used_runs()) + live_bytes_; }

  // Whether the heap consists of one live chunk, and nothing was ever allocated beside it. Then the
  // two functions below do what save and restore do, from the chunk's address and size alone, so
  // that whoever knows these (and watches ThreadContext::heap_grew) need not touch the heap's
  // state.
  bool single_chunk() const noexcept { return capacity_ == 1 && live_bytes_ != 0; }
  static constexpr std::size_t kSingleHeaderBytes = 2 * sizeof(std::uint64_t);
  static void save_single(const void* chunk, std::size_t chunk_bytes, std::byte* image) noexcept {
    const std::uint64_t header[2] = {1, 1};
    std::memcpy(image, header, sizeof header);
    copy(image + sizeof header, static_cast<const std::byte*>(chunk), chunk_bytes);
  }
  static void restore_single(void* chunk, std::size_t chunk_bytes,
                             const std::byte* image) noexcept {
    copy(static_cast<std::byte*>(chunk), image + kSingleHeaderBytes, chunk_bytes);
  }

  // Writes a checkpoint to `image`, which has room for image_bytes() and any alignment (16 is
  // fastest), and returns its size. Equal live sets with equal contents give equal images.
  std::size_t save(std::byte* image) const noexcept {
    if (capacity_ == 1) [[likely]] {
      return save_first(image);
    }
    return save_all(image);
  }

  // Brings back the live chunks and their contents as they were at save. `image` was saved from
  // this heap, at any earlier time; what was allocated since is free afterwards.
  void restore(const std::byte* image) noexcept {
    if (capacity_ == 1) [[likely]] {
      restore_first(image);
    } else {
      restore_all(image);
    }
  }

  // The layout of an image, without the chunks: which are live. For checkpoints that keep contents
  // in another way. restore_layout changes no byte of any chunk.
  std::size_t layout_bytes() const noexcept { return header_bytes(used_runs()); }
  void save_layout(std::byte* layout) const noexcept;
  void restore_layout(const std::byte* layout) noexcept;

  // Memory of the i-th run, of run_count(). Runs are never moved and never go.
  std::pair<std::byte*, std::size_t> run_memory(std::uint32_t i) const noexcept {
    const Run& run = runs()[i];
    return {run.base(), chunk_bytes(run.size_class()) << run.log()};
  }

  // Calls visit(const std::byte* begin, std::size_t bytes, std::size_t chunk_bytes) for each
  // maximal row of live chunks, in image order; for diagnostics and for checkpoints of other kinds.
  template <typename Visit>
  void for_each_live(Visit&& visit) const {
    for (std::uint32_t i = 0; i < run_count_; ++i) {
      const Run& run = runs()[i];
      const std::size_t chunk = chunk_bytes(run.size_class());
      for_each_row(run.live_chunks(), [&](unsigned begin, unsigned count) {
        visit(const_cast<const std::byte*>(run.base()) + begin * chunk, count * chunk, chunk);
      });
    }
  }

  // The same for the rows of free chunks, which belong to the heap but hold nothing.
  template <typename Visit>
  void for_each_free(Visit&& visit) const {
    for (std::uint32_t i = 0; i < run_count_; ++i) {
      const Run& run = runs()[i];
      const std::size_t chunk = chunk_bytes(run.size_class());
      for_each_row(run.free_chunks, [&](unsigned begin, unsigned count) {
        visit(run.base() + begin * chunk, count * chunk, chunk);
      });
    }
  }

 private:
  struct Index;
  struct Place {
    Run* run = nullptr;  // nullptr: not in this heap
    unsigned chunk = 0;
    bool at_start = false;
  };
  struct Lists {
    Run* runs;     // in system memory
    Index* index;  // nullptr for up to kLinearRuns runs
  };
  union Store {
    Run first{0, 0};  // while capacity_ is 1
    Lists lists;      // after that
  };

  static constexpr std::uint32_t kLinearRuns = 8;

  // An image: the number of runs (those after the last live chunk are left out), the live bitmap of
  // each, zero padding to 16 bytes, then the live chunks in order.
  static constexpr std::size_t header_bytes(std::size_t runs) noexcept {
    return (runs + 2) / 2 * 16;
  }

  template <typename Visit>
  static void for_each_row(std::uint64_t bits, Visit&& visit) {
    unsigned position = 0;
    while (bits != 0) {
      const auto skip = static_cast<unsigned>(std::countr_zero(bits));
      bits >>= skip;
      position += skip;
      const auto count = static_cast<unsigned>(std::countr_one(bits));
      visit(position, count);
      position += count;
      bits = count == 64 ? 0 : bits >> count;
    }
  }

  // For multiples of 16 bytes. A call of memcpy costs more than a small copy does.
  static void copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    if (bytes > 128 || kPoisons) {
      copy_poisoned(to, from, bytes);
      return;
    }
    for (std::size_t i = 0; i < bytes; i += 16) {
      std::memcpy(to + i, from + i, 16);
    }
  }

  const Run* runs() const noexcept { return capacity_ == 1 ? &store_.first : store_.lists.runs; }
  Run* runs() noexcept { return capacity_ == 1 ? &store_.first : store_.lists.runs; }
  bool indexed() const noexcept { return capacity_ > kLinearRuns; }

  // Runs up to the last one with a live chunk.
  std::uint32_t used_runs() const noexcept {
    if (capacity_ == 1) [[likely]] {
      return live_bytes_ != 0 ? 1 : 0;
    }
    std::uint32_t count = run_count_;
    while (count > 0 && store_.lists.runs[count - 1].live_chunks() == 0) {
      --count;
    }
    return count;
  }

  std::size_t save_first(std::byte* image) const noexcept;
  void restore_first(const std::byte* image) noexcept;
  std::size_t save_all(std::byte* image) const noexcept;
  void restore_all(const std::byte* image) noexcept;
  std::size_t set_live(std::uint32_t run_index, std::uint64_t live) noexcept;

  void* allocate_small(unsigned size_class) noexcept;
  void* allocate_linear(unsigned size_class) noexcept;
  [[gnu::noinline]] void* allocate_large(unsigned size_class, std::size_t alignment) noexcept;
  [[gnu::noinline]] void* allocate_in_new_run(unsigned size_class, std::size_t alignment) noexcept;
  void* take_chunk(std::uint32_t run_index) noexcept;
  std::size_t runs_of(unsigned size_class) const noexcept;
  bool grow_lists() noexcept;
  void publish_run(std::uint32_t run_index) noexcept;
  void release_lists() noexcept;

  Place find(const void* pointer) const noexcept;
  Place place_in(std::uint32_t run_index, const std::byte* pointer) const noexcept;
  Place find_linear(const std::byte* pointer) const noexcept;
  Place find_indexed(const std::byte* pointer) const noexcept;
  [[gnu::noinline]] Place find_large(const std::byte* pointer, BlockInfo info) const noexcept;

  Arena* arena_;
  Store store_;
  std::size_t live_bytes_ = 0;
  std::uint32_t run_count_ = 0;
  std::uint32_t capacity_ = 1;
};

static_assert(sizeof(Run) == 16 && sizeof(LpHeap) == 40, "a million LPs have one of these each");

// A heap without lists has at most one chunk: the first run of a heap has length 1.
inline std::size_t LpHeap::save_first(std::byte* image) const noexcept {
  const std::uint64_t header[2] = {live_bytes_ != 0 ? 1U : 0U, live_bytes_ != 0 ? 1U : 0U};
  std::memcpy(image, header, sizeof header);
  copy(image + sizeof header, store_.first.base(), live_bytes_);
  return sizeof header + live_bytes_;
}

inline void LpHeap::restore_first(const std::byte* image) noexcept {
  std::uint64_t header[2];
  std::memcpy(header, image, sizeof header);
  const bool live = header[0] != 0 && header[1] != 0;
  const std::size_t chunk = chunk_bytes(store_.first.size_class());
  store_.first.free_chunks = live || run_count_ == 0 ? 0 : 1;
  live_bytes_ = live ? chunk : 0;
  if (live) {
    unpoison(store_.first.base(), chunk);
    copy(store_.first.base(), image + sizeof header, chunk);
  } else if (run_count_ != 0) {
    poison(store_.first.base(), chunk);
  }
}

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_LP_HEAP_H
