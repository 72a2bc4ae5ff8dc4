// SPDX-License-Identifier: Apache-2.0
//
// Reservation, extents and return of the region; region.h says why.
#include "memory/region.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "memory/application_mode.h"
#include "memory/poison.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace orrery::memory {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;

// The wanted address is not guaranteed; only a run that may leave its process needs it
// (is_at_fixed_place). With equal addresses in every process, a model that depends on addresses by
// mistake at least behaves the same when it is run again with one worker. Sanitizers keep shadow
// memory for every address, and recognise the program's addresses by their place: the thread
// sanitizer below 512 GiB and from 0x55... on, the address sanitizer from 2^44 + 2 GiB on.
#if defined(__SANITIZE_THREAD__)
constexpr std::size_t kWantedBytes = 64 * kGiB;
constexpr std::uintptr_t kWantedBase = std::uintptr_t{1} << 37;
#elif defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kWantedBytes = 64 * kGiB;
constexpr std::uintptr_t kWantedBase = std::uintptr_t{1} << 45;
#else
constexpr std::size_t kWantedBytes = 1024 * kGiB;
constexpr std::uintptr_t kWantedBase = std::uintptr_t{1} << 44;
#endif
constexpr std::size_t kLeastBytes = std::size_t{32} << 20;

constexpr int kMapFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

std::byte* map(std::uintptr_t wish, std::size_t bytes, int protection) noexcept {
  void* base = mmap(reinterpret_cast<void*>(wish), bytes, protection, kMapFlags, -1, 0);
  return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
}

std::byte* align_up(std::byte* address, std::size_t alignment) noexcept {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  return address + ((alignment - value % alignment) % alignment);
}

// Reserved addresses count where a process has a limit on them (ulimit -v). Then the region takes
// at most half of the limit, so that threads and the system's malloc get some, too.
std::size_t most_bytes() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return kWantedBytes;
  }
  return std::min<std::size_t>(kWantedBytes, limit.rlim_cur / 2);
}

}  // namespace

std::string Region::limit_advice() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return "; make the model smaller, or use a machine with more memory";
  }
  return "; the addresses of this process are limited to " + std::to_string(limit.rlim_cur >> 20) +
         " MiB: raise that limit ('ulimit -v'), or make the model smaller";
}

Region& Region::instance() {
  // In storage of its own, so that no destructor runs at exit: later destructors still free memory.
  alignas(Region) static std::byte storage[sizeof(Region)];
  static Region* const region = new (storage) Region;
  return *region;
}

Region::Region() {
  const std::size_t most = most_bytes();
  for (std::size_t bytes = kWantedBytes; bytes >= kLeastBytes; bytes /= 2) {
    if (bytes <= most && reserve(bytes)) {
      return;
    }
  }
}

bool Region::is_at_fixed_place() const noexcept {
  return reinterpret_cast<std::uintptr_t>(base_) == kWantedBase;
}

bool Region::reserve(std::size_t bytes) noexcept {
  // Reserves a huge page more than needed, to start on a boundary of a huge page.
  std::byte* const range = map(kWantedBase, bytes + kHugePageBytes, PROT_NONE);
  if (range == nullptr) {
    return false;
  }
  std::byte* const table = map(0, bytes / kPageBytes * sizeof(Area*), PROT_READ | PROT_WRITE);
  if (table == nullptr) {
    munmap(range, bytes + kHugePageBytes);
    return false;
  }
  std::byte* const base = align_up(range, kHugePageBytes);
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  // Half is for small chunks, a quarter each for large runs below and above a huge page.
  pools_[0] = {base, base, base + bytes / 2, {}};
  pools_[1] = {base + bytes / 2, base + bytes / 2, base + bytes / 4 * 3, {}};
  pools_[2] = {base + bytes / 4 * 3, base + bytes / 4 * 3, base + bytes, {}};
  base_ = base;
  bytes_ = bytes;
  detail::page_table_origin.store(
      reinterpret_cast<std::uintptr_t>(table) - address / kPageBytes * sizeof(Area*),
      std::memory_order_relaxed);
  __atomic_store_n(&detail::region_base, address, __ATOMIC_RELAXED);
  __atomic_store_n(&detail::region_bytes, bytes, __ATOMIC_RELAXED);
#if defined(__SANITIZE_ADDRESS__)
  // LPs may hold the only pointer to system memory; the leak checker must look here, too.
  __lsan_register_root_region(base, bytes);
#endif
  return true;
}

std::byte* Region::take(Pool pool, std::size_t bytes, std::size_t alignment,
                        bool huge_pages) noexcept {
  const PlatformMode platform;
  PoolState& state = pools_[static_cast<std::size_t>(pool)];
  const std::lock_guard lock(mutex_);
  std::byte* base = nullptr;
  try {
    base = find(state, bytes, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;  // only the list of free extents can throw, and it is unchanged then
  }
  if (base == nullptr) {
    return nullptr;
  }
  return make_usable(state, {base, bytes}, huge_pages) ? base : nullptr;
}

bool Region::take_at(Pool pool, std::byte* base, std::size_t bytes, bool huge_pages) noexcept {
  const PlatformMode platform;
  PoolState& state = pools_[static_cast<std::size_t>(pool)];
  const std::lock_guard lock(mutex_);
  try {
    return cut_out(state, {base, bytes}) && make_usable(state, {base, bytes}, huge_pages);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void Region::keep_to_share(unsigned index, unsigned count) noexcept {
  const std::lock_guard lock(mutex_);
  for (PoolState& pool : pools_) {
    const auto all = static_cast<std::size_t>(pool.limit - pool.begin);
    const std::size_t share = all / count / kHugePageBytes * kHugePageBytes;
    pool.begin += index * share;
    pool.limit = pool.begin + share;
    if (index == 0) {
      pool.limit = std::max(pool.limit, pool.top);
    } else {
      pool.top = pool.begin;
      pool.free.clear();
    }
  }
}

// The part of `extent` in this process' share, which it may hand out again. The rest is served by
// take_at only.
Region::Extent Region::in_share(const PoolState& pool, Extent extent) {
  std::byte* const begin = std::max(extent.base, pool.begin);
  std::byte* const end = std::min(extent.base + extent.bytes, pool.limit);
  return {begin, end > begin ? static_cast<std::size_t>(end - begin) : 0};
}

// Makes addresses that were taken from the free ones usable memory, or puts them back.
bool Region::make_usable(PoolState& pool, Extent extent, bool huge_pages) noexcept {
  if (mprotect(extent.base, extent.bytes, PROT_READ | PROT_WRITE) != 0) {
    try {
      insert(pool, extent);
    } catch (const std::bad_alloc&) {
      // The addresses are lost, no memory is.
    }
    return false;
  }
  if (huge_pages) {
    // A kernel without huge pages refuses, and small pages serve.
    madvise(extent.base, extent.bytes, MADV_HUGEPAGE);
  }
  return true;
}

void Region::give_back(Pool pool, std::byte* base, std::size_t bytes) noexcept {
  const PlatformMode platform;
  const std::lock_guard lock(mutex_);
  unpoison(base, bytes);
  // A fresh mapping over the old one returns the pages and the system's commitment in one call, and
  // merges with its neighbours.
  if (mmap(base, bytes, PROT_NONE, kMapFlags | MAP_FIXED, -1, 0) == MAP_FAILED) {
    madvise(base, bytes, MADV_DONTNEED);
  }
  try {
    insert(pools_[static_cast<std::size_t>(pool)], {base, bytes});
  } catch (const std::bad_alloc&) {
    // The addresses are lost, no memory is.
  }
}

// First fit among the free extents, else fresh addresses.
std::byte* Region::find(PoolState& pool, std::size_t bytes, std::size_t alignment) {
  pool.free.reserve(pool.free.size() + 1);
  for (auto extent = pool.free.begin(); extent != pool.free.end(); ++extent) {
    std::byte* const base = align_up(extent->base, alignment);
    std::byte* const end = extent->base + extent->bytes;
    if (base > end || static_cast<std::size_t>(end - base) < bytes) {
      continue;
    }
    const Extent before{extent->base, static_cast<std::size_t>(base - extent->base)};
    const Extent after{base + bytes, static_cast<std::size_t>(end - base) - bytes};
    extent = pool.free.erase(extent);
    if (after.bytes != 0) {
      extent = pool.free.insert(extent, after);
    }
    if (before.bytes != 0) {
      pool.free.insert(extent, before);
    }
    return base;
  }
  std::byte* const base = align_up(pool.top, alignment);
  if (base > pool.limit || static_cast<std::size_t>(pool.limit - base) < bytes) {
    return nullptr;
  }
  if (base != pool.top) {
    pool.free.push_back({pool.top, static_cast<std::size_t>(base - pool.top)});
  }
  pool.top = base + bytes;
  return base;
}

// Takes exactly these addresses out of the free ones.
bool Region::cut_out(PoolState& pool, Extent wanted) {
  std::byte* end = wanted.base + wanted.bytes;
  if (end < wanted.base || wanted.base < base_ || end > base_ + bytes_) {
    return false;
  }
  wanted = in_share(pool, wanted);
  if (wanted.bytes == 0) {
    return true;
  }
  end = wanted.base + wanted.bytes;
  if (wanted.base >= pool.top) {
    if (wanted.base != pool.top) {
      pool.free.push_back({pool.top, static_cast<std::size_t>(wanted.base - pool.top)});
    }
    pool.top = end;
    return true;
  }
  pool.free.reserve(pool.free.size() + 1);
  const auto extent = std::find_if(pool.free.begin(), pool.free.end(), [&](const Extent& free) {
    return free.base <= wanted.base && end <= free.base + free.bytes;
  });
  if (extent == pool.free.end()) {
    return false;
  }
  const Extent after{end, static_cast<std::size_t>(extent->base + extent->bytes - end)};
  extent->bytes = static_cast<std::size_t>(wanted.base - extent->base);
  const auto next = extent->bytes == 0 ? pool.free.erase(extent) : extent + 1;
  if (after.bytes != 0) {
    pool.free.insert(next, after);
  }
  return true;
}

// Inserts an extent by address and merges it with its neighbours and with the fresh addresses.
void Region::insert(PoolState& pool, Extent extent) {
  extent = in_share(pool, extent);
  if (extent.bytes == 0) {
    return;
  }
  auto next = std::lower_bound(
      pool.free.begin(), pool.free.end(), extent,
      [](const Extent& left, const Extent& right) { return left.base < right.base; });
  if (next != pool.free.end() && extent.base + extent.bytes == next->base) {
    extent.bytes += next->bytes;
    next = pool.free.erase(next);
  }
  if (next != pool.free.begin() && (next - 1)->base + (next - 1)->bytes == extent.base) {
    --next;
    extent.base = next->base;
    extent.bytes += next->bytes;
    next = pool.free.erase(next);
  }
  if (extent.base + extent.bytes == pool.top) {
    pool.top = extent.base;
  } else {
    pool.free.insert(next, extent);
  }
}

Region::Backing Region::backing() const {
  const PlatformMode platform;
  Backing sum;
  std::FILE* const maps = std::fopen("/proc/self/smaps", "r");
  if (maps == nullptr) {
    return sum;
  }
  char line[256];
  bool ours = false;
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long begin = 0;
    unsigned long end = 0;
    std::size_t kib = 0;
    if (std::sscanf(line, "%lx-%lx ", &begin, &end) == 2) {
      ours = is_lp_pointer(reinterpret_cast<const void*>(begin));
    } else if (ours && std::sscanf(line, "AnonHugePages: %zu", &kib) == 1) {
      sum.huge_bytes += kib * 1024;
    } else if (ours && std::sscanf(line, "Rss: %zu", &kib) == 1) {
      sum.resident_bytes += kib * 1024;
    }
  }
  std::fclose(maps);
  return sum;
}

Area* Area::make(std::byte* base, std::size_t bytes, unsigned size_class, Access access,
                 unsigned log) noexcept {
  const std::size_t chunk = memory::chunk_bytes(size_class);
  const std::size_t slots = is_large(size_class) ? 1 : (bytes / chunk >> log) + 1;
  void* const memory = std::calloc(1, sizeof(Area) + slots * sizeof(std::uint32_t));
  if (memory == nullptr) {
    return nullptr;
  }
  auto* const area = static_cast<Area*>(memory);
  area->base = base;
  area->reciprocal = static_cast<std::uint32_t>(detail::kReciprocals[size_class]);
  area->pages = is_large(size_class) ? 1 : static_cast<std::uint32_t>(bytes / kPageBytes);
  area->chunk_bytes = chunk;
  area->size_class = static_cast<std::uint8_t>(size_class);
  area->row = static_cast<std::uint8_t>(row_of(size_class, access));
  area->run_log = static_cast<std::uint8_t>(log);
  area->run_mask = static_cast<std::uint8_t>((1U << log) - 1);
  return area;
}

void publish_area(Area& area) noexcept {
  for (std::uint32_t page = 0; page < area.pages; ++page) {
    detail::page_entry(area.base + page * kPageBytes).store(&area, std::memory_order_release);
  }
}

void retract_area(const Area& area) noexcept {
  for (std::uint32_t page = 0; page < area.pages; ++page) {
    detail::page_entry(area.base + page * kPageBytes).store(nullptr, std::memory_order_release);
  }
}

std::size_t chunk_bytes_at(const void* pointer) noexcept {
  if (!is_lp_pointer(pointer)) {
    return 0;
  }
  const Area* const area = area_of(pointer);
  if (area == nullptr) {
    return 0;
  }
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(pointer) - area->base);
  const std::size_t chunk = offset * area->reciprocal >> 32;
  return chunk * area->chunk_bytes == offset ? area->chunk_bytes : 0;
}

}  // namespace orrery::memory
