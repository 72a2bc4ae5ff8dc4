// SPDX-License-Identifier: Apache-2.0
//
// Two worlds in which an LP lives at the same addresses. They are equal in everything that a
// correct model can know, and opposite in everything that it cannot: every byte that nobody has
// initialised (fresh memory, what was freed, the slack behind an allocation, the stack below the
// handler) is 0x5a in world 0 and 0xa5 in world 1. The worlds go on from event to event, each with
// its own image, so that a byte which was left uninitialised long ago still differs when it is
// read.
//
// Two images, or two payloads, may therefore differ in such bits and in no others. Copying them
// about (padding in a struct, the spare capacity of a vector) is allowed; computing with them gives
// something else, and that is found.
//
// The patterns are complements, and their lowest bits are 10 and 01, so that numbers that differ by
// a small step are never taken for them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace orrery::checker {

using WorldIndex = unsigned;
inline constexpr WorldIndex kWorlds = 2;
/// The LP's twin lives at other addresses; see twin.h.
inline constexpr WorldIndex kTwin = 2;

inline constexpr unsigned char kFill0 = 0x5a;
constexpr std::byte fill_of(WorldIndex world) {
  return std::byte(world % 2 == 0 ? kFill0 : static_cast<unsigned char>(~kFill0));
}

/// Whether two bytes, of world 0 and world 1, differ only in bits that nobody has initialised. One
/// or two differing bits are no evidence of that; three are a bit-field.
constexpr bool tolerable(std::byte in0, std::byte in1) {
  const unsigned a = std::to_integer<unsigned>(in0), b = std::to_integer<unsigned>(in1);
  const unsigned different = a ^ b;
  return different == 0 ||
         ((a & different) == (kFill0 & different) && std::popcount(different) > 2);
}

inline constexpr std::size_t kNoDifference = ~std::size_t{0};

/// Offset of the first byte in which the bytes of world 0 and world 1 must not differ but do.
inline std::size_t first_difference(const std::byte* in0, const std::byte* in1, std::size_t bytes) {
  constexpr std::uint64_t kWord0 = 0x0101010101010101u * kFill0;
  std::size_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    std::uint64_t a, b;
    std::memcpy(&a, in0 + at, 8);
    std::memcpy(&b, in1 + at, 8);
    if (a == b || (a == kWord0 && b == ~kWord0)) continue;
    for (std::size_t i = at; i < at + 8; ++i)
      if (!tolerable(in0[i], in1[i])) return i;
  }
  for (; at < bytes; ++at)
    if (!tolerable(in0[at], in1[at])) return at;
  return kNoDifference;
}

/// Offset of the first byte that differs at all.
inline std::size_t first_unequal(const std::byte* a, const std::byte* b, std::size_t bytes) {
  if (bytes == 0 || std::memcmp(a, b, bytes) == 0) return kNoDifference;
  std::size_t at = 0;
  while (a[at] == b[at]) ++at;
  return at;
}

/// The comparison of vectors looks at one byte after the other.
inline bool equal_images(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  return a.size() == b.size() && first_unequal(a.data(), b.data(), a.size()) == kNoDifference;
}

}  // namespace orrery::checker
