// SPDX-License-Identifier: Apache-2.0
//
// A hint for memory of an LP that is rarely touched: logs, archives, tables of which an event reads
// one entry. Such memory is rolled back like any other, but lies in cache sets that it shares with
// checkpoints, and leaves the other sets to memory that every event needs. Without the hint all
// memory of an LP counts as often touched. The hint has no effect where memory is not separated by
// cache sets (sequential engine, one worker, all runs without --cache-aware on).
//
//   std::vector<Entry, orrery::mild_allocator<Entry>> archive;
#pragma once

#include <cstddef>
#include <limits>
#include <new>

namespace orrery {

/// Returns at least `bytes`, aligned to 16 bytes, not initialised. Throws std::bad_alloc. If called
/// in a handler (also start, finish, and the constructor of the LP) it returns memory of the LP.
[[nodiscard]] void* allocate_mild(std::size_t bytes);
/// Frees memory of allocate_mild; ignores nullptr.
void free_mild(void* memory) noexcept;

/// An allocator for the containers of the standard library.
template <class T>
struct mild_allocator {
  static_assert(alignof(T) <= 16, "memory of mild_allocator is aligned to 16 bytes");
  using value_type = T;

  mild_allocator() = default;
  template <class U>
  mild_allocator(const mild_allocator<U>&) noexcept {}

  T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
      throw std::bad_array_new_length();
    return static_cast<T*>(allocate_mild(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t) noexcept { free_mild(memory); }

  template <class U>
  bool operator==(const mild_allocator<U>&) const noexcept {
    return true;
  }
};

}  // namespace orrery
