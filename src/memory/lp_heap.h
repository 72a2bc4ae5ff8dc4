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
//   up to 8 runs    the rows (class and access) of the runs that have room are the bytes of a word
//   more            an index: for each row a bitmap of the runs with room
// For free, the area's slot table gives the run of a pointer; before that it is compared with the
// last allocation, since what is freed soon is common and need not go through memory. Allocation
// and free have no branch that depends on whether a run became full or ceased to be, which is what
// a processor cannot predict.
//
// Allocation takes the first chunk with room in the order of the runs' creation, and a run's length
// is fixed when it is made. Which address is served thus depends on the live
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
#include "memory/region.h"
#include "memory/size_class.h"

namespace orrery::memory {

enum class FreeStatus : std::uint8_t { ok, not_live, foreign, not_start };

// 2^log chunks of one class. Bits of chunks that do not exist are never set in free_chunks, so that
// "full" is a comparison with zero.
struct Run {
  std::uint64_t free_chunks;
  // base address << 16 | size class << 8 | mild << 7 | log (addresses have 48 bits)
  std::uint64_t where;

  static Run make(const std::byte* base, unsigned size_class, Access access,
                  unsigned log) noexcept {
    return {mask(log), static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(base)) << 16 |
                           size_class << 8 | (access == Access::mild ? 0x80U : 0U) | log};
  }
  static constexpr std::uint64_t mask(unsigned log) noexcept {
    return ~std::uint64_t{0} >> (64 - (1U << log));
  }
  std::byte* base() const noexcept { return reinterpret_cast<std::byte*>(where >> 16); }
  unsigned size_class() const noexcept { return static_cast<unsigned>(where >> 8 & 0xff); }
  Access access() const noexcept { return (where & 0x80) != 0 ? Access::mild : Access::intensive; }
  unsigned log() const noexcept { return static_cast<unsigned>(where & 0x7f); }
  std::uint64_t live_chunks() const noexcept { return mask(log()) & ~free_chunks; }
};

class LpHeap {
 public:
  // A heap without memory; the arena must outlive it. Costs nothing.
  explicit LpHeap(Arena& arena) noexcept : arena_(&arena) {}
  ~LpHeap() {
    if (capacity_ != 1) {
      release_table();
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
  // is a power of two, by default 16. `access` chooses the cache sets, where memory is coloured.
  void* allocate(std::size_t bytes) noexcept;
  void* allocate(std::size_t bytes, std::size_t alignment,
                 Access access = Access::intensive) noexcept;

  // Frees a live allocation of this heap; anything else is answered and leaves the heap unchanged.
  // nullptr is foreign here.
  FreeStatus deallocate(void* pointer) noexcept {
    return is_lp_pointer(pointer) ? deallocate_lp_pointer(pointer) : FreeStatus::foreign;
  }
  // The same for what is known to lie in the region.
  FreeStatus deallocate_lp_pointer(void* pointer) noexcept;

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

 private:
  // What is known of more than one run; in system memory. The index of a heap with many runs lies
  // behind the runs.
  struct Table {
    const std::byte* last;   // allocation
    std::uint64_t last_bit;  // its chunk in its run
    Run* last_run;
    std::uint64_t rows;  // up to 8 runs: byte i is the row of run i while that has room, or kFull
    Run runs[];
  };
  struct Index;
  struct Place {
    Run* run = nullptr;  // nullptr: not in this heap
    unsigned chunk = 0;
    bool at_start = false;
  };
  union Store {
    Run first{0, 0};  // while capacity_ is 1
    Table* table;     // after that
  };

  static constexpr std::uint32_t kWordRuns = 8;  // whose rows are the bytes of a word
  // Rows: small classes of intensive access, all large ones, small classes of mild access.
  static constexpr unsigned kLargeRow = kSmallClasses;
  static constexpr unsigned kMildRows = kSmallClasses + 1;
  static constexpr unsigned kRows = kMildRows + kSmallClasses;
  static constexpr std::uint64_t kFull = 0xff;
  static constexpr std::uint64_t kEachByte = 0x0101010101010101;

  static constexpr unsigned row_of(unsigned size_class, Access access) noexcept {
    if (is_large(size_class)) {
      return kLargeRow;
    }
    return size_class + (access == Access::mild ? kMildRows : 0);
  }
  static unsigned row_of(const Run& run) noexcept { return row_of(run.size_class(), run.access()); }
  // Position of the lowest set bit; bits != 0, which spares a branch.
  static unsigned first_bit(std::uint64_t bits) noexcept {
    return static_cast<unsigned>(__builtin_ctzll(bits));
  }

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
    if (bytes > 128) {
      std::memcpy(to, from, bytes);
      return;
    }
    for (std::size_t i = 0; i < bytes; i += 16) {
      std::memcpy(to + i, from + i, 16);
    }
  }

  const Run* runs() const noexcept { return capacity_ == 1 ? &store_.first : store_.table->runs; }
  Run* runs() noexcept { return capacity_ == 1 ? &store_.first : store_.table->runs; }
  bool indexed() const noexcept { return capacity_ > kWordRuns; }
  Index& index() const noexcept;

  // Runs up to the last one with a live chunk.
  std::uint32_t used_runs() const noexcept {
    if (capacity_ == 1) [[likely]] {
      return live_bytes_ != 0 ? 1 : 0;
    }
    std::uint32_t count = run_count_;
    while (count > 0 && store_.table->runs[count - 1].live_chunks() == 0) {
      --count;
    }
    return count;
  }

  std::size_t save_first(std::byte* image) const noexcept;
  void restore_first(const std::byte* image) noexcept;
  std::size_t save_all(std::byte* image) const noexcept;
  void restore_all(const std::byte* image) noexcept;
  std::size_t restore_run(std::uint32_t run_index, std::uint64_t live,
                          const std::byte* chunks) noexcept;

  void* allocate_small(unsigned size_class, Access access) noexcept;
  void* take_chunk(Table& table, Run& run, unsigned size_class) noexcept;
  void set_room(Table& table, const Run& run, unsigned row) noexcept;
  void clear_room(Table& table, const Run& run, bool full) noexcept;
  [[gnu::noinline]] void* allocate_single(unsigned size_class, Access access) noexcept;
  [[gnu::noinline]] void* allocate_odd(std::size_t bytes) noexcept;
  [[gnu::noinline]] void* allocate_large(unsigned size_class, std::size_t alignment) noexcept;
  [[gnu::noinline]] void* allocate_in_new_run(unsigned size_class, std::size_t alignment,
                                              Access access) noexcept;
  std::size_t runs_of(unsigned row) const noexcept;
  bool grow_table() noexcept;
  void publish_run(std::uint32_t run_index) noexcept;
  void release_table() noexcept;

  FreeStatus release(Table& table, Run& run, std::uint64_t bit) noexcept;
  [[gnu::noinline]] FreeStatus deallocate_single(const std::byte* pointer) noexcept;
  [[gnu::noinline]] FreeStatus explain(const void* pointer) const noexcept;
  Place find(const void* pointer) const noexcept;
  Place place_in(std::uint32_t run_index, const std::byte* pointer) const noexcept;

  Arena* arena_;
  Store store_;
  std::size_t live_bytes_ = 0;
  std::uint32_t run_count_ = 0;
  std::uint32_t capacity_ = 1;
};

static_assert(sizeof(Run) == 16 && sizeof(LpHeap) == 40, "a million LPs have one of these each");

// For heaps with many runs, in system memory behind the runs: for each row that the heap uses, a
// bitmap of the runs with room. Words of one position lie side by side, so that a heap with up to
// 64 runs has one word a row.
struct LpHeap::Index {
  std::uint8_t row_at[kRows + 3];  // where a row's words are; 0, whose words are zero, for no row
  std::uint32_t stride;            // rows there is room for, with row 0
  std::uint32_t words;             // of a row
  std::uint32_t rows;              // in use, with row 0
  struct Hint {
    std::uint32_t word;  // no word before it has a bit
    std::uint32_t runs;  // of the row
  };
  Hint hints[];  // `stride` of them, then the words

  std::uint64_t* room() noexcept { return reinterpret_cast<std::uint64_t*>(hints + stride); }
  std::uint64_t& word(std::uint32_t at, std::uint32_t i) noexcept {
    return room()[std::size_t{i} * stride + at];
  }
  std::uint32_t scan(std::uint32_t at, std::uint32_t from) noexcept;
};

inline LpHeap::Index& LpHeap::index() const noexcept {
  return *reinterpret_cast<Index*>(store_.table->runs + capacity_);
}

// Notes that the run has room.
[[gnu::always_inline]] inline void LpHeap::set_room(Table& table, const Run& run,
                                                    unsigned row) noexcept {
  const auto i = static_cast<std::uint32_t>(&run - table.runs);
  if (!indexed()) {
    table.rows = (table.rows & ~(kFull << 8 * i)) | std::uint64_t{row} << 8 * i;
    return;
  }
  Index& rows = index();
  const std::uint32_t at = rows.row_at[row];
  rows.word(at, i / 64) |= std::uint64_t{1} << i % 64;
  rows.hints[at].word = rows.hints[at].word < i / 64 ? rows.hints[at].word : i / 64;
}

// Notes that the run is full, if it is.
[[gnu::always_inline]] inline void LpHeap::clear_room(Table& table, const Run& run,
                                                      bool full) noexcept {
  const auto i = static_cast<std::uint32_t>(&run - table.runs);
  if (!indexed()) {
    table.rows |= ((0 - std::uint64_t{full}) & kFull) << 8 * i;
    return;
  }
  Index& rows = index();
  rows.word(rows.row_at[row_of(run)], i / 64) &= ~(std::uint64_t{full} << i % 64);
}

[[gnu::always_inline]] inline void* LpHeap::take_chunk(Table& table, Run& run,
                                                       unsigned size_class) noexcept {
  const std::size_t bytes = chunk_bytes(size_class);
  const std::uint64_t room = run.free_chunks;
  const std::uint64_t left = room & (room - 1);
  std::byte* const address = run.base() + first_bit(room) * bytes;
  run.free_chunks = left;
  live_bytes_ += bytes;
  table.last = address;
  table.last_bit = room ^ left;
  table.last_run = &run;
  clear_room(table, run, left == 0);
  unpoison(address, bytes);
  return address;
}

[[gnu::always_inline]] inline void* LpHeap::allocate_small(unsigned size_class,
                                                           Access access) noexcept {
  if (capacity_ == 1) [[unlikely]] {
    return allocate_single(size_class, access);
  }
  Table& table = *store_.table;
  const unsigned row = size_class + (access == Access::mild ? kMildRows : 0);
  std::uint32_t run = 0;
  if (!indexed()) {
    // The lowest byte that equals the row (a carry can only spoil higher ones).
    const std::uint64_t other = table.rows ^ row * kEachByte;
    const std::uint64_t equal = (other - kEachByte) & ~other & 0x80 * kEachByte;
    if (equal == 0) [[unlikely]] {
      return allocate_in_new_run(size_class, kBlockBytes, access);
    }
    run = first_bit(equal) / 8;
  } else {
    Index& rows = index();
    const std::uint32_t at = rows.row_at[row];
    const std::uint32_t i = rows.hints[at].word;
    const std::uint64_t bits = rows.word(at, i);
    run = i * 64 + first_bit(bits | std::uint64_t{1} << 63);
    if (bits == 0) [[unlikely]] {
      run = rows.scan(at, i + 1);
      if (run == ~std::uint32_t{0}) {
        return allocate_in_new_run(size_class, kBlockBytes, access);
      }
    }
  }
  return take_chunk(table, table.runs[run], size_class);
}

[[gnu::always_inline]] inline void* LpHeap::allocate(std::size_t bytes) noexcept {
  if (bytes > detail::kTabledBytes) [[unlikely]] {
    return allocate_odd(bytes);
  }
  return allocate_small(class_of(bytes), Access::intensive);
}

[[gnu::always_inline]] inline FreeStatus LpHeap::release(Table& table, Run& run,
                                                         std::uint64_t bit) noexcept {
  const std::uint64_t room = run.free_chunks;
  if ((room & bit) != 0) [[unlikely]] {
    return FreeStatus::not_live;
  }
  const unsigned size_class = run.size_class();
  run.free_chunks = room | bit;
  live_bytes_ -= chunk_bytes(size_class);
  set_room(table, run, row_of(size_class, run.access()));
  return FreeStatus::ok;
}

[[gnu::always_inline]] inline FreeStatus LpHeap::deallocate_lp_pointer(void* pointer) noexcept {
  const auto* const address = static_cast<const std::byte*>(pointer);
  if (capacity_ == 1) [[unlikely]] {
    return deallocate_single(address);
  }
  Table& table = *store_.table;
  if (address == table.last) {
    poison(address, chunk_bytes(table.last_run->size_class()));
    return release(table, *table.last_run, table.last_bit);
  }
  Area* const area = area_of(address);
  if (area == nullptr) [[unlikely]] {
    return explain(pointer);
  }
  const auto offset = static_cast<std::size_t>(address - area->base);
  const std::size_t chunk = offset * area->reciprocal >> 32;
  const std::size_t slot = chunk >> area->run_log;
  const std::size_t first = slot << area->run_log;
  // Relaxed: owners read what their own thread wrote; a worker with a foreign pointer may read any
  // value, since it then compares with the address of the run.
  const std::uint32_t i = std::atomic_ref(area->slots[slot]).load(std::memory_order_relaxed);
  Run& run = table.runs[i < run_count_ ? i : 0];
  if (run.base() != area->base + first * area->chunk_bytes || chunk * area->chunk_bytes != offset)
      [[unlikely]] {
    return explain(pointer);
  }
  const FreeStatus status = release(table, run, std::uint64_t{1} << (chunk - first));
  if (status == FreeStatus::ok) [[likely]] {
    poison(address, area->chunk_bytes);
  }
  return status;
}

// A heap without a table has at most one chunk: the first run of a heap has length 1.
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
