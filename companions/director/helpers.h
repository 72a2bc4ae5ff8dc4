// SPDX-License-Identifier: Apache-2.0
//
// Helpers: threads of a directed process that are not directed themselves, such as QEMU's main loop
// and its threads for input and output. A virtual processor waits for its helpers, so they have a
// higher priority. They should consume little, and their consumption is limited: otherwise a helper
// that computes would have a core for itself, above all other threads and beyond the ceiling.
//
// Once a cycle of ten ticks, the consumption of each helper is read. Those that together took less
// than a fiftieth of the cores keep their priority. The others are real-time threads in directed
// ticks only. A helper that took more than half a core, or is one of the helpers that together took
// more than half of all cores, has its own scheduling for ten cycles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "director/roll.h"
#include "director/thread.h"

namespace orrery::director {

enum class Conduct : std::uint8_t { quiet, busy, greedy };

/// The conduct of each helper, from what it has consumed in a cycle.
std::vector<Conduct> judge(const std::vector<Nanoseconds>& consumed, Nanoseconds cycle,
                           unsigned cores);

struct Helper {
  Thread thread;
  std::string process_name;
  RollEntry* entry = nullptr;  ///< null: its scheduling is not changed
  Level level = Level::own;
  Nanoseconds consumed = 0;
  Conduct conduct = Conduct::quiet;
  unsigned punished = 0;  ///< cycles of punishment left

  Level wanted_level(bool is_directed_tick) const {
    if (punished > 0) return Level::own;
    return is_directed_tick || conduct == Conduct::quiet ? Level::helper : Level::own;
  }
};

inline constexpr unsigned kTicksOfCycle = 10, kCyclesOfPunishment = 10;

/// Judges what all have consumed in a cycle. Removes helpers that have ended.
void look_at_helpers(std::vector<Helper>& helpers, Nanoseconds cycle, unsigned cores);

}  // namespace orrery::director
