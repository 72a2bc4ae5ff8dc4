// SPDX-License-Identifier: Apache-2.0
//
// Events that cost something: a loop that takes a chosen number of steps and has no result.
//
// A step is a multiplication and an addition that wait for the step before: 3 + 1 cycles on current
// x86-64 cores, 3 to 4 where they are one instruction, so about a nanosecond at 3 to 4 GHz. It is
// counted in steps and not calibrated against a clock on purpose: an event then costs the same
// instructions on every engine and in every run, also where it is executed again, and no handler
// looks at a clock. What a step takes on a machine, a sequential run with and without it tells.
#pragma once

#include <cstdint>

namespace orrery::models {

/// Nothing happens for `steps` steps; `seed` is any number that the compiler does not know.
inline void busy_work(std::uint64_t seed, std::int64_t steps) {
  for (std::int64_t i = 0; i < steps; ++i) {
    seed = seed * 6364136223846793005u + 1;
    // The compiler must take every step, in order, and cannot see that nobody wants the result.
    asm volatile("" : "+r"(seed));
  }
}

}  // namespace orrery::models
