// SPDX-License-Identifier: Apache-2.0
//
// Helpers: threads of a directed process that are not directed themselves, such as QEMU's main loop
// and its threads for input and output. A virtual processor waits for them, so they go before it;
// what they take is small. Where it is not, they are held to it: a helper that computes would
// otherwise have a core for itself, above everybody and beyond the ceiling.
//
// Once a cycle, ten ticks, it is looked at what each has consumed. Those that together took less
// than a fiftieth of the cores are left alone. The others are real-time threads in directed ticks
// only. And who took more than half a core, or belongs to those who together took more than half of
// all, has its own scheduling for ten cycles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "director/roll.h"
#include "director/thread.h"

namespace orrery::director {

enum class Conduct : std::uint8_t { quiet, busy, greedy };

/// Of each helper by what it has consumed in a cycle.
std::vector<Conduct> judge(const std::vector<Nanoseconds>& consumed, Nanoseconds cycle,
                           unsigned cores);

struct Helper {
  Thread thread;
  std::string process_name;
  RollEntry* entry = nullptr;  ///< null: it is left alone
  Level level = Level::own;
  Nanoseconds consumed = 0;
  Conduct conduct = Conduct::quiet;
  unsigned punished = 0;  ///< for so many cycles yet

  Level wanted_level(bool is_directed_tick) const {
    if (punished > 0) return Level::own;
    return is_directed_tick || conduct == Conduct::quiet ? Level::helper : Level::own;
  }
};

inline constexpr unsigned kTicksOfCycle = 10, kCyclesOfPunishment = 10;

/// Looks at what all have consumed in a cycle. Helpers that have ended leave.
void look_at_helpers(std::vector<Helper>& helpers, Nanoseconds cycle, unsigned cores);

}  // namespace orrery::director
