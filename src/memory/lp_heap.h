// SPDX-License-Identifier: Apache-2.0
//
// The heap of one logical process: memory that can be checkpointed and rolled back, at fixed
// addresses, for any C++ object graph.
//
// As in DyMeLoR (Toccaceli and Quaglia, PADS 2008), chunks have no headers, a bitmap says which
// chunks are live, and a checkpoint copies only live chunks, neighbours in one copy. The difference
// is that a million small LPs must cost next to nothing: an LP owns short *runs* of chunks in
// blocks that it shares with other LPs, not blocks of its own (docs/memory.md has the layout). The
// first run is described in the LpHeap itself, so that a heap with one object needs nothing from
// the system's malloc. A larger heap has a table of its runs, four on a cache line. All other data
// on the way to a run is in the LpHeap, so that an allocation touches two lines beside the chunk.
// Each further line would be a miss that the next access must wait for.
//
// Four sizes of heap, each with the search that is fastest for it:
//   one run         compare with it
//   up to 16 runs   the rows (class and access) of the runs that have room are the bytes of two
//                   words
//   up to 64 runs   for each row a word with the bits of the runs that have room
//   more            several words a row, and a word for 64 of them with the bits of those that are
//                   not 0
// For free, the area's slot table gives the run of a pointer. The pointer is first compared with
// the thread's last allocation, since programs often free soon what they allocate, and then need no
// memory access for the search. Allocation and free have no branch on whether a run becomes full or
// ceases to be full, or on which run serves: a processor cannot predict these.
//
// Allocation takes the first free chunk in the order of the runs' creation, and a run's length is
// fixed when it is made. So the address depends on the live set alone, never on history: an event
// executed again after a rollback gets the same addresses, and equal states give equal images, byte
// for byte. Runs are never given to another LP or returned while the heap lives, since a rollback
// may make their chunks live again.
//
// One thread at a time uses a heap, which takes no locks. Operations that may request memory from
// the system do so in platform mode.
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

// 2^log chunks of one class. Bits of chunks that do not exist are never set in free_chunks, so a
// run is full if free_chunks is 0.
struct ChunkRun {
  std::uint64_t free_chunks;
  std::uint64_t where;  // base address << 16 | mild << 15 | size class << 7 | log

  static ChunkRun make(const std::byte* base, unsigned size_class, Access access,
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
  // A heap without memory. `arena` must outlive it.
  explicit LpHeap(Arena& arena) noexcept : arena_(&arena) {}

  // A heap that serves no memory, in place of an LP's heap when a HeapObserver serves the LP.
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
        table_(std::exchange(other.table_, nullptr)),
        store_(std::exchange(other.store_, Store{})),
        served_bytes_(std::exchange(other.served_bytes_, 0)),
        freed_bytes_(std::exchange(other.freed_bytes_, 0)),
        run_count_(std::exchange(other.run_count_, 0)),
        capacity_(std::exchange(other.capacity_, 1)) {}
  LpHeap(const LpHeap&) = delete;
  LpHeap& operator=(const LpHeap&) = delete;
  LpHeap& operator=(LpHeap&&) = delete;

  // Takes later runs from this arena. For an LP that moves to another worker and keeps its memory.
  void use_arena(Arena& arena) noexcept { arena_ = &arena; }

  // Memory of at least `bytes` (0 counts as 1), not zeroed; nullptr if there is none. `alignment`
  // is a power of two, by default 16. `access` chooses the cache sets, where memory is coloured.
  void* allocate(std::size_t bytes) noexcept;
  void* allocate(std::size_t bytes, std::size_t alignment,
                 Access access = Access::intensive) noexcept;

  // Frees a live allocation of this heap. For any other pointer it returns why not and leaves the
  // heap unchanged; nullptr counts as foreign.
  FreeStatus deallocate(void* pointer) noexcept {
    return is_lp_pointer(pointer) ? deallocate_lp_pointer(pointer) : FreeStatus::foreign;
  }
  // The same for a pointer into the region.
  FreeStatus deallocate_lp_pointer(void* pointer) noexcept {
    return free_quickly(pointer) ? FreeStatus::ok : free_slowly(pointer);
  }

  // The common case of malloc and free, without a call: a small class with room, in a heap of more
  // than one run. In other cases they do nothing and return nullptr or false; then allocate and
  // free_slowly must serve. allocate_quickly_of_many is for heaps of more than 64 runs. It is a
  // separate function so that allocate_quickly needs few registers.
  void* allocate_quickly(std::size_t bytes) noexcept;
  void* allocate_quickly_of_many(std::size_t bytes) noexcept;
  bool has_many_runs() const noexcept { return capacity_ > kIndexedRuns; }
  bool free_quickly(void* pointer) noexcept;
  FreeStatus free_slowly(void* pointer) noexcept;

  // As realloc: `pointer` must be live, and stays live if the result is nullptr. A chunk of the
  // right class is kept.
  void* reallocate(void* pointer, std::size_t bytes) noexcept;

  // Bytes that may be used at `pointer`, or 0 if it is not a live allocation of this heap.
  std::size_t usable_size(const void* pointer) const noexcept;

  // Whether `pointer` lies in a run of this heap, live or not.
  bool owns(const void* pointer) const noexcept;

  // chunk_number: a number for the chunk that begins at `pointer`, which stays the same wherever
  // the heap goes, also in another process; kNoChunk if none begins there. live_chunk: the chunk
  // with a number, which may be any number; nullptr if there is no such chunk or it is not live.
  static constexpr std::uint64_t kNoChunk = ~std::uint64_t{0};
  std::uint64_t chunk_number(const void* pointer) const noexcept;
  void* live_chunk(std::uint64_t number) const noexcept;

  // Bytes in live chunks.
  std::size_t live_bytes() const noexcept { return served_bytes_ - freed_bytes_; }

  std::size_t run_count() const noexcept { return run_count_; }

  // For a caller that will run the LP soon: prefetches the data that its malloc and free read. Call
  // prefetch_table when the heap itself has arrived in the cache.
  void prefetch() const noexcept { __builtin_prefetch(this, 1); }
  void prefetch_table() const noexcept {
    if (capacity_ != 1) {
      for (std::uint32_t run = 0; run < kRowRuns; run += kCacheLineBytes / sizeof(ChunkRun)) {
        __builtin_prefetch(table_ + run, 1);
      }
    }
  }

  // Size of a checkpoint taken now.
  std::size_t image_bytes() const noexcept { return header_bytes(used_runs()) + live_bytes(); }

  // Whether the heap consists of one live chunk, and nothing was ever allocated beside it. Then
  // save_single and restore_single do the work of save and restore from the chunk's address and
  // size alone. A caller that keeps these two (and watches ThreadContext::heap_grew) need not read
  // the heap.
  bool single_chunk() const noexcept { return capacity_ == 1 && live_bytes() != 0; }
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
  // The chunk alone, to or from a place that is aligned to 16 bytes.
  static void copy_single(std::byte* to, const std::byte* from, std::size_t chunk_bytes) noexcept {
    copy(to, from, chunk_bytes);
  }

  // Writes a checkpoint to `image`, which has room for image_bytes() and any alignment (16 is
  // fastest), and returns its size. Equal live sets with equal contents give equal images.
  std::size_t save(std::byte* image) const noexcept {
    if (capacity_ == 1) [[likely]] {
      return save_first(image);
    }
    return save_all(image);
  }

  // The same past the caches: neither are the lines of `image` read before they are written, nor do
  // they push other lines out. For images that are not in a cache any more when their memory serves
  // again. `image` is aligned to 16 bytes.
  std::size_t stream(std::byte* image) const noexcept;

  // Restores the live chunks and their contents as they were at save. `image` must come from this
  // heap, at any earlier time; allocations made since are free afterwards.
  void restore(const std::byte* image) noexcept {
    if (capacity_ == 1) [[likely]] {
      restore_first(image);
    } else {
      restore_all(image);
    }
  }

  // The layout of an image: the live bitmaps without the chunks, for checkpoints that keep the
  // contents in another way. restore_layout changes no byte of any chunk.
  std::size_t layout_bytes() const noexcept { return header_bytes(used_runs()); }
  void save_layout(std::byte* layout) const noexcept;
  void restore_layout(const std::byte* layout) noexcept;

  // Memory of run i, i < run_count(). Runs are never moved or removed.
  std::pair<std::byte*, std::size_t> run_memory(std::uint32_t i) const noexcept {
    const ChunkRun& run = runs()[i];
    return {run.base(), chunk_bytes(run.size_class()) << run.log()};
  }

  // For snapshots: visit(ChunkRun) for each run, in the order of creation.
  template <typename Visit>
  void for_each_run(Visit&& visit) const {
    for (std::uint32_t i = 0; i < run_count_; ++i) {
      visit(runs()[i]);
    }
  }
  // Appends a run that a heap in another process had. The run lies in an area that was restored
  // (Arena); its live chunks are the same, without their contents. False if the system has no
  // memory.
  bool restore_run(const ChunkRun& run) noexcept;

  // Calls visit(const std::byte* begin, std::size_t bytes, std::size_t chunk_bytes) for each
  // maximal row of live chunks, in image order; for diagnostics and for checkpoints of other kinds.
  template <typename Visit>
  void for_each_live(Visit&& visit) const {
    for (std::uint32_t i = 0; i < run_count_; ++i) {
      const ChunkRun& run = runs()[i];
      const std::size_t chunk = chunk_bytes(run.size_class());
      for_each_row(run.live_chunks(), [&](unsigned begin, unsigned count) {
        visit(const_cast<const std::byte*>(run.base()) + begin * chunk, count * chunk, chunk);
      });
    }
  }

  // The same for the rows of free chunks. They belong to the heap and hold no data.
  template <typename Visit>
  void for_each_free(Visit&& visit) const {
    for (std::uint32_t i = 0; i < run_count_; ++i) {
      const ChunkRun& run = runs()[i];
      const std::size_t chunk = chunk_bytes(run.size_class());
      for_each_row(run.free_chunks, [&](unsigned begin, unsigned count) {
        visit(run.base() + begin * chunk, count * chunk, chunk);
      });
    }
  }

 private:
  struct Index;
  struct Place {
    ChunkRun* run = nullptr;  // nullptr: not in this heap
    unsigned chunk = 0;
    bool at_start = false;
  };
  static constexpr unsigned kMostLog = 6;        // a run has a word for its chunks
  static constexpr std::uint32_t kRowRuns = 16;  // runs whose rows are the bytes of Store::rows
  union Store {
    ChunkRun first{0, 0};  // while capacity_ is 1
    // Up to kRowRuns runs: byte i / 2 of word i % 2 is the row of run i while the run has room, or
    // kFull. So the first of two matches, one in each word, is found without a branch.
    std::uint64_t rows[2];
    Index* index;  // for more runs
  };

  static constexpr std::uint32_t kFirstTableRuns = 4;
  static constexpr std::size_t kCacheLineBytes = 64;
  static constexpr std::uint32_t kIndexedRuns = 64;  // up to here a row's bitmap is one word
  // Initial number of rows in an index: those of up to 16 runs, one more, and the place of no row.
  static constexpr std::uint32_t kFewPlaces = kRowRuns + 2;
  static constexpr std::uint64_t kFull = 0xff;
  static constexpr std::uint64_t kEachByte = 0x0101010101010101;

  static unsigned row_of(const ChunkRun& run) noexcept {
    return memory::row_of(run.size_class(), run.access());
  }
  // Position of the lowest set bit; `bits` is not 0, which saves a branch.
  static unsigned first_bit(std::uint64_t bits) noexcept {
    return static_cast<unsigned>(__builtin_ctzll(bits));
  }

  // An image: the number of runs (those after the last live chunk are left out), the live bitmap of
  // each, zero padding to 16 bytes, then the live chunks in order.
  static constexpr std::size_t header_bytes(std::size_t runs) noexcept {
    return (runs + 2) / 2 * 16;
  }

  // Returns the highest bit of each byte of `word` that equals the same byte of `bytes`. Above the
  // lowest such byte some bits may be wrong, because a carry changes higher bytes.
  static std::uint64_t bytes_equal(std::uint64_t word, std::uint64_t bytes) noexcept {
    const std::uint64_t other = word ^ bytes;
    return (other - kEachByte) & ~other & 0x80 * kEachByte;
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

  const ChunkRun* runs() const noexcept { return capacity_ == 1 ? &store_.first : table_; }
  ChunkRun* runs() noexcept { return capacity_ == 1 ? &store_.first : table_; }
  bool indexed() const noexcept { return capacity_ > kRowRuns; }
  Index& index() const noexcept { return *store_.index; }
  // In a heap without an index: notes that run `run_index` has room, or is full if `row` is kFull.
  void set_row(std::uint32_t run_index, std::uint64_t row) noexcept {
    std::uint64_t& rows = store_.rows[run_index % 2];
    const std::uint32_t shift = run_index / 2 * 8;
    rows = (rows & ~(kFull << shift)) | row << shift;
  }

  static void begin_layout(std::byte* layout, std::uint64_t runs) noexcept;

  // Runs up to the last one with a live chunk.
  std::uint32_t used_runs() const noexcept {
    if (capacity_ == 1) [[likely]] {
      return live_bytes() != 0 ? 1 : 0;
    }
    std::uint32_t count = run_count_;
    while (count > 0 && table_[count - 1].live_chunks() == 0) {
      --count;
    }
    return count;
  }

  std::size_t save_first(std::byte* image) const noexcept;
  void restore_first(const std::byte* image) noexcept;
  std::size_t save_all(std::byte* image) const noexcept;
  template <class Copy>
  std::size_t save_rows(std::byte* image, Copy&& copy_row) const noexcept;
  void restore_all(const std::byte* image) noexcept;
  std::size_t set_live(std::uint32_t run_index, std::uint64_t live) noexcept;

  void* allocate_small(unsigned size_class, Access access) noexcept;
  void* allocate_large(unsigned size_class, std::size_t alignment) noexcept;
  void* allocate_single(unsigned size_class, Access access) noexcept;
  void* allocate_in_new_run(unsigned size_class, std::size_t alignment, Access access) noexcept;
  void* serve_quickly(unsigned size_class, unsigned row) noexcept;
  void* serve_of_many(unsigned size_class, unsigned row) noexcept;
  std::byte* take_first(std::uint32_t run_index, unsigned size_class, bool& full) noexcept;
  bool put_back(std::uint32_t run, unsigned chunk, unsigned row, std::size_t bytes,
                const std::byte* address) noexcept;
  void* take_chunk(std::uint32_t run_index) noexcept;
  bool has_room_for_run(unsigned row) noexcept;
  template <typename Accept>
  std::uint32_t first_with_room(unsigned row, Accept&& accept) noexcept;
  std::uint32_t first_large(unsigned size_class, std::size_t alignment) noexcept;
  void note_room(std::uint32_t run_index, unsigned row) noexcept;
  void note_full(std::uint32_t run_index, unsigned row) noexcept;
  std::size_t runs_of(unsigned row) const noexcept;
  bool has_place(unsigned row) const noexcept;
  bool grow_table(std::uint32_t capacity, std::uint32_t places) noexcept;
  void publish_run(std::uint32_t run_index) noexcept;
  void release_table() noexcept;

  FreeStatus free_single(const std::byte* pointer) noexcept;
  Place find(const void* pointer) const noexcept;
  Place place_in(std::uint32_t run_index, const std::byte* pointer) const noexcept;

  Arena* arena_;
  ChunkRun* table_ = nullptr;  // for more than one run; in system memory, the index behind it
  Store store_;
  // The difference is the number of live bytes. With a single counter each operation would have to
  // wait for the store of the one before, which limits the speed of malloc and free.
  std::uint64_t served_bytes_ = 0;
  std::uint64_t freed_bytes_ = 0;  // 0 while capacity_ is 1
  std::uint32_t run_count_ = 0;
  std::uint32_t capacity_ = 1;
};

static_assert(sizeof(ChunkRun) == 16 && sizeof(LpHeap) == 56,
              "a million LPs have one of these each, and a pointer, on a cache line");

// For heaps with more than 16 runs, in system memory behind the runs: for each row that the heap
// uses, a bitmap of the runs with room. For up to 64 runs the bitmap is one word. For more runs, a
// second bitmap (`sum`) has the bits of all words that are not 0, and of some that have become 0.
struct LpHeap::Index {
  std::uint8_t at[kRows + 1];  // place of each row; 0 is the place of no row, and never has room
  std::uint32_t places;        // number of places
  std::uint32_t used;          // places in use, place 0 included
  std::uint32_t words;         // words of a row's bitmap
  std::uint32_t sums;          // words of its second bitmap; 0 if `words` is 1
  // `words` groups of words of the bitmaps, then `sums` groups of words of the second bitmaps, then
  // the numbers of runs. Each group has one word for each of the `places`.
  std::uint64_t room[];

  static std::size_t bytes(std::uint32_t places, std::uint32_t words, std::uint32_t sums) noexcept {
    return sizeof(Index) + places * std::size_t{words + sums + 1} * sizeof(std::uint64_t);
  }
  std::uint64_t& word(std::size_t place, std::size_t i) noexcept {
    return room[i * places + place];
  }
  std::uint64_t& sum(std::size_t place, std::size_t i) noexcept { return word(place, words + i); }
  std::uint64_t& runs(std::size_t place) noexcept { return word(place, words + sums); }

  void set(std::size_t place, std::uint32_t run) noexcept {
    word(place, run / 64) |= std::uint64_t{1} << run % 64;
    if (sums != 0) {
      sum(place, run / 4096) |= std::uint64_t{1} << run / 64 % 64;
    }
  }
  void clear(std::size_t place, std::uint32_t run) noexcept {
    word(place, run / 64) &= ~(std::uint64_t{1} << run % 64);
  }
};

[[gnu::always_inline]] inline void* LpHeap::allocate_quickly(std::size_t bytes) noexcept {
  // One comparison for both limits: capacity 1, and more than kIndexedRuns.
  if (bytes > detail::kTabledBytes || capacity_ - 2 > kIndexedRuns - 2) [[unlikely]] {
    return nullptr;
  }
  const unsigned size_class = class_of(bytes);
  return poison_slack(serve_quickly(size_class, size_class), bytes, chunk_bytes(size_class));
}

[[gnu::always_inline]] inline void* LpHeap::allocate_quickly_of_many(std::size_t bytes) noexcept {
  if (bytes > detail::kTabledBytes) [[unlikely]] {
    return nullptr;
  }
  const unsigned size_class = class_of(bytes);
  return poison_slack(serve_of_many(size_class, size_class), bytes, chunk_bytes(size_class));
}

// Serves from the first run of the row that has room, in a heap of 2 to 64 runs. There is no branch
// on whether the run becomes full.
[[gnu::always_inline]] inline void* LpHeap::serve_quickly(unsigned size_class,
                                                          unsigned row) noexcept {
  bool full = false;
  std::byte* address = nullptr;
  if (capacity_ > kRowRuns) {
    Index& index = *store_.index;
    std::uint64_t& room = index.room[index.at[row]];
    const std::uint64_t bits = room;
    if (bits == 0) [[unlikely]] {
      return nullptr;
    }
    const std::uint32_t run = first_bit(bits);
    address = take_first(run, size_class, full);
    room = bits ^ std::uint64_t{full} << run;
  } else {
    const std::uint64_t bytes = row * kEachByte;
    const std::uint64_t equal = bytes_equal(store_.rows[0], bytes) >> 7 |  // bits 8 i: run 2 i
                                bytes_equal(store_.rows[1], bytes) >> 6;   // 8 i + 1: run 2 i + 1
    if (equal == 0) [[unlikely]] {
      return nullptr;
    }
    const std::uint32_t bit = first_bit(equal);
    const std::uint32_t word = bit % 2;
    address = take_first(bit / 4 + word, size_class, full);
    store_.rows[word] |= ((std::uint64_t{full} << 8) - full) << (bit - word);
  }
  return address;
}

// The same in a heap of more runs. Serves only if the first word marked in the sum's first word
// (the first 64 words) still has a run with room.
[[gnu::always_inline]] inline void* LpHeap::serve_of_many(unsigned size_class,
                                                          unsigned row) noexcept {
  Index& index = *store_.index;
  const std::size_t place = index.at[row];
  const std::uint64_t sum = index.sum(place, 0);
  if (sum == 0) [[unlikely]] {
    return nullptr;
  }
  const std::uint32_t word = first_bit(sum);
  std::uint64_t& room = index.word(place, word);
  const std::uint64_t bits = room;
  if (bits == 0) [[unlikely]] {
    return nullptr;
  }
  const std::uint32_t bit = first_bit(bits);
  bool full = false;
  std::byte* const address = take_first(word * 64 + bit, size_class, full);
  room = bits ^ std::uint64_t{full} << bit;
  return address;
}

// Takes the first free chunk of a run; `full`: whether it was the last.
[[gnu::always_inline]] inline std::byte* LpHeap::take_first(std::uint32_t run_index,
                                                            unsigned size_class,
                                                            bool& full) noexcept {
  ChunkRun& run = table_[run_index];
  const std::size_t bytes = chunk_bytes(size_class);
  const std::uint64_t room = run.free_chunks;
  const std::uint64_t left = room & (room - 1);
  run.free_chunks = left;
  served_bytes_ += bytes;
  const unsigned chunk = first_bit(room);
  std::byte* const address = run.base() + chunk * bytes;
  if (address == nullptr) {
    __builtin_unreachable();  // so that the caller need not test it for nullptr
  }
  thread_context.last = {address, run_index, chunk};
  unpoison(address, bytes);
  full = left == 0;
  return address;
}

[[gnu::always_inline]] inline bool LpHeap::free_quickly(void* pointer) noexcept {
  const auto* const address = static_cast<const std::byte*>(pointer);
  if (capacity_ == 1) [[unlikely]] {
    return false;
  }
  // The thread's last allocation, if it is still valid: its heap may be gone, and another heap at
  // this address may have got its memory.
  if (const LastAllocation& last = thread_context.last;
      address == last.address && last.run < run_count_) {
    const ChunkRun& run = table_[last.run];
    const std::size_t bytes = chunk_bytes(run.size_class());
    if (run.base() + last.chunk * bytes == address) [[likely]] {
      return put_back(last.run, last.chunk, small_row_of(run.size_class(), run.access()), bytes,
                      address);
    }
  }
  const Area* const area = area_of(address);
  if (area == nullptr) [[unlikely]] {
    return false;
  }
  const auto offset = static_cast<std::size_t>(address - area->base);
  const std::size_t chunk = offset * area->reciprocal >> 32;
  const std::uint32_t run = area->run_at(chunk >> area->run_log);
  const std::size_t in_run = chunk & area->run_mask;
  // One comparison for both errors: a run of another heap, or no start of a chunk.
  if (run >= run_count_ || table_[run].base() + in_run * area->chunk_bytes != address)
      [[unlikely]] {
    return false;
  }
  return put_back(run, static_cast<unsigned>(in_run), area->row, area->chunk_bytes, address);
}

// There is no branch on whether the run was full before.
[[gnu::always_inline]] inline bool LpHeap::put_back(std::uint32_t run, unsigned chunk, unsigned row,
                                                    std::size_t bytes,
                                                    const std::byte* address) noexcept {
  const std::uint64_t room = table_[run].free_chunks;
  if ((room >> chunk & 1) != 0) [[unlikely]] {
    return false;
  }
  table_[run].free_chunks = room | std::uint64_t{1} << chunk;
  freed_bytes_ += bytes;
  if (capacity_ <= kRowRuns) {
    set_row(run, row);
  } else if (Index& index = *store_.index; capacity_ <= kIndexedRuns) {
    index.room[index.at[row]] |= std::uint64_t{1} << run;
  } else {
    index.set(index.at[row], run);
  }
  poison(address, bytes);
  return true;
}

// A heap without a table has at most one chunk: the first run of a heap has length 1.
inline std::size_t LpHeap::save_first(std::byte* image) const noexcept {
  const std::size_t bytes = live_bytes();
  const std::uint64_t header[2] = {bytes != 0 ? 1U : 0U, bytes != 0 ? 1U : 0U};
  std::memcpy(image, header, sizeof header);
  copy(image + sizeof header, store_.first.base(), bytes);
  return sizeof header + bytes;
}

inline void LpHeap::restore_first(const std::byte* image) noexcept {
  std::uint64_t header[2];
  std::memcpy(header, image, sizeof header);
  const bool live = header[0] != 0 && header[1] != 0;
  const std::size_t chunk = chunk_bytes(store_.first.size_class());
  store_.first.free_chunks = live || run_count_ == 0 ? 0 : 1;
  served_bytes_ = live ? chunk : 0;
  if (live) {
    unpoison(store_.first.base(), chunk);
    copy(store_.first.base(), image + sizeof header, chunk);
  } else if (run_count_ != 0) {
    poison(store_.first.base(), chunk);
  }
}

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_LP_HEAP_H
