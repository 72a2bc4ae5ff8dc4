// SPDX-License-Identifier: Apache-2.0
//
// Compares and copies an LP's memory as bytes, whether or not the chunks in it are live.
// Incremental checkpoints work on whole lines and pages. These may hold free chunks, which are
// poisoned for AddressSanitizer.
#ifndef ORRERY_MEMORY_RAW_H
#define ORRERY_MEMORY_RAW_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace orrery::memory {

#if defined(__SANITIZE_ADDRESS__)
// AddressSanitizer would check memcmp and memcpy. LP memory comes in units of 16 bytes.
[[gnu::no_sanitize_address, gnu::noinline]] inline bool raw_equal(const std::byte* left,
                                                                  const std::byte* right,
                                                                  std::size_t bytes) noexcept {
  const auto* a = reinterpret_cast<const volatile std::uint64_t*>(left);
  const auto* b = reinterpret_cast<const volatile std::uint64_t*>(right);
  for (std::size_t i = 0; i < bytes / 8; ++i)
    if (a[i] != b[i]) return false;
  return true;
}
[[gnu::no_sanitize_address, gnu::noinline]] inline void raw_copy(std::byte* to,
                                                                 const std::byte* from,
                                                                 std::size_t bytes) noexcept {
  auto* a = reinterpret_cast<volatile std::uint64_t*>(to);
  const auto* b = reinterpret_cast<const volatile std::uint64_t*>(from);
  for (std::size_t i = 0; i < bytes / 8; ++i) a[i] = b[i];
}
#else
inline bool raw_equal(const std::byte* left, const std::byte* right, std::size_t bytes) noexcept {
  if (bytes == 64) {  // a cache line, without a call or a branch
    std::uint64_t a[8], b[8], differing = 0;
    std::memcpy(a, left, sizeof a);
    std::memcpy(b, right, sizeof b);
    for (int i = 0; i < 8; ++i) differing |= a[i] ^ b[i];
    return differing == 0;
  }
  return std::memcmp(left, right, bytes) == 0;
}
inline void raw_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}
#endif

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_RAW_H
