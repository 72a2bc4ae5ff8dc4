// SPDX-License-Identifier: Apache-2.0
//
// Tells AddressSanitizer which bytes a model has asked for, so that overruns into a free chunk or
// into the slack behind an allocation, and uses after free, are reported at the guilty access, in
// LP memory as in system memory. Nothing otherwise.
//
// The slack is poisoned at allocation. A checkpoint does not record it, so after a rollback the
// chunks that were restored may be used to their ends.
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
// memcpy of what may be poisoned in part: whole chunks, of which a model uses what it asked for.
// The fence in the loop keeps the compiler from making a call of memcpy of it, which is checked.
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

// What lies behind the `bytes` that were asked for in a chunk is not to be used. Returns `chunk`,
// which may be nullptr.
inline void* poison_slack(void* chunk, std::size_t bytes, std::size_t chunk_bytes) noexcept {
  if (kPoisons && chunk != nullptr) {
    poison(static_cast<std::byte*>(chunk) + bytes, chunk_bytes - bytes);
  }
  return chunk;
}

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_POISON_H
