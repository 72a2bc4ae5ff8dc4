// SPDX-License-Identifier: Apache-2.0
//
// The heap of one logical process: memory that can be checkpointed and rolled back, at fixed
// addresses, for any C++ object graph.
//
// It follows DyMeLoR (Toccaceli and Quaglia, PADS 2008) in that chunks have no headers, a bitmap
// tells which are live, and a checkpoint copies these only, neighbours in one copy. It differs
// where a million small LPs must cost next to nothing: an LP owns short *runs* of chunks in blocks
// that it shares with others, not blocks of its own (docs/memory.md has the layout). What is known
// of the first run lies in the LpHeap itself, so that a heap with one object needs nothing from the
// system's malloc.
//
// Four sizes of heap, each searched in the way that is fastest for it:
//   one run         compare with it
//   up to 8 runs    the rows (class and access) of the runs that have room are the bytes of a word
//   up to 64 runs   for each row a word with the bits of the runs that have room
//   more            several words a row, and the first of them that is not 0
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

constexpr HeapMisuse misuse_of(FreeStatus status) noexcept {
  switch (status) {
    case FreeStatus::not_live:
      return HeapMisuse::not_live;
    case FreeStatus::not_start:
      return HeapMisuse::not_start;
    default:
      return HeapMisuse::foreign;
  }
}

// 2^log chunks of one class. Bits of chunks that do not exist are never set in free_chunks, so that
// "full" is a comparison with zero.
struct Run {
  std::uint64_t free_chunks;
  std::uint64_t where;  // base address << 16 | mild << 15 | size class << 7 | log

  static Run make(const std::byte* base, unsigned size_class, Access access,
                  unsigned log) noexcept {
    const std::uint64_t mild = access == Access::mild ? 1 : 0;
    return {mask(log), static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(base)) << 16 |
                           mild << 15 | size_class << 7 | log};
  }
  static constexpr std::uint64_t mask(unsigned log) noexcept {
    return ~std::uint64_t{0} >> (64 - (1U << log));
  }
  // Addresses have 48 bits.
  std::byte* base() const noexcept { return reinterpret_cast<std::byte*>(where >> 16); }
  unsigned size_class() const noexcept { return static_cast<unsigned>(where >> 7 & 0xff); }
  Access access() const noexcept { return static_cast<Access>(where >> 15 & 1); }
  unsigned log() const noexcept { return static_cast<unsigned>(where & 0x7f); }
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
      release_table();
    }
  }
  LpHeap(LpHeap&& other) noexcept
      : arena_(other.arena_),
        store_(std::exchange(other.store_, Store{})),
        first_bytes_(std::exchange(other.first_bytes_, 0)),
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
  FreeStatus deallocate_lp_pointer(void* pointer) noexcept {
    return free_quickly(pointer) ? FreeStatus::ok : free_slowly(pointer);
  }

  // What malloc and free do nearly always, without a call: a small class with room in a heap of
  // more than one run. Where that does not apply they do nothing and answer nullptr and false; then
  // allocate and free_slowly serve.
  void* allocate_quickly(std::size_t bytes) noexcept;
  bool free_quickly(void* pointer) noexcept;
  FreeStatus free_slowly(void* pointer) noexcept;

  // As realloc: `pointer` is live and stays so if the answer is nullptr. A chunk that already has
  // the right class is kept.
  void* reallocate(void* pointer, std::size_t bytes) noexcept;

  // Bytes that may be used at `pointer`, or 0 if it is not a live allocation of this heap.
  std::size_t usable_size(const void* pointer) const noexcept;

  // Whether `pointer` lies in a run of this heap, live or not.
  bool owns(const void* pointer) const noexcept;

  // Bytes in live chunks.
  std::size_t live_bytes() const noexcept {
    if (capacity_ == 1) [[likely]] {
      return first_bytes_;
    }
    return store_.tables.table->served_bytes - store_.tables.table->freed_bytes;
  }

  std::size_t run_count() const noexcept { return run_count_; }

  // Size of a checkpoint taken now.
  std::size_t image_bytes() const noexcept { return header_bytes(used_runs()) + live_bytes(); }

  // Whether the heap consists of one live chunk, and nothing was ever allocated beside it. Then the
  // two functions below do what save and restore do, from the chunk's address and size alone, so
  // that whoever knows these (and watches ThreadContext::heap_grew) need not touch the heap's
  // state.
  bool single_chunk() const noexcept { return capacity_ == 1 && first_bytes_ != 0; }
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
  // What is known of more than one run; in system memory, in one piece with the index of a heap
  // with many runs.
  struct Table {
    const std::byte* last;   // allocation that was served quickly
    std::uint64_t last_bit;  // its chunk in its run
    std::uint32_t last_run;
    std::uint32_t last_row;
    // What the live chunks have is the difference. One counter would be a chain of a store and a
    // load of the same place from each operation to the next, which is what limits the speed of
    // these.
    std::uint64_t served_bytes;
    std::uint64_t freed_bytes;
    std::uint64_t rows;  // up to 8 runs: byte i is the row of run i while that has room, or kFull
    Run runs[];
  };
  struct Index;
  struct Place {
    Run* run = nullptr;  // nullptr: not in this heap
    unsigned chunk = 0;
    bool at_start = false;
  };
  struct Tables {
    Table* table;
    Index* index;  // nullptr for up to kWordRuns runs
  };
  union Store {
    Run first{0, 0};  // while capacity_ is 1
    Tables tables;    // after that
  };

  static constexpr std::uint32_t kWordRuns = 8;      // whose rows are the bytes of a word
  static constexpr std::uint32_t kIndexedRuns = 64;  // for which a row's bitmap is a word
  static constexpr std::uint64_t kFull = 0xff;
  static constexpr std::uint64_t kEachByte = 0x0101010101010101;

  static unsigned row_of(const Run& run) noexcept {
    return memory::row_of(run.size_class(), run.access());
  }
  // Position of the lowest set bit; bits != 0, which spares a branch.
  static std::size_t first_bit(std::uint64_t bits) noexcept {
    return static_cast<std::size_t>(__builtin_ctzll(bits));
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
    if (bytes > 128 || kPoisons) {
      copy_poisoned(to, from, bytes);
      return;
    }
    for (std::size_t i = 0; i < bytes; i += 16) {
      std::memcpy(to + i, from + i, 16);
    }
  }

  const Run* runs() const noexcept {
    return capacity_ == 1 ? &store_.first : store_.tables.table->runs;
  }
  Run* runs() noexcept { return capacity_ == 1 ? &store_.first : store_.tables.table->runs; }
  bool indexed() const noexcept { return capacity_ > kWordRuns; }
  Index& index() const noexcept { return *store_.tables.index; }

  // Runs up to the last one with a live chunk.
  std::uint32_t used_runs() const noexcept {
    if (capacity_ == 1) [[likely]] {
      return first_bytes_ != 0 ? 1 : 0;
    }
    std::uint32_t count = run_count_;
    while (count > 0 && store_.tables.table->runs[count - 1].live_chunks() == 0) {
      --count;
    }
    return count;
  }

  std::size_t save_first(std::byte* image) const noexcept;
  void restore_first(const std::byte* image) noexcept;
  std::size_t save_all(std::byte* image) const noexcept;
  void restore_all(const std::byte* image) noexcept;
  std::size_t set_live(std::uint32_t run_index, std::uint64_t live) noexcept;

  void* allocate_small(unsigned size_class, Access access) noexcept;
  void* allocate_large(unsigned size_class, std::size_t alignment) noexcept;
  void* allocate_single(unsigned size_class, Access access) noexcept;
  void* allocate_in_new_run(unsigned size_class, std::size_t alignment, Access access) noexcept;
  void* serve_quickly(unsigned size_class, unsigned row) noexcept;
  bool take_first(Table& table, std::size_t run_index, unsigned size_class, unsigned row) noexcept;
  bool put_back(Table& table, std::uint32_t run, std::uint64_t bit, unsigned row, std::size_t bytes,
                const std::byte* address) noexcept;
  void* take_chunk(std::uint32_t run_index) noexcept;
  std::uint32_t first_with_room(unsigned row) noexcept;
  void note_room(std::uint32_t run_index, unsigned row) noexcept;
  void note_full(std::uint32_t run_index, unsigned row) noexcept;
  std::size_t runs_of(unsigned row) const noexcept;
  bool grow_table() noexcept;
  void publish_run(std::uint32_t run_index) noexcept;
  void release_table() noexcept;

  FreeStatus free_single(const std::byte* pointer) noexcept;
  Place find(const void* pointer) const noexcept;
  Place place_in(std::uint32_t run_index, const std::byte* pointer) const noexcept;

  Arena* arena_;
  Store store_;
  std::size_t first_bytes_ = 0;  // live, while capacity_ is 1
  std::uint32_t run_count_ = 0;
  std::uint32_t capacity_ = 1;
};

static_assert(sizeof(Run) == 16 && sizeof(LpHeap) == 40, "a million LPs have one of these each");

// For heaps with more than 8 runs, in system memory behind the runs: for each row that the heap
// uses, a bitmap of the runs with room. Up to 64 runs that is one word a row.
struct LpHeap::Index {
  struct Row {
    std::uint32_t first;  // no word of its bitmap before this one has a bit
    std::uint32_t runs;
  };
  std::uint8_t at[kRows + 3];  // place of a row; 0 is that of no row, and never has room
  std::uint32_t places;        // there are
  std::uint32_t words;         // of a bitmap
  std::uint32_t used;          // places, with 0
  // Words of one position lie side by side, `words` times `places` of them; then the rows.
  std::uint64_t room[];

  std::uint64_t& word(std::size_t place, std::size_t i) noexcept {
    return room[i * places + place];
  }
  Row& row(std::size_t place) noexcept {
    return reinterpret_cast<Row*>(room + std::size_t{words} * places)[place];
  }
};

[[gnu::always_inline]] inline void* LpHeap::allocate_quickly(std::size_t bytes) noexcept {
  if (bytes > detail::kTabledBytes || capacity_ == 1) [[unlikely]] {
    return nullptr;
  }
  const unsigned size_class = class_of(bytes);
  return poison_slack(serve_quickly(size_class, size_class), bytes, chunk_bytes(size_class));
}

// The first run of the row that has room. Whether it is full afterwards is no branch.
[[gnu::always_inline]] inline void* LpHeap::serve_quickly(unsigned size_class,
                                                          unsigned row) noexcept {
  Table& table = *store_.tables.table;
  if (capacity_ <= kWordRuns) {
    // The lowest byte that equals the row (a carry can only spoil higher ones).
    const std::uint64_t other = table.rows ^ row * kEachByte;
    const std::uint64_t equal = (other - kEachByte) & ~other & 0x80 * kEachByte;
    if (equal == 0) [[unlikely]] {
      return nullptr;
    }
    const std::size_t run = first_bit(equal) / 8;
    const std::uint64_t full = 0 - std::uint64_t{take_first(table, run, size_class, row)};
    // All bits of the byte of which `equal` has the highest.
    const std::uint64_t lowest = equal & (0 - equal);
    table.rows |= ((lowest << 1) - (lowest >> 7)) & full;
  } else {
    Index& index = *store_.tables.index;
    const std::size_t place = index.at[row];
    // Up to 64 runs the first word is the only one.
    const std::size_t word = capacity_ <= kIndexedRuns ? 0 : index.row(place).first;
    std::uint64_t& room = index.word(place, word);
    const std::uint64_t bits = room;
    if (bits == 0) [[unlikely]] {
      return nullptr;
    }
    const std::size_t bit = first_bit(bits);
    room = bits ^ std::uint64_t{take_first(table, word * 64 + bit, size_class, row)} << bit;
  }
  return const_cast<std::byte*>(table.last);
}

// Takes the first chunk with room of a run; `table.last` is its address. Whether the run is full.
[[gnu::always_inline]] inline bool LpHeap::take_first(Table& table, std::size_t run_index,
                                                      unsigned size_class, unsigned row) noexcept {
  table.last_run = static_cast<std::uint32_t>(run_index);
  table.last_row = row;
  Run& run = table.runs[run_index];
  const std::size_t bytes = chunk_bytes(size_class);
  table.served_bytes += bytes;
  const std::uint64_t room = run.free_chunks;
  const std::uint64_t left = room & (room - 1);
  run.free_chunks = left;
  table.last_bit = room ^ left;
  table.last = run.base() + first_bit(room) * bytes;
  unpoison(table.last, bytes);
  return left == 0;
}

[[gnu::always_inline]] inline bool LpHeap::free_quickly(void* pointer) noexcept {
  const auto* const address = static_cast<const std::byte*>(pointer);
  if (capacity_ == 1) [[unlikely]] {
    return false;
  }
  Table& table = *store_.tables.table;
  if (address == table.last) {
    const unsigned row = table.last_row;
    return put_back(table, table.last_run, table.last_bit, row,
                    chunk_bytes(row < kLargeRow ? row : row - kMildRows), address);
  }
  const Area* const area = area_of(address);
  if (area == nullptr) [[unlikely]] {
    return false;
  }
  const auto offset = static_cast<std::size_t>(address - area->base);
  const std::size_t chunk = offset * area->reciprocal >> 32;
  const std::uint32_t run = area->run_at(chunk >> area->run_log);
  const std::size_t in_run = chunk & area->run_mask;
  // One comparison for all that may be wrong: a run of another heap, or no start of a chunk.
  if (run >= run_count_ || table.runs[run].base() + in_run * area->chunk_bytes != address)
      [[unlikely]] {
    return false;
  }
  return put_back(table, run, std::uint64_t{1} << in_run, area->row, area->chunk_bytes, address);
}

// Whether the run was full before is no branch.
[[gnu::always_inline]] inline bool LpHeap::put_back(Table& table, std::uint32_t run,
                                                    std::uint64_t bit, unsigned row,
                                                    std::size_t bytes,
                                                    const std::byte* address) noexcept {
  const std::uint64_t room = table.runs[run].free_chunks;
  if ((room & bit) != 0) [[unlikely]] {
    return false;
  }
  table.runs[run].free_chunks = room | bit;
  table.freed_bytes += bytes;
  if (capacity_ <= kWordRuns) {
    const std::uint32_t shift = 8 * run;
    table.rows = (table.rows & ~(kFull << shift)) | std::uint64_t{row} << shift;
  } else {
    Index& index = *store_.tables.index;
    const std::size_t place = index.at[row];
    if (capacity_ <= kIndexedRuns) {
      index.room[place] |= std::uint64_t{1} << run;
    } else {
      std::uint32_t& first = index.row(place).first;
      index.word(place, run / 64) |= std::uint64_t{1} << run % 64;
      first = run / 64 < first ? run / 64 : first;
    }
  }
  poison(address, bytes);
  return true;
}

// A heap without a table has at most one chunk: the first run of a heap has length 1.
inline std::size_t LpHeap::save_first(std::byte* image) const noexcept {
  const std::uint64_t header[2] = {first_bytes_ != 0 ? 1U : 0U, first_bytes_ != 0 ? 1U : 0U};
  std::memcpy(image, header, sizeof header);
  copy(image + sizeof header, store_.first.base(), first_bytes_);
  return sizeof header + first_bytes_;
}

inline void LpHeap::restore_first(const std::byte* image) noexcept {
  std::uint64_t header[2];
  std::memcpy(header, image, sizeof header);
  const bool live = header[0] != 0 && header[1] != 0;
  const std::size_t chunk = chunk_bytes(store_.first.size_class());
  store_.first.free_chunks = live || run_count_ == 0 ? 0 : 1;
  first_bytes_ = live ? chunk : 0;
  if (live) {
    unpoison(store_.first.base(), chunk);
    copy(store_.first.base(), image + sizeof header, chunk);
  } else if (run_count_ != 0) {
    poison(store_.first.base(), chunk);
  }
}

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_LP_HEAP_H
