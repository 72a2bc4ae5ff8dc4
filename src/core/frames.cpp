// SPDX-License-Identifier: Apache-2.0
#include "core/frames.h"

#include <cstdint>
#include <cstring>

namespace orrery {
namespace {

/// A saved frame pointer and, behind it, the function's return address.
struct Linkage {
  const std::byte* outer;
  const void* return_address;
};

}  // namespace

Frames find_frames(const CodePoint& from, const std::byte* begin, const std::byte* end) {
  Frames frames;
  frames.begins_with_instruction = from.instruction != nullptr;
  if (from.instruction != nullptr) frames.add(from.instruction);
  const auto* at = static_cast<const std::byte*>(from.frame);
  const auto* lowest = static_cast<const std::byte*>(from.stack_pointer);
  if (lowest < begin) lowest = begin;
  while (frames.count < Frames::kMost && at >= lowest && at < end &&
         static_cast<std::size_t>(end - at) >= sizeof(Linkage) &&
         reinterpret_cast<std::uintptr_t>(at) % alignof(Linkage) == 0) {
    Linkage linkage;
    std::memcpy(&linkage, at, sizeof linkage);
    if (linkage.return_address == nullptr) break;
    frames.add(linkage.return_address);
    lowest = at + sizeof linkage;  // outer frames lie higher, so the loop ends
    at = linkage.outer;
  }
  return frames;
}

}  // namespace orrery
