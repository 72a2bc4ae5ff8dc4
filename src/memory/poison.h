// SPDX-License-Identifier: Apache-2.0
//
// Marks for AddressSanitizer which bytes of LP memory a model has asked for. Overruns into a free
// chunk or into the slack behind an allocation, and uses after free, are then reported at the
// faulty access, as in system memory. Without AddressSanitizer these functions do nothing.
//
// The slack is poisoned at allocation. A checkpoint does not record the slack, so after a rollback
// accesses to the slack of restored chunks go unreported.
#ifndef ORRERY_MEMORY_POISON_H
#define ORRERY_MEMORY_POISON_H

#include <cstddef>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace orrery::memory {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kPoisons = true;
inline void poison(const void* begin, std::size_t bytes) noexcept {
  __asan_poison_memory_region(begin, bytes);
}
inline void unpoison(const void* begin, std::size_t bytes) noexcept {
  __asan_unpoison_memory_region(begin, bytes);
}
// Copies whole chunks, whose slack may be poisoned. The fence in the loop keeps the compiler from
// replacing the loop by a call of memcpy, which AddressSanitizer checks.
__attribute__((no_sanitize("address", "undefined"), noinline)) inline void copy_poisoned(
    void* to, const void* from, std::size_t bytes) noexcept {
  auto* target = static_cast<unsigned char*>(to);
  const auto* source = static_cast<const unsigned char*>(from);
  for (std::size_t i = 0; i < bytes; ++i) {
    target[i] = source[i];
    asm volatile("" ::: "memory");
  }
}
#else
inline constexpr bool kPoisons = false;
inline void poison(const void*, std::size_t) noexcept {}
inline void unpoison(const void*, std::size_t) noexcept {}
inline void copy_poisoned(void* to, const void* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}
#endif

// Poisons the chunk's bytes behind the first `bytes`. Returns `chunk`, which may be nullptr.
inline void* poison_slack(void* chunk, std::size_t bytes, std::size_t chunk_bytes) noexcept {
  if (kPoisons && chunk != nullptr) {
    poison(static_cast<std::byte*>(chunk) + bytes, chunk_bytes - bytes);
  }
  return chunk;
}

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_POISON_H
