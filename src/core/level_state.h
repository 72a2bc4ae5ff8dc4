// SPDX-License-Identifier: Apache-2.0
//
// What an LP keeps of a level in its ledger, one cache line: the value that lasts and what came
// before it, weighted by the ticks that it lasted (West: Updating mean and variance estimates: an
// improved method, CACM 22(9), 1979). A rollback restores it with the LP; the order of additions is
// that of the LP's events, so its bits do not depend on the engine. The time of the last value
// counts when the next comes, and at the end of the run.
#pragma once

#include <cstdint>

#include "orrery/results.h"
#include "orrery/time.h"

namespace orrery {

struct LevelState {
  double value = 0.0;
  std::uint64_t changes = 0;  ///< 0: the LP has no such level
  Time begun, since;          ///< what is before `since` is counted
  double area = 0.0, squares = 0.0, minimum = 0.0, maximum = 0.0;

  /// From now on, or from `from` on if that is later, it is `next`.
  void set(double next, Time now, Time from);
  /// The time until then counts.
  void advance(Time to);
  /// Of one LP whose time has come to its end.
  LevelSummary summary() const;
};
static_assert(sizeof(LevelState) == 64);

}  // namespace orrery
