// SPDX-License-Identifier: Apache-2.0
//
// Adds a cost to events: a loop that runs a chosen number of steps and has no result.
//
// A step is a multiplication and an addition that depend on the step before: 3 + 1 cycles on
// current x86-64 cores (3 to 4 if fused into one instruction), so about 1 ns at 3 to 4 GHz. The
// cost is given in steps, not calibrated against a clock. An event thus executes the same
// instructions on every engine, in every run and when it is executed again, and no handler reads a
// clock. To measure the time of a step on a machine, compare sequential runs with and without it.
#pragma once

#include <cstdint>

namespace orrery::models {

/// Runs `steps` steps; `seed` is any number that the compiler does not know.
inline void busy_work(std::uint64_t seed, std::int64_t steps) {
  for (std::int64_t i = 0; i < steps; ++i) {
    seed = seed * 6364136223846793005u + 1;
    // The compiler must execute every step in order and cannot drop the unused result.
    asm volatile("" : "+r"(seed));
  }
}

}  // namespace orrery::models
