// SPDX-License-Identifier: Apache-2.0
//
// The lowest keys that the workers of a round report (rounds.h). The lowest key of all is the lower
// bound on events that any worker may still execute. The lowest key of the *others* is the bound on
// messages that a worker may still get. Reports derive from this.
#pragma once

#include <algorithm>

#include "core/key.h"

namespace orrery::transport {

struct LowestKeys {
  Key lowest = Key::infinity();
  Key second_lowest = Key::infinity();  ///< lowest key without the worker that has the lowest

  void add(const LowestKeys& one) {
    second_lowest =
        std::min(std::max(lowest, one.lowest), std::min(second_lowest, one.second_lowest));
    lowest = std::min(lowest, one.lowest);
  }
  /// Called on the sum over all workers. `own`: the caller's lowest key. If two have it, it is the
  /// result.
  const Key& of_the_others(const Key& own) const { return own == lowest ? second_lowest : lowest; }
};

}  // namespace orrery::transport
