// SPDX-License-Identifier: Apache-2.0
//
// The counters of a worker of the conservative engine.
#pragma once

#include <cstdint>

#include "run/results/statistics.h"

namespace orrery::conservative {

struct WorkerStatistics {
  std::uint64_t executed = 0;
  std::uint64_t in_place = 0;
  std::uint64_t sent = 0;
  std::uint64_t looks = 0;
  std::uint64_t waits = 0;
  std::uint64_t rounds = 0;
  std::uint64_t halts = 0;
};

inline constexpr CounterInfo<WorkerStatistics> kWorkerCounters[] = {
    {&WorkerStatistics::executed, Merge::sum},
    {&WorkerStatistics::in_place, Merge::sum, "in_place", "events executed by one worker alone"},
    {&WorkerStatistics::sent, Merge::sum, "messages", "events sent to another worker"},
    {&WorkerStatistics::looks, Merge::sum, "looks",
     "times that a worker read the promises of the others"},
    {&WorkerStatistics::waits, Merge::sum, "waits", "looks that found no event safe to execute"},
    {&WorkerStatistics::rounds, Merge::maximum, "rounds",
     "rounds in which the workers agreed on a bound"},
    {&WorkerStatistics::halts, Merge::maximum, "halts", "times that the workers came to a cut"},
};

}  // namespace orrery::conservative
