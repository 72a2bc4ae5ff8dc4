// SPDX-License-Identifier: Apache-2.0
//
// Tells AddressSanitizer which chunks are live, so that a model's overruns into a free chunk and
// uses after free are reported at the guilty access, in LP memory as in system memory. Nothing
// otherwise.
#ifndef ORRERY_MEMORY_POISON_H
#define ORRERY_MEMORY_POISON_H

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace orrery::memory {

#if defined(__SANITIZE_ADDRESS__)
inline void poison(const void* begin, std::size_t bytes) noexcept {
  __asan_poison_memory_region(begin, bytes);
}
inline void unpoison(const void* begin, std::size_t bytes) noexcept {
  __asan_unpoison_memory_region(begin, bytes);
}
#else
inline void poison(const void*, std::size_t) noexcept {}
inline void unpoison(const void*, std::size_t) noexcept {}
#endif

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_POISON_H
