// SPDX-License-Identifier: Apache-2.0
//
// Huge pages for what a run has very many of: records of LPs, and events. An event at random among
// a million LPs touches another page with each line that it touches; beyond some 2000 pages of 4
// KiB the processor has to look each of them up in tables that miss the cache themselves, twice as
// many in a virtual machine. With pages of 2 MiB there are a few hundred in all.
//
// A wish, not a demand: where the system has none to give, small pages serve, at their price. And
// for large tables only: a small one lies where all memory does, so that no run takes memory that
// it does not fill.
#pragma once

#include <cstddef>
#include <new>

namespace orrery {

namespace huge_pages {
inline constexpr std::size_t kPageBytes = std::size_t{2} << 20;
/// Tables from here on lie in huge pages.
inline constexpr std::size_t kLeastTableBytes = 2 * kPageBytes;

/// Zeroed memory at a multiple of kPageBytes, for which huge pages are asked for. nullptr if there
/// is none.
void* map(std::size_t bytes) noexcept;
/// The same in small pages, at a multiple of 4 KiB.
void* map_small(std::size_t bytes) noexcept;
void unmap(void* memory, std::size_t bytes) noexcept;
/// The pages that lie wholly in a part of such memory go back to the system; what they held is
/// lost.
void discard(void* memory, std::size_t bytes) noexcept;
}  // namespace huge_pages

/// For containers and tables.
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
