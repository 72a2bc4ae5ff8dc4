// SPDX-License-Identifier: Apache-2.0
//
// Ways to crash that no compiler takes out and no sanitizer of undefined behaviour sees first. For
// tests, and for models that are made to fail: it needs the standard library only.
#pragma once

namespace orrery::testing {

// Not nullptr: the sanitizer would end the process before the signal.
inline volatile int* volatile nowhere = reinterpret_cast<volatile int*>(64);
inline volatile int seven = 7, zero = 0;

/// Each call needs its own part of the stack; deeper than any stack is.
inline int descend(int depth) {
  volatile char room[1024];
  room[depth % 1024] = 1;
  return depth > 100'000'000 ? 0 : descend(depth + 1) + room[0];
}

}  // namespace orrery::testing
