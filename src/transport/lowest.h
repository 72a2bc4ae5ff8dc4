// SPDX-License-Identifier: Apache-2.0
//
// The lowest keys that the workers of a round report (rounds.h): the lowest of all bounds what may
// still be executed anywhere, the lowest of the *others* what a worker may still get from them.
// Reports derive from it.
#pragma once

#include <algorithm>

#include "core/key.h"

namespace orrery::transport {

struct LowestKeys {
  Key lowest = Key::infinity();
  Key second_lowest = Key::infinity();  ///< of the others, when the lowest one's is left out

  void add(const LowestKeys& one) {
    second_lowest =
        std::min(std::max(lowest, one.lowest), std::min(second_lowest, one.second_lowest));
    lowest = std::min(lowest, one.lowest);
  }
  /// Of the sum of all: for a worker whose own is `own`. Where two have the lowest it is that.
  const Key& of_the_others(const Key& own) const { return own == lowest ? second_lowest : lowest; }
};

}  // namespace orrery::transport
