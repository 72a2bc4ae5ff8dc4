// SPDX-License-Identifier: Apache-2.0
//
// Allocation, search and the checkpoint of heaps with many runs; lp_heap.h tells why.
#include "memory/lp_heap.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>

#include "memory/region.h"

namespace orrery::memory {

// ---- Allocation
// ----------------------------------------------------------------------------------

// The first run with room in the words from `from` on, or ~0. The hint follows.
std::uint32_t LpHeap::Index::scan(std::uint32_t at, std::uint32_t from) noexcept {
  for (std::uint32_t i = from; i < words; ++i) {
    if (const std::uint64_t bits = word(at, i); bits != 0) {
      hints[at].word = i;
      return i * 64 + first_bit(bits);
    }
  }
  hints[at].word = words - 1;
  return ~std::uint32_t{0};
}

// More than the table of classes covers.
void* LpHeap::allocate_odd(std::size_t bytes) noexcept {
  return allocate(bytes, kMinAlignmentBytes);
}

// Chunks of small classes are aligned as their size is, large runs to a block or as asked for.
void* LpHeap::allocate(std::size_t bytes, std::size_t alignment, Access access) noexcept {
  if (bytes > kLargestRequestBytes || alignment > kLargestRequestBytes) {
    return nullptr;
  }
  const unsigned size_class = class_of_aligned(bytes, std::min(alignment, kBlockBytes));
  return is_large(size_class) ? allocate_large(size_class, std::max(alignment, kBlockBytes))
                              : allocate_small(size_class, access);
}

// In a heap with at most one run, which has one chunk.
void* LpHeap::allocate_single(unsigned size_class, Access access) noexcept {
  Run& first = store_.first;
  if (first.free_chunks == 0 || first.size_class() != size_class || first.access() != access) {
    return allocate_in_new_run(size_class, kBlockBytes, access);
  }
  first.free_chunks = 0;
  live_bytes_ = chunk_bytes(size_class);
  unpoison(first.base(), live_bytes_);
  return first.base();
}

// Few runs are large; all are looked at.
void* LpHeap::allocate_large(unsigned size_class, std::size_t alignment) noexcept {
  Run* const list = runs();
  for (std::uint32_t i = 0; i < run_count_; ++i) {
    if (list[i].free_chunks != 0 && list[i].size_class() == size_class &&
        reinterpret_cast<std::uintptr_t>(list[i].base()) % alignment == 0) {
      return capacity_ == 1 ? allocate_single(size_class, list[i].access())
                            : take_chunk(*store_.table, list[i], size_class);
    }
  }
  return allocate_in_new_run(size_class, alignment, Access::intensive);
}

// ---- Runs
// ----------------------------------------------------------------------------------------

std::size_t LpHeap::runs_of(unsigned row) const noexcept {
  if (indexed()) {
    const std::uint32_t at = index().row_at[row];
    return at == 0 ? 0 : index().hints[at].runs;
  }
  return static_cast<std::size_t>(std::count_if(
      runs(), runs() + run_count_, [&](const Run& run) { return row_of(run) == row; }));
}

void* LpHeap::allocate_in_new_run(unsigned size_class, std::size_t alignment,
                                  Access access) noexcept {
  const PlatformMode platform;
  if (run_count_ == capacity_ && !grow_table()) {
    return nullptr;
  }
  unsigned log = is_large(size_class) ? 0 : wanted_run_log(runs_of(row_of(size_class, access)));
  std::byte* const base = is_large(size_class) ? arena_->take_large(size_class, alignment)
                                               : arena_->take_run(size_class, access, log);
  if (base == nullptr) {
    return nullptr;
  }
  const std::uint32_t run = run_count_++;
  runs()[run] = Run::make(base, size_class, access, log);
  if (capacity_ == 1) {
    return allocate_single(size_class, access);
  }
  publish_run(run);
  return take_chunk(*store_.table, store_.table->runs[run], size_class);
}

bool LpHeap::grow_table() noexcept {
  thread_context.heap_grew = true;
  const std::uint32_t capacity = capacity_ == 1 ? kWordRuns / 2 : capacity_ * 2;
  const std::uint32_t words = (capacity + 63) / 64;
  const std::uint32_t stride = std::min(capacity, std::uint32_t{kRows}) + 1;
  std::size_t bytes = sizeof(Table) + capacity * sizeof(Run);
  if (capacity > kWordRuns) {
    bytes += sizeof(Index) + stride * (sizeof(Index::Hint) + words * sizeof(std::uint64_t));
  }
  auto* const table = static_cast<Table*>(std::calloc(1, bytes));
  if (table == nullptr) {
    return false;
  }
  table->rows = ~std::uint64_t{0};
  std::copy_n(runs(), run_count_, table->runs);
  if (capacity_ != 1) {
    release_table();
  }
  store_.table = table;
  capacity_ = capacity;
  if (indexed()) {
    index().stride = stride;
    index().words = words;
    index().rows = 1;
  }
  for (std::uint32_t run = 0; run < run_count_; ++run) {
    publish_run(run);
  }
  return true;
}

void LpHeap::release_table() noexcept {
  const PlatformMode platform;
  std::free(store_.table);
}

// Enters a run into the table and notes its number where a pointer into it leads.
void LpHeap::publish_run(std::uint32_t run_index) noexcept {
  Table& table = *store_.table;
  const Run& run = table.runs[run_index];
  const unsigned row = row_of(run);
  if (indexed()) {
    Index& rows = index();
    if (rows.row_at[row] == 0) {
      rows.row_at[row] = static_cast<std::uint8_t>(rows.rows++);
    }
    ++rows.hints[rows.row_at[row]].runs;
  }
  if (run.free_chunks != 0) {
    set_room(table, run, row);
  }
  Area& area = *area_of(run.base());
  const auto offset = static_cast<std::size_t>(run.base() - area.base);
  const std::size_t slot = offset * area.reciprocal >> 32 >> area.run_log;
  // Relaxed: see deallocate_lp_pointer.
  std::atomic_ref(area.slots[slot]).store(run_index, std::memory_order_relaxed);
}

// ---- Search by address and free
// ------------------------------------------------------------------

FreeStatus LpHeap::deallocate_single(const std::byte* pointer) noexcept {
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
  live_bytes_ = 0;
  poison(pointer, bytes);
  return FreeStatus::ok;
}

// What is wrong with a pointer that is not the start of a chunk of this heap.
FreeStatus LpHeap::explain(const void* pointer) const noexcept {
  return find(pointer).run != nullptr ? FreeStatus::not_start : FreeStatus::foreign;
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
    const auto offset = static_cast<std::size_t>(address - area->base);
    const std::size_t slot = offset * area->reciprocal >> 32 >> area->run_log;
    // Relaxed: see deallocate_lp_pointer.
    const std::uint32_t i = std::atomic_ref(const_cast<std::uint32_t&>(area->slots[slot]))
                                .load(std::memory_order_relaxed);
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
    return pointer;
  }
  void* const moved = allocate(bytes, kMinAlignmentBytes, find(pointer).run->access());
  if (moved != nullptr) {
    std::memcpy(moved, pointer, std::min(old_bytes, bytes));
    deallocate(pointer);
  }
  return moved;
}

// ---- Checkpoints
// ---------------------------------------------------------------------------------

std::size_t LpHeap::save_all(std::byte* image) const noexcept {
  const std::uint64_t count = used_runs();
  std::memcpy(image, &count, sizeof count);
  std::byte* bitmap = image + sizeof count;
  std::byte* chunks = image + header_bytes(count);
  if (count % 2 == 0) {
    std::memset(chunks - sizeof count, 0, sizeof count);  // the padding: equal states, equal images
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const Run& run = store_.table->runs[i];
    const std::uint64_t live = run.live_chunks();
    std::memcpy(bitmap, &live, sizeof live);
    bitmap += sizeof live;
    const std::size_t bytes = chunk_bytes(run.size_class());
    for_each_row(live, [&](unsigned begin, unsigned row) {
      copy(chunks, run.base() + begin * bytes, row * bytes);
      chunks += row * bytes;
    });
  }
  return static_cast<std::size_t>(chunks - image);
}

void LpHeap::restore_all(const std::byte* image) noexcept {
  std::uint64_t count = 0;
  std::memcpy(&count, image, sizeof count);
  assert(count <= run_count_ && "an image of another heap");
  const std::byte* chunks = image + header_bytes(count);
  live_bytes_ = 0;
  for (std::uint32_t i = 0; i < run_count_; ++i) {
    std::uint64_t live = 0;
    if (i < count) {
      std::memcpy(&live, image + (1 + i) * sizeof live, sizeof live);
    }
    const std::size_t copied = restore_run(i, live, chunks);
    chunks += copied;
    live_bytes_ += copied;
  }
}

// Returns how many bytes of `chunks` the run took.
std::size_t LpHeap::restore_run(std::uint32_t run_index, std::uint64_t live,
                                const std::byte* chunks) noexcept {
  Run& run = store_.table->runs[run_index];
  const std::size_t bytes = chunk_bytes(run.size_class());
  poison(run.base(), bytes << run.log());
  std::size_t copied = 0;
  for_each_row(live, [&](unsigned begin, unsigned count) {
    unpoison(run.base() + begin * bytes, count * bytes);
    copy(run.base() + begin * bytes, chunks + copied, count * bytes);
    copied += count * bytes;
  });
  run.free_chunks = Run::mask(run.log()) & ~live;
  set_room(*store_.table, run, row_of(run));
  clear_room(*store_.table, run, run.free_chunks == 0);
  return copied;
}

}  // namespace orrery::memory
