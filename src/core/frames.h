// SPDX-License-Identifier: Apache-2.0
//
// Where code was when it crashed: the addresses to which its calls return, innermost first. Found
// by frame pointers, which Orrery and models made by orrery_add_model keep, since that can be done
// in the handler of a signal, in nanoseconds, and cannot fail itself: nothing is read outside of
// the stack. Code that keeps none ends the list, or hides one caller.
#pragma once

#include <array>
#include <cstddef>

namespace orrery {

struct Frames {
  static constexpr std::size_t kMost = 16;
  std::array<const void*, kMost> at{};
  std::size_t count = 0;
  /// What is first is an instruction, not where a call returns to.
  bool begins_with_instruction = false;

  void add(const void* address) {
    if (count < kMost) at[count++] = address;
  }
};

/// What was being executed, as a handler of a signal or a called function finds it.
struct CodePoint {
  const void* instruction = nullptr;  ///< nullptr: not known, `frame` is where to begin
  const void* stack_pointer = nullptr;
  const void* frame = nullptr;  ///< the frame pointer
};

/// `begin`, `end`: of the stack.
Frames find_frames(const CodePoint& from, const std::byte* begin, const std::byte* end);

}  // namespace orrery
