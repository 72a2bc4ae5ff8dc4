// SPDX-License-Identifier: Apache-2.0
//
// Two worlds in which an LP lives at the same addresses. They are equal in everything on which a
// correct model may depend, and opposite in everything else: every uninitialised byte (fresh or
// freed memory, the slack behind an allocation, the stack below the handler) is 0x5a in world 0 and
// 0xa5 in world 1. Each world keeps its own image from event to event, so that a byte which was
// left uninitialised long ago still differs when it is read.
//
// Two images, or two payloads, may therefore differ in uninitialised bits and in no others. A model
// may copy such bits (padding in a struct, the spare capacity of a vector); if it computes with
// them, the results differ, and the checker finds that.
//
// The patterns are complements, and their lowest bits are 10 and 01, so that numbers that differ by
// a small step are seldom taken for them. But where only a bit or two of a byte differ (a
// bit-field, the last word of a std::vector<bool>), two worlds cannot tell whether these bits are
// uninitialised or a result that happens to equal the pattern. Such bytes are doubts (doubt.h).
// They are settled by executing the event in more worlds. The patterns of all worlds are chosen so
// that no two bits of a byte are equal in all of them: a bit that is only carried along follows all
// patterns, any other bit does not.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace orrery::checker {

using WorldIndex = unsigned;
inline constexpr WorldIndex kWorlds = 2;
/// The LP's twin, which lives at other addresses; see twin.h.
inline constexpr WorldIndex kTwin = 2;
/// The worlds that settle doubts; they keep no image from event to event.
inline constexpr WorldIndex kFirstProbe = 3, kProbesEnd = 6;

inline constexpr unsigned char kFill0 = 0x5a;
inline constexpr unsigned char kFills[kProbesEnd] = {
    kFill0, static_cast<unsigned char>(~kFill0), kFill0, 0x33, 0xcc, 0x0f};
constexpr std::byte fill_of(WorldIndex world) {
  return std::byte(kFills[world]);
}

/// Whether the bits in which two bytes, of world 0 and world 1, differ follow the patterns.
constexpr bool follows(std::byte in0, std::byte in1) {
  const std::byte different = in0 ^ in1;
  return (in0 & different) == (fill_of(0) & different);
}

/// The byte that is `in0` and `in1` in worlds 0 and 1, in another world, if its differing bits are
/// only carried along: each bit holds that world's pattern, or the pattern's complement if the bit
/// holds the complement in world 0.
constexpr std::byte carried_to(WorldIndex world, std::byte in0, std::byte in1) {
  const std::byte different = in0 ^ in1;
  return (in0 & ~different) | ((fill_of(world) ^ in0 ^ fill_of(0)) & different);
}

/// Whether two bytes, of world 0 and world 1, differ only in uninitialised bits. One or two
/// differing bits are not enough evidence; three may be a bit-field.
constexpr bool tolerable(std::byte in0, std::byte in1) {
  return in0 == in1 ||
         (follows(in0, in1) && std::popcount(std::to_integer<unsigned>(in0 ^ in1)) > 2);
}

inline constexpr std::size_t kNoDifference = ~std::size_t{0};

/// Calls visit(offset) for each byte that is not tolerable, in order, as long as it returns true.
template <class Visit>
void for_each_difference(const std::byte* in0, const std::byte* in1, std::size_t bytes,
                         Visit&& visit) {
  constexpr std::uint64_t kWord0 = 0x0101010101010101u * kFill0;
  std::size_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    std::uint64_t a, b;
    std::memcpy(&a, in0 + at, 8);
    std::memcpy(&b, in1 + at, 8);
    if (a == b || (a == kWord0 && b == ~kWord0)) continue;
    for (std::size_t i = at; i < at + 8; ++i)
      if (!tolerable(in0[i], in1[i]) && !visit(i)) return;
  }
  for (; at < bytes; ++at)
    if (!tolerable(in0[at], in1[at]) && !visit(at)) return;
}

/// Offset of the first byte that differs at all.
inline std::size_t first_unequal(const std::byte* a, const std::byte* b, std::size_t bytes) {
  if (bytes == 0 || std::memcmp(a, b, bytes) == 0) return kNoDifference;
  std::size_t at = 0;
  while (a[at] == b[at]) ++at;
  return at;
}

/// Faster than operator== of vectors, which compares one byte after the other.
inline bool equal_images(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  return a.size() == b.size() && first_unequal(a.data(), b.data(), a.size()) == kNoDifference;
}

}  // namespace orrery::checker
