// SPDX-License-Identifier: Apache-2.0
//
// The counters of the conservative engine.
#pragma once

#include <cstdint>

#include "run/results/statistics.h"

namespace orrery::conservative {

struct Counters {
  std::uint64_t windows = 0, messages = 0, parts = 0, taken_over = 0;
};

inline constexpr CounterInfo<Counters> kCounters[] = {
    {&Counters::windows, Merge::maximum, "windows", "times that all workers met"},
    {&Counters::messages, Merge::sum, "messages", "events sent to another part of the LPs"},
    {&Counters::parts, Merge::sum, "parts", "parts of the LPs"},
    {&Counters::taken_over, Merge::sum, "taken_over",
     "times that a worker executed a part of another worker's share"},
};

}  // namespace orrery::conservative
