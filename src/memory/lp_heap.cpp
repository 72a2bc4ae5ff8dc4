// SPDX-License-Identifier: Apache-2.0
//
// Allocation, search and the checkpoint of heaps with many runs; lp_heap.h says why.
#include "memory/lp_heap.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cassert>
#include <cstdlib>

#include "memory/region.h"

namespace orrery::memory {
namespace {
constexpr std::uint32_t kNone = ~std::uint32_t{0};
}  // namespace

// ---- Allocation
// ----------------------------------------------------------------------------------

// Notes that the run has room.
void LpHeap::note_room(std::uint32_t run_index, unsigned row) noexcept {
  if (indexed()) {
    index().set(index().at[row], run_index);
    return;
  }
  set_row(run_index, row);
}

void LpHeap::note_full(std::uint32_t run_index, unsigned row) noexcept {
  if (indexed()) {
    index().clear(index().at[row], run_index);
    return;
  }
  set_row(run_index, kFull);
}

// The first run of the row, in the order of creation, that has room and for which `accept`(run) is
// true; kNone if there is none. For heaps with an index.
template <typename Accept>
std::uint32_t LpHeap::first_with_room(unsigned row, Accept&& accept) noexcept {
  Index& index = this->index();
  const std::uint32_t place = index.at[row];
  const auto search = [&](std::uint32_t word) {
    for (std::uint64_t bits = index.word(place, word); bits != 0; bits &= bits - 1) {
      if (const std::uint32_t run = word * 64 + first_bit(bits); accept(runs()[run])) {
        return run;
      }
    }
    return kNone;
  };
  if (index.sums == 0) {
    return search(0);
  }
  for (std::uint32_t i = 0; i < index.sums; ++i) {
    for (std::uint64_t sum = index.sum(place, i); sum != 0; sum &= sum - 1) {
      const std::uint32_t word = i * 64 + first_bit(sum);
      if (const std::uint32_t run = search(word); run != kNone) {
        return run;
      }
      if (index.word(place, word) == 0) {
        index.sum(place, i) &= ~(std::uint64_t{1} << word % 64);
      }
    }
  }
  return kNone;
}

void* LpHeap::allocate(std::size_t bytes) noexcept {
  return allocate(bytes, kMinAlignmentBytes);
}

// The alignment of small chunks follows from their size. Large runs are aligned to a block, or to
// `alignment` if that is larger.
void* LpHeap::allocate(std::size_t bytes, std::size_t alignment, Access access) noexcept {
  if (bytes > kLargestRequestBytes || alignment > kLargestRequestBytes) {
    return nullptr;
  }
  const unsigned size_class = class_of_aligned(bytes, std::min(alignment, kBlockBytes));
  void* const pointer = is_large(size_class)
                            ? allocate_large(size_class, std::max(alignment, kBlockBytes))
                            : allocate_small(size_class, access);
  return poison_slack(pointer, bytes, chunk_bytes(size_class));
}

void* LpHeap::allocate_small(unsigned size_class, Access access) noexcept {
  if (capacity_ == 1) {
    return allocate_single(size_class, access);
  }
  const unsigned row = small_row_of(size_class, access);
  if (has_many_runs()) {
    const std::uint32_t run = first_with_room(row, [](const ChunkRun&) { return true; });
    return run != kNone ? take_chunk(run) : allocate_in_new_run(size_class, kBlockBytes, access);
  }
  void* const address = serve_quickly(size_class, row);
  return address != nullptr ? address : allocate_in_new_run(size_class, kBlockBytes, access);
}

// For a heap with at most one run, which has one chunk.
void* LpHeap::allocate_single(unsigned size_class, Access access) noexcept {
  const ChunkRun& first = store_.first;
  if (first.free_chunks == 0 || first.size_class() != size_class || first.access() != access) {
    return allocate_in_new_run(size_class, kBlockBytes, access);
  }
  return take_chunk(0);
}

void* LpHeap::allocate_large(unsigned size_class, std::size_t alignment) noexcept {
  const std::uint32_t run = first_large(size_class, alignment);
  return run != kNone ? take_chunk(run)
                      : allocate_in_new_run(size_class, alignment, Access::intensive);
}

// The first free run of a large class. Runs are aligned to a block, so only requests with a larger
// alignment may have to pass over runs.
std::uint32_t LpHeap::first_large(unsigned size_class, std::size_t alignment) noexcept {
  const auto fits = [=](const ChunkRun& run) {
    return run.free_chunks != 0 && run.size_class() == size_class &&
           reinterpret_cast<std::uintptr_t>(run.base()) % alignment == 0;
  };
  if (indexed()) {
    return first_with_room(memory::row_of(size_class, Access::intensive), fits);
  }
  const ChunkRun* const end = runs() + run_count_;
  const ChunkRun* const found = std::find_if(runs(), runs() + run_count_, fits);
  return found != end ? static_cast<std::uint32_t>(found - runs()) : kNone;
}

// Takes the first free chunk of a run that has room.
void* LpHeap::take_chunk(std::uint32_t run_index) noexcept {
  ChunkRun& run = runs()[run_index];
  const std::size_t bytes = chunk_bytes(run.size_class());
  std::byte* const address = run.base() + first_bit(run.free_chunks) * bytes;
  run.free_chunks &= run.free_chunks - 1;
  served_bytes_ += bytes;
  if (capacity_ != 1 && run.free_chunks == 0) {
    note_full(run_index, row_of(run));
  }
  unpoison(address, bytes);
  return address;
}

// ---- Runs
// ----------------------------------------------------------------------------------------

std::size_t LpHeap::runs_of(unsigned row) const noexcept {
  if (indexed()) {
    return index().runs(index().at[row]);
  }
  return static_cast<std::size_t>(std::count_if(
      runs(), runs() + run_count_, [row](const ChunkRun& run) { return row_of(run) == row; }));
}

// Whether a run of the row can be entered into the index.
bool LpHeap::has_place(unsigned row) const noexcept {
  return !indexed() || index().at[row] != 0 || index().used < index().places;
}

void* LpHeap::allocate_in_new_run(unsigned size_class, std::size_t alignment,
                                  Access access) noexcept {
  if (arena_ == nullptr) {
    return nullptr;
  }
  const PlatformMode platform;
  const unsigned row = memory::row_of(size_class, access);
  if (!has_room_for_run(row)) {
    return nullptr;
  }
  unsigned log = is_large(size_class) ? 0 : wanted_run_log(runs_of(row));
  std::byte* const base = is_large(size_class) ? arena_->take_large(size_class, alignment)
                                               : arena_->take_run(size_class, access, log);
  if (base == nullptr) {
    return nullptr;
  }
  const std::uint32_t run = run_count_++;
  runs()[run] = ChunkRun::make(base, size_class, access, log);
  if (capacity_ != 1) {
    publish_run(run);
  }
  return take_chunk(run);
}

// Makes room in the table, and in the index for the row.
bool LpHeap::has_room_for_run(unsigned row) noexcept {
  if (run_count_ == capacity_) {
    const std::uint32_t more = capacity_ == 1 ? kFirstTableRuns : capacity_ * 2;
    if (!grow_table(more, indexed() ? index().places : kFewPlaces)) {
      return false;
    }
  }
  return has_place(row) || grow_table(capacity_, std::min(index().places * 2, kRows + 1));
}

bool LpHeap::restore_run(const ChunkRun& run) noexcept {
  const PlatformMode platform;
  if ((run_count_ > 0 || capacity_ > 1) && !has_room_for_run(row_of(run))) {
    return false;
  }
  const std::uint32_t i = run_count_++;
  runs()[i] = run;
  if (capacity_ != 1) {
    publish_run(i);
  }
  served_bytes_ += set_live(i, run.live_chunks());
  return true;
}

// Makes a table for `capacity` runs and, if these are many, an index with `places` places.
bool LpHeap::grow_table(std::uint32_t capacity, std::uint32_t places) noexcept {
  thread_context.heap_grew = true;
  const bool indexed = capacity > kRowRuns;
  const std::uint32_t words = (capacity + 63) / 64;
  const std::uint32_t sums = words == 1 ? 0 : (words + 63) / 64;
  const std::size_t bytes =
      capacity * sizeof(ChunkRun) + (indexed ? Index::bytes(places, words, sums) : 0);
  auto* const table = static_cast<ChunkRun*>(std::calloc(1, bytes));
  if (table == nullptr) {
    return false;
  }
  std::copy_n(runs(), run_count_, table);
  if (capacity_ != 1) {
    release_table();
  }
  table_ = table;
  capacity_ = capacity;
  if (indexed) {
    store_.index = reinterpret_cast<Index*>(table + capacity);
    index().places = places;
    index().used = 1;
    index().words = words;
    index().sums = sums;
  } else {
    std::fill_n(store_.rows, std::size(store_.rows), ~std::uint64_t{0});
  }
  for (std::uint32_t run = 0; run < run_count_; ++run) {
    publish_run(run);
  }
  return true;
}

void LpHeap::release_table() noexcept {
  const PlatformMode platform;
  std::free(table_);
}

// Enters a run into the index, and its number into the slot table of its area.
void LpHeap::publish_run(std::uint32_t run_index) noexcept {
  const ChunkRun& run = table_[run_index];
  const unsigned row = row_of(run);
  if (indexed()) {
    std::uint8_t& place = index().at[row];
    if (place == 0) {
      place = static_cast<std::uint8_t>(index().used++);
    }
    ++index().runs(place);
  }
  if (run.free_chunks != 0) {
    note_room(run_index, row);
  }
  Area& area = *area_of(run.base());
  area.set_run_at(area.slot_of(run.base()), run_index);
}

// ---- Search by address and free
// ------------------------------------------------------------------

// The cases that free_quickly leaves: a heap of one run, or an invalid pointer.
FreeStatus LpHeap::free_slowly(void* pointer) noexcept {
  if (capacity_ == 1) {
    return free_single(static_cast<const std::byte*>(pointer));
  }
  const Place place = find(pointer);
  if (place.run == nullptr) {
    return FreeStatus::foreign;
  }
  return place.at_start ? FreeStatus::not_live : FreeStatus::not_start;
}

FreeStatus LpHeap::free_single(const std::byte* pointer) noexcept {
  ChunkRun& first = store_.first;
  const std::size_t bytes = chunk_bytes(first.size_class());
  if (run_count_ == 0 || pointer < first.base() || pointer >= first.base() + bytes) {
    return FreeStatus::foreign;
  }
  if (pointer != first.base()) {
    return FreeStatus::not_start;
  }
  if (first.free_chunks != 0) {
    return FreeStatus::not_live;
  }
  first.free_chunks = 1;
  served_bytes_ = 0;
  poison(pointer, bytes);
  return FreeStatus::ok;
}

LpHeap::Place LpHeap::place_in(std::uint32_t run_index, const std::byte* pointer) const noexcept {
  ChunkRun* const run = const_cast<LpHeap*>(this)->runs() + run_index;
  const unsigned size_class = run->size_class();
  const std::size_t bytes = chunk_bytes(size_class);
  const auto offset = static_cast<std::size_t>(pointer - run->base());
  if (offset >= bytes << run->log()) {
    return {};
  }
  const unsigned chunk = chunk_index(size_class, offset);
  return {run, chunk, chunk * bytes == offset};
}

LpHeap::Place LpHeap::find(const void* pointer) const noexcept {
  const auto* const address = static_cast<const std::byte*>(pointer);
  if (!is_lp_pointer(pointer)) {
    return {};
  }
  if (const Area* const area = area_of(pointer); area != nullptr && capacity_ != 1) {
    const std::uint32_t i = area->run_at(area->slot_of(pointer));
    return i < run_count_ ? place_in(i, address) : Place{};
  }
  // A heap of one run, or a pointer into a large run behind its first page.
  for (std::uint32_t i = 0; i < run_count_; ++i) {
    if (const Place place = place_in(i, address); place.run != nullptr) {
      return place;
    }
  }
  return {};
}

bool LpHeap::owns(const void* pointer) const noexcept {
  return find(pointer).run != nullptr;
}

std::uint64_t LpHeap::chunk_number(const void* pointer) const noexcept {
  const Place place = find(pointer);
  if (!place.at_start) {
    return kNoChunk;
  }
  return static_cast<std::uint64_t>(place.run - runs()) << kMostLog | place.chunk;
}

void* LpHeap::live_chunk(std::uint64_t number) const noexcept {
  const std::uint64_t run_index = number >> kMostLog;
  const auto chunk = static_cast<unsigned>(number & ((1U << kMostLog) - 1));
  if (run_index >= run_count_) {
    return nullptr;
  }
  const ChunkRun& run = runs()[run_index];
  const bool live = (run.live_chunks() >> chunk & 1) != 0;
  return live ? run.base() + chunk * chunk_bytes(run.size_class()) : nullptr;
}

std::size_t LpHeap::usable_size(const void* pointer) const noexcept {
  const Place place = find(pointer);
  const bool live =
      place.run != nullptr && place.at_start && (place.run->free_chunks >> place.chunk & 1) == 0;
  return live ? chunk_bytes(place.run->size_class()) : 0;
}

void* LpHeap::reallocate(void* pointer, std::size_t bytes) noexcept {
  const std::size_t old_bytes = usable_size(pointer);
  assert(old_bytes != 0 && "realloc of memory that is not live in this heap");
  if (bytes > kLargestRequestBytes) {
    return nullptr;
  }
  if (chunk_bytes(class_of(bytes)) == old_bytes) {
    unpoison(pointer, old_bytes);
    return poison_slack(pointer, bytes, old_bytes);
  }
  void* const moved = allocate(bytes, kMinAlignmentBytes, find(pointer).run->access());
  if (moved != nullptr) {
    copy_poisoned(moved, pointer, std::min(old_bytes, bytes));
    deallocate(pointer);
  }
  return moved;
}

// ---- Checkpoints
// ---------------------------------------------------------------------------------

// Writes the number of runs and the padding, so that equal states give equal images.
void LpHeap::begin_layout(std::byte* layout, std::uint64_t runs) noexcept {
  const std::uint64_t padding = 0;
  std::memcpy(layout + header_bytes(runs) - sizeof padding, &padding, sizeof padding);
  std::memcpy(layout, &runs, sizeof runs);
}

void LpHeap::save_layout(std::byte* layout) const noexcept {
  const std::uint64_t count = used_runs();
  begin_layout(layout, count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t live = runs()[i].live_chunks();
    std::memcpy(layout + (1 + i) * sizeof live, &live, sizeof live);
  }
}

// One pass over the runs, since small LPs are saved every few events. Most runs have one row of
// live chunks, at their start.
template <class Copy>
std::size_t LpHeap::save_rows(std::byte* image, Copy&& copy_row) const noexcept {
  const std::uint32_t count = used_runs();
  begin_layout(image, count);
  std::byte* words = image + sizeof(std::uint64_t);
  std::byte* chunks = image + header_bytes(count);
  const ChunkRun* run = runs();
  for (const ChunkRun* const end = run + count; run != end; ++run, words += sizeof(std::uint64_t)) {
    const std::uint64_t live = run->live_chunks();
    std::memcpy(words, &live, sizeof live);
    if (live == 0) continue;
    const std::size_t chunk = chunk_bytes(run->size_class());
    const auto save_row = [&](unsigned begin, unsigned chunk_count) {
      copy_row(chunks, run->base() + begin * chunk, chunk_count * chunk);
      chunks += chunk_count * chunk;
    };
    const auto at_start = static_cast<unsigned>(std::countr_one(live));
    if (at_start == 64 || live >> at_start == 0) {
      save_row(0, at_start);
    } else {
      for_each_row(live, save_row);
    }
  }
  return static_cast<std::size_t>(chunks - image);
}

std::size_t LpHeap::save_all(std::byte* image) const noexcept {
  return save_rows(image, [](std::byte* to, const std::byte* from, std::size_t bytes) {
    copy(to, from, bytes);
  });
}

std::size_t LpHeap::stream(std::byte* image) const noexcept {
#if defined(__x86_64__)
  if (kPoisons) return save(image);  // the sanitizer would report the ends of chunks
  constexpr auto stream_row = [](std::byte* to, const std::byte* from, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += sizeof(__m128i))
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
  };
  const std::size_t bytes = save_rows(image, stream_row);
  // Another thread may get the image by a release store, which does not order these stores.
  _mm_sfence();
  return bytes;
#else
  return save(image);
#endif
}

void LpHeap::restore_layout(const std::byte* layout) noexcept {
  std::uint64_t count = 0;
  std::memcpy(&count, layout, sizeof count);
  assert(count <= run_count_ && "a layout of another heap");
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < run_count_; ++i) {
    std::uint64_t live = 0;
    if (i < count) {
      std::memcpy(&live, layout + (1 + i) * sizeof live, sizeof live);
    }
    bytes += set_live(i, live);
  }
  served_bytes_ = bytes;
  freed_bytes_ = 0;
}

void LpHeap::restore_all(const std::byte* image) noexcept {
  restore_layout(image);
  const std::byte* chunks = image + layout_bytes();
  for_each_live([&](const std::byte* begin, std::size_t bytes, std::size_t) {
    copy(const_cast<std::byte*>(begin), chunks, bytes);
    chunks += bytes;
  });
}

// Makes exactly these chunks of a run live; returns their bytes.
std::size_t LpHeap::set_live(std::uint32_t run_index, std::uint64_t live) noexcept {
  ChunkRun& run = runs()[run_index];
  const std::size_t bytes = chunk_bytes(run.size_class());
  poison(run.base(), bytes << run.log());
  for_each_row(live, [&](unsigned begin, unsigned count) {
    unpoison(run.base() + begin * bytes, count * bytes);
  });
  run.free_chunks = ChunkRun::mask(run.log()) & ~live;
  if (capacity_ != 1) {
    if (run.free_chunks != 0) {
      note_room(run_index, row_of(run));
    } else {
      note_full(run_index, row_of(run));
    }
  }
  return bytes * static_cast<unsigned>(std::popcount(live));
}

}  // namespace orrery::memory
