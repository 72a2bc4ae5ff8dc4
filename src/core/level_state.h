// SPDX-License-Identifier: Apache-2.0
//
// An LP's state of a level in its ledger, one cache line: the current value and sums over earlier
// values weighted by their durations in ticks (West: Updating mean and variance estimates: an
// improved method, CACM 22(9), 1979). A rollback restores it with the LP; the order of additions is
// that of the LP's events, so its bits do not depend on the engine. The current value is added when
// the next one comes, and at the end of the run.
#pragma once

#include <cstdint>

#include "orrery/results.h"
#include "orrery/time.h"

namespace orrery {

struct LevelState {
  double value = 0.0;
  std::uint64_t changes = 0;  ///< 0: the LP has no such level
  Time begun, since;          ///< the time before `since` is in the sums
  double area = 0.0, squares = 0.0, minimum = 0.0, maximum = 0.0;

  /// Sets the level to `next` from `now` on, or from `from` on if that is later.
  void set(double next, Time now, Time from);
  /// Adds the current value up to `to` to the sums.
  void advance(Time to);
  /// The summary of one LP after the end of its time.
  LevelSummary summary() const;
};
static_assert(sizeof(LevelState) == 64);

}  // namespace orrery
