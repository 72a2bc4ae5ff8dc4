// SPDX-License-Identifier: Apache-2.0
//
// Call stacks of crashes: the return addresses, innermost first. They are found by frame pointers,
// which Orrery and models made by orrery_add_model keep. This works in a signal handler, takes
// nanoseconds, and cannot fail itself: it reads nothing outside of the stack. A function without
// frame pointer ends the list, or hides one caller.
#pragma once

#include <array>
#include <cstddef>

namespace orrery {

struct Frames {
  static constexpr std::size_t kMost = 16;
  std::array<const void*, kMost> at{};
  std::size_t count = 0;
  /// The first address is an instruction, not a return address.
  bool begins_with_instruction = false;

  void add(const void* address) {
    if (count < kMost) at[count++] = address;
  }
};

/// The point of execution at which a signal handler or a called function begins the search.
struct CodePoint {
  const void* instruction = nullptr;  ///< nullptr: unknown, the search begins at `frame`
  const void* stack_pointer = nullptr;
  const void* frame = nullptr;  ///< the frame pointer
};

/// `begin`, `end`: bounds of the stack.
Frames find_frames(const CodePoint& from, const std::byte* begin, const std::byte* end);

}  // namespace orrery
