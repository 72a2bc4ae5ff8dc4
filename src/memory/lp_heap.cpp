// SPDX-License-Identifier: Apache-2.0
//
// Allocation, search and the checkpoint of heaps with many runs; lp_heap.h tells why.
#include "memory/lp_heap.h"

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
  if (!indexed()) {
    std::uint64_t& rows = store_.tables.table->rows;
    rows = (rows & ~(kFull << 8 * run_index)) | std::uint64_t{row} << 8 * run_index;
    return;
  }
  const std::uint32_t place = index().at[row];
  index().word(place, run_index / 64) |= std::uint64_t{1} << run_index % 64;
  index().row(place).first = std::min(index().row(place).first, run_index / 64);
}

void LpHeap::note_full(std::uint32_t run_index, unsigned row) noexcept {
  if (!indexed()) {
    store_.tables.table->rows |= kFull << 8 * run_index;
    return;
  }
  index().word(index().at[row], run_index / 64) &= ~(std::uint64_t{1} << run_index % 64);
}

// The first run of the row that has room, in a heap of more than 64 runs; kNone if none has.
std::uint32_t LpHeap::first_with_room(unsigned row) noexcept {
  const std::uint32_t place = index().at[row];
  std::uint32_t& first = index().row(place).first;
  for (; first < index().words; ++first) {
    if (const std::uint64_t bits = index().word(place, first); bits != 0) {
      return first * 64 + static_cast<std::uint32_t>(first_bit(bits));
    }
  }
  first = index().words - 1;
  return kNone;
}

void* LpHeap::allocate(std::size_t bytes) noexcept {
  return allocate(bytes, kMinAlignmentBytes);
}

// Chunks of small classes are aligned as their size is, large runs to a block or as asked for.
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
  const unsigned row = memory::row_of(size_class, access);
  if (void* const address = serve_quickly(size_class, row)) {
    return address;
  }
  const std::uint32_t run = capacity_ > kIndexedRuns ? first_with_room(row) : kNone;
  return run != kNone ? take_chunk(run) : allocate_in_new_run(size_class, kBlockBytes, access);
}

// In a heap with at most one run, which has one chunk.
void* LpHeap::allocate_single(unsigned size_class, Access access) noexcept {
  const Run& first = store_.first;
  if (first.free_chunks == 0 || first.size_class() != size_class || first.access() != access) {
    return allocate_in_new_run(size_class, kBlockBytes, access);
  }
  return take_chunk(0);
}

// Few runs are large; all are looked at.
void* LpHeap::allocate_large(unsigned size_class, std::size_t alignment) noexcept {
  const Run* const list = runs();
  for (std::uint32_t i = 0; i < run_count_; ++i) {
    if (list[i].free_chunks != 0 && list[i].size_class() == size_class &&
        reinterpret_cast<std::uintptr_t>(list[i].base()) % alignment == 0) {
      return take_chunk(i);
    }
  }
  return allocate_in_new_run(size_class, alignment, Access::intensive);
}

// The first chunk with room in a run that has room.
void* LpHeap::take_chunk(std::uint32_t run_index) noexcept {
  Run& run = runs()[run_index];
  const std::size_t bytes = chunk_bytes(run.size_class());
  std::byte* const address = run.base() + first_bit(run.free_chunks) * bytes;
  run.free_chunks &= run.free_chunks - 1;
  if (capacity_ == 1) {
    first_bytes_ = bytes;
  } else {
    store_.tables.table->served_bytes += bytes;
    if (run.free_chunks == 0) {
      note_full(run_index, row_of(run));
    }
  }
  unpoison(address, bytes);
  return address;
}

// ---- Runs
// ----------------------------------------------------------------------------------------

std::size_t LpHeap::runs_of(unsigned row) const noexcept {
  if (indexed()) {
    return index().row(index().at[row]).runs;
  }
  return static_cast<std::size_t>(std::count_if(
      runs(), runs() + run_count_, [row](const Run& run) { return row_of(run) == row; }));
}

void* LpHeap::allocate_in_new_run(unsigned size_class, std::size_t alignment,
                                  Access access) noexcept {
  if (arena_ == nullptr) {
    return nullptr;
  }
  const PlatformMode platform;
  if (run_count_ == capacity_ && !grow_table()) {
    return nullptr;
  }
  unsigned log =
      is_large(size_class) ? 0 : wanted_run_log(runs_of(memory::row_of(size_class, access)));
  std::byte* const base = is_large(size_class) ? arena_->take_large(size_class, alignment)
                                               : arena_->take_run(size_class, access, log);
  if (base == nullptr) {
    return nullptr;
  }
  const std::uint32_t run = run_count_++;
  runs()[run] = Run::make(base, size_class, access, log);
  if (capacity_ != 1) {
    publish_run(run);
  }
  return take_chunk(run);
}

bool LpHeap::grow_table() noexcept {
  thread_context.heap_grew = true;
  const std::uint32_t capacity = capacity_ == 1 ? kWordRuns / 2 : capacity_ * 2;
  const std::uint32_t words = (capacity + 63) / 64;
  const std::uint32_t places = std::min(capacity, std::uint32_t{kRows}) + 1;
  std::size_t bytes = sizeof(Table) + capacity * sizeof(Run);
  if (capacity > kWordRuns) {
    bytes += sizeof(Index) + places * (sizeof(Index::Row) + words * sizeof(std::uint64_t));
  }
  auto* const table = static_cast<Table*>(std::calloc(1, bytes));
  if (table == nullptr) {
    return false;
  }
  table->rows = ~std::uint64_t{0};
  table->served_bytes = live_bytes();
  std::copy_n(runs(), run_count_, table->runs);
  if (capacity_ != 1) {
    release_table();
  }
  auto* const behind = reinterpret_cast<Index*>(table->runs + capacity);
  store_.tables = {table, capacity > kWordRuns ? behind : nullptr};
  capacity_ = capacity;
  if (indexed()) {
    index().places = places;
    index().words = words;
    index().used = 1;
  }
  for (std::uint32_t run = 0; run < run_count_; ++run) {
    publish_run(run);
  }
  return true;
}

void LpHeap::release_table() noexcept {
  const PlatformMode platform;
  std::free(store_.tables.table);
}

// Enters a run into the table and notes its number where a pointer into it leads.
void LpHeap::publish_run(std::uint32_t run_index) noexcept {
  const Run& run = store_.tables.table->runs[run_index];
  const unsigned row = row_of(run);
  if (indexed()) {
    std::uint8_t& place = index().at[row];
    if (place == 0) {
      place = static_cast<std::uint8_t>(index().used++);
    }
    ++index().row(place).runs;
  }
  if (run.free_chunks != 0) {
    note_room(run_index, row);
  }
  Area& area = *area_of(run.base());
  area.set_run_at(area.slot_of(run.base()), run_index);
}

// ---- Search by address and free
// ------------------------------------------------------------------

// What free_quickly would not do: a heap of one run or of very many, or a pointer with which
// something is wrong.
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
  Run& first = store_.first;
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
  first_bytes_ = 0;
  poison(pointer, bytes);
  return FreeStatus::ok;
}

LpHeap::Place LpHeap::place_in(std::uint32_t run_index, const std::byte* pointer) const noexcept {
  Run* const run = const_cast<LpHeap*>(this)->runs() + run_index;
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
  // One run, or the inside of a large one.
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

void LpHeap::save_layout(std::byte* layout) const noexcept {
  const std::uint64_t count = used_runs();
  std::memcpy(layout, &count, sizeof count);
  if (count % 2 == 0) {
    // The padding: equal states, equal images.
    std::memset(layout + header_bytes(count) - sizeof count, 0, sizeof count);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t live = runs()[i].live_chunks();
    std::memcpy(layout + (1 + i) * sizeof live, &live, sizeof live);
  }
}

std::size_t LpHeap::save_all(std::byte* image) const noexcept {
  save_layout(image);
  std::byte* chunks = image + layout_bytes();
  for_each_live([&](const std::byte* begin, std::size_t bytes, std::size_t) {
    copy(chunks, begin, bytes);
    chunks += bytes;
  });
  return static_cast<std::size_t>(chunks - image);
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
  if (capacity_ == 1) {
    first_bytes_ = bytes;
    return;
  }
  store_.tables.table->served_bytes = bytes;
  store_.tables.table->freed_bytes = 0;
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
  Run& run = runs()[run_index];
  const std::size_t bytes = chunk_bytes(run.size_class());
  poison(run.base(), bytes << run.log());
  for_each_row(live, [&](unsigned begin, unsigned count) {
    unpoison(run.base() + begin * bytes, count * bytes);
  });
  run.free_chunks = Run::mask(run.log()) & ~live;
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
