// SPDX-License-Identifier: Apache-2.0
//
// Huge pages for the large tables of a run: LPs' records and events. A random event among a million
// LPs touches a new page with nearly each cache line; beyond some 2000 pages of 4 KiB (the TLB) the
// processor must look pages up in page tables that miss the cache themselves, twice as many tables
// in a virtual machine. With pages of 2 MiB there are a few hundred in all.
//
// Huge pages are optional: if the system has none, small pages serve, more slowly. Small tables use
// ordinary memory, so that no run takes memory that it does not fill.
#pragma once

#include <cstddef>
#include <new>

namespace orrery {

namespace huge_pages {
inline constexpr std::size_t kPageBytes = std::size_t{2} << 20;
/// Tables of at least this size use huge pages.
inline constexpr std::size_t kLeastTableBytes = 2 * kPageBytes;

/// Zeroed memory at a multiple of kPageBytes, with a request for huge pages. nullptr on failure.
void* map(std::size_t bytes) noexcept;
/// The same in small pages, at a multiple of 4 KiB.
void* map_small(std::size_t bytes) noexcept;
void unmap(void* memory, std::size_t bytes) noexcept;
}  // namespace huge_pages

/// Allocator for containers and tables.
template <class T>
struct HugePageAllocator {
  using value_type = T;

  HugePageAllocator() = default;
  template <class U>
  explicit HugePageAllocator(const HugePageAllocator<U>&) {}

  /// Throws std::bad_alloc.
  T* allocate(std::size_t count) {
    if (count * sizeof(T) < huge_pages::kLeastTableBytes)
      return static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
    void* memory = huge_pages::map(count * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < huge_pages::kLeastTableBytes)
      return ::operator delete(memory, kAlignment);
    huge_pages::unmap(memory, count * sizeof(T));
  }
  bool operator==(const HugePageAllocator&) const = default;

 private:
  static constexpr std::align_val_t kAlignment{alignof(T)};
};

}  // namespace orrery
