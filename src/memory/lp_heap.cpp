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
constexpr unsigned kRows = kSmallClasses + 1;  // large classes are few and share the last row

constexpr unsigned row_of(unsigned size_class) noexcept {
  return is_large(size_class) ? kSmallClasses : size_class;
}

unsigned first_bit(std::uint64_t bits) noexcept {  // bits != 0, which spares a branch
  return static_cast<unsigned>(__builtin_ctzll(bits));
}

}  // namespace

// For each row, a bitmap of the runs with room. Words of one position lie side by side, so that a
// heap with up to 64 runs has one word a row. Updates are free of branches: whether a chunk is the
// last or the first of its run is what a processor cannot predict.
struct LpHeap::Index {
  std::uint32_t words;
  std::uint32_t recent;        // run of the last allocation: what is freed soon is found soon
  std::uint32_t hints[kRows];  // no word before it has a bit
  std::uint32_t run_counts[kRows];
  std::uint64_t room[];

  std::uint64_t& word(unsigned row, std::uint32_t i) noexcept {
    return room[std::size_t{i} * kRows + row];
  }
  void set_room(unsigned row, std::uint32_t run) noexcept {
    word(row, run / 64) |= std::uint64_t{1} << run % 64;
    hints[row] = std::min(hints[row], run / 64);
  }
  // Clears the run's bit if it has no room.
  void update_room(unsigned row, std::uint32_t run, bool has_room) noexcept {
    word(row, run / 64) &= ~(std::uint64_t{!has_room} << run % 64);
  }
  // The first run with room, or kNone.
  std::uint32_t first_room(unsigned row) noexcept {
    const std::uint32_t hint = hints[row];
    const std::uint64_t bits = word(row, hint);
    if (bits != 0) [[likely]] {
      return hint * 64 + first_bit(bits);
    }
    const std::uint32_t run = scan(row, hint + 1);
    hints[row] = run == kNone ? words - 1 : run / 64;
    return run;
  }
  // The first run with room from `run` on, or kNone.
  std::uint32_t next_room(unsigned row, std::uint32_t run) noexcept {
    if (run / 64 >= words) {
      return kNone;
    }
    const std::uint64_t bits = word(row, run / 64) & ~std::uint64_t{0} << run % 64;
    return bits != 0 ? run / 64 * 64 + first_bit(bits) : scan(row, run / 64 + 1);
  }
  std::uint32_t scan(unsigned row, std::uint32_t from) noexcept {
    for (std::uint32_t i = from; i < words; ++i) {
      if (const std::uint64_t bits = word(row, i); bits != 0) {
        return i * 64 + first_bit(bits);
      }
    }
    return kNone;
  }
};

// ---- Allocation
// ----------------------------------------------------------------------------------

void* LpHeap::allocate(std::size_t bytes) noexcept {
  if (bytes > kLargestSmallBytes) [[unlikely]] {
    return allocate(bytes, kBlockBytes);
  }
  return poison_slack(allocate_small(class_of(bytes)), bytes, chunk_bytes(class_of(bytes)));
}

// Chunks of small classes are aligned as their size is, large runs to a block or as asked for.
void* LpHeap::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > kLargestRequestBytes || alignment > kLargestRequestBytes) {
    return nullptr;
  }
  const unsigned size_class = class_of_aligned(bytes, std::min(alignment, kBlockBytes));
  void* const pointer = is_large(size_class)
                            ? allocate_large(size_class, std::max(alignment, kBlockBytes))
                            : allocate_small(size_class);
  return poison_slack(pointer, bytes, chunk_bytes(size_class));
}

inline void* LpHeap::allocate_small(unsigned size_class) noexcept {
  if (!indexed()) {
    return allocate_linear(size_class);
  }
  const std::uint32_t run = store_.lists.index->first_room(size_class);
  return run != kNone ? take_chunk(run) : allocate_in_new_run(size_class, kBlockBytes);
}

// The first run of the class that has room.
inline void* LpHeap::allocate_linear(unsigned size_class) noexcept {
  const Run* const list = runs();
  for (std::uint32_t i = 0; i < run_count_; ++i) {
    if (list[i].free_chunks != 0 && list[i].size_class() == size_class) {
      return take_chunk(i);
    }
  }
  return allocate_in_new_run(size_class, kBlockBytes);
}

void* LpHeap::allocate_large(unsigned size_class, std::size_t alignment) noexcept {
  const Run* const list = runs();
  const auto skip_full = [&](std::uint32_t i) {  // few runs are all looked at
    return indexed() ? store_.lists.index->next_room(kSmallClasses, i) : i;
  };
  for (std::uint32_t i = skip_full(0); i < run_count_; i = skip_full(i + 1)) {
    if (list[i].free_chunks != 0 && list[i].size_class() == size_class &&
        reinterpret_cast<std::uintptr_t>(list[i].base()) % alignment == 0) {
      return take_chunk(i);
    }
  }
  return allocate_in_new_run(size_class, alignment);
}

inline void* LpHeap::take_chunk(std::uint32_t run_index) noexcept {
  Run& run = runs()[run_index];
  const unsigned size_class = run.size_class();
  const std::size_t bytes = chunk_bytes(size_class);
  const std::uint64_t room = run.free_chunks;
  run.free_chunks = room & (room - 1);
  live_bytes_ += bytes;
  if (indexed()) {
    store_.lists.index->recent = run_index;
    store_.lists.index->update_room(row_of(size_class), run_index, (room & (room - 1)) != 0);
  }
  std::byte* const address = run.base() + first_bit(room) * bytes;
  unpoison(address, bytes);
  return address;
}

// ---- Runs
// ----------------------------------------------------------------------------------------

std::size_t LpHeap::runs_of(unsigned size_class) const noexcept {
  if (indexed()) {
    return store_.lists.index->run_counts[row_of(size_class)];
  }
  return static_cast<std::size_t>(std::count_if(
      runs(), runs() + run_count_, [&](const Run& run) { return run.size_class() == size_class; }));
}

void* LpHeap::allocate_in_new_run(unsigned size_class, std::size_t alignment) noexcept {
  if (arena_ == nullptr) {
    return nullptr;
  }
  const PlatformMode platform;
  if (run_count_ == capacity_ && !grow_lists()) {
    return nullptr;
  }
  const unsigned log = run_log(size_class, runs_of(size_class));
  std::byte* const base = is_large(size_class) ? arena_->take_large(size_class, alignment)
                                               : arena_->take_run(size_class, log);
  if (base == nullptr) {
    return nullptr;
  }
  const std::uint32_t run = run_count_++;
  runs()[run] = Run::make(base, size_class, log);
  if (indexed()) {
    publish_run(run);
  }
  return take_chunk(run);
}

bool LpHeap::grow_lists() noexcept {
  thread_context.heap_grew = true;
  const std::uint32_t capacity = capacity_ == 1 ? kLinearRuns / 2 : capacity_ * 2;
  Index* index = nullptr;
  if (capacity > kLinearRuns) {
    const std::uint32_t words = (capacity + 63) / 64;
    index = static_cast<Index*>(
        std::calloc(1, sizeof(Index) + std::size_t{words} * kRows * sizeof(std::uint64_t)));
    if (index == nullptr) {
      return false;
    }
    index->words = words;
  }
  auto* const list = static_cast<Run*>(std::malloc(capacity * sizeof(Run)));
  if (list == nullptr) {
    std::free(index);
    return false;
  }
  std::copy_n(runs(), run_count_, list);
  if (capacity_ != 1) {
    release_lists();
  }
  store_.lists = {list, index};
  capacity_ = capacity;
  for (std::uint32_t run = 0; indexed() && run < run_count_; ++run) {
    publish_run(run);
  }
  return true;
}

void LpHeap::release_lists() noexcept {
  const PlatformMode platform;
  std::free(store_.lists.index);
  std::free(store_.lists.runs);
}

// Enters a run into the index and notes its number where a pointer into it leads.
void LpHeap::publish_run(std::uint32_t run_index) noexcept {
  const Run& run = store_.lists.runs[run_index];
  const unsigned size_class = run.size_class();
  Index& index = *store_.lists.index;
  ++index.run_counts[row_of(size_class)];
  if (run.free_chunks != 0) {
    index.set_room(row_of(size_class), run_index);
  }
  if (is_large(size_class)) {
    set_block_info(run.base(), BlockInfo::large(size_class, run_index));
    return;
  }
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(run.base()) % kBlockBytes;
  const unsigned slot = chunk_index(size_class, offset) >> run.log();
  // Relaxed, here and where slots are read: owners read what their own thread wrote; a worker with
  // a foreign pointer may read any value, since it then compares with the address of the run.
  std::atomic_ref(block_info(run.base()).slots()[slot]).store(run_index, std::memory_order_relaxed);
}

// ---- Search by address and free
// ------------------------------------------------------------------

FreeStatus LpHeap::deallocate(void* pointer) noexcept {
  const Place place = find(pointer);
  if (place.run == nullptr) [[unlikely]] {
    return FreeStatus::foreign;
  }
  if (!place.at_start) [[unlikely]] {
    return FreeStatus::not_start;
  }
  const std::uint64_t bit = std::uint64_t{1} << place.chunk;
  const std::uint64_t room = place.run->free_chunks;
  if ((room & bit) != 0) [[unlikely]] {
    return FreeStatus::not_live;
  }
  const unsigned size_class = place.run->size_class();
  const std::size_t bytes = chunk_bytes(size_class);
  place.run->free_chunks = room | bit;
  live_bytes_ -= bytes;
  if (indexed()) {
    store_.lists.index->set_room(row_of(size_class),
                                 static_cast<std::uint32_t>(place.run - store_.lists.runs));
  }
  poison(pointer, bytes);
  return FreeStatus::ok;
}

[[gnu::always_inline]] inline LpHeap::Place LpHeap::find(const void* pointer) const noexcept {
  const auto* const address = static_cast<const std::byte*>(pointer);
  return indexed() ? find_indexed(address) : find_linear(address);
}

inline LpHeap::Place LpHeap::place_in(std::uint32_t run_index,
                                      const std::byte* pointer) const noexcept {
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

inline LpHeap::Place LpHeap::find_linear(const std::byte* pointer) const noexcept {
  for (std::uint32_t i = 0; i < run_count_; ++i) {
    if (const Place place = place_in(i, pointer); place.run != nullptr) {
      return place;
    }
  }
  return {};
}

[[gnu::always_inline]] inline LpHeap::Place LpHeap::find_indexed(
    const std::byte* pointer) const noexcept {
  const std::uint32_t recent = store_.lists.index->recent;
  if (const Place place = place_in(recent, pointer); place.run != nullptr) {
    return place;
  }
  if (!is_lp_pointer(pointer)) [[unlikely]] {
    return {};
  }
  const BlockInfo info = block_info(pointer);
  if (!info.used() || is_large(info.size_class())) [[unlikely]] {
    return find_large(pointer, info);
  }
  const unsigned size_class = info.size_class();
  const std::size_t bytes = chunk_bytes(size_class);
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(pointer) % kBlockBytes;
  const unsigned chunk = chunk_index(size_class, offset);
  const unsigned slot = chunk >> info.run_log();
  const std::uint32_t i = std::atomic_ref(info.slots()[slot]).load(std::memory_order_relaxed);
  const std::byte* const base = pointer - offset + (slot << info.run_log()) * bytes;
  Run* const run = store_.lists.runs + i;
  if (i >= run_count_ || run->base() != base) [[unlikely]] {
    return {};
  }
  return {run, chunk - (slot << info.run_log()), chunk * bytes == offset};
}

// Large runs have an entry for their first block only.
LpHeap::Place LpHeap::find_large(const std::byte* pointer, BlockInfo info) const noexcept {
  const auto i = static_cast<std::uint32_t>(info.run_index());
  if (info.used() && i < run_count_ && store_.lists.runs[i].base() == pointer) {
    return {store_.lists.runs + i, 0, true};
  }
  return find_linear(pointer);
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
  void* const moved = allocate(bytes);
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
  live_bytes_ = 0;
  for (std::uint32_t i = 0; i < run_count_; ++i) {
    std::uint64_t live = 0;
    if (i < count) {
      std::memcpy(&live, layout + (1 + i) * sizeof live, sizeof live);
    }
    live_bytes_ += set_live(i, live);
  }
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
  const unsigned row = row_of(run.size_class());
  const std::size_t bytes = chunk_bytes(run.size_class());
  poison(run.base(), bytes << run.log());
  for_each_row(live, [&](unsigned begin, unsigned count) {
    unpoison(run.base() + begin * bytes, count * bytes);
  });
  const std::uint64_t room = Run::mask(run.log()) & ~live;
  if (indexed()) {
    store_.lists.index->set_room(row, run_index);
    store_.lists.index->update_room(row, run_index, room != 0);
  }
  run.free_chunks = room;
  return bytes * static_cast<unsigned>(std::popcount(live));
}

}  // namespace orrery::memory
