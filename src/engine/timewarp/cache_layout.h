// SPDX-License-Identifier: Apache-2.0
//
// Which cache sets serve which memory of a run (memory/colour.h, memory/cache_tuning.h).
#pragma once

#include <string>
#include <vector>

#include "engine/timewarp/settings.h"
#include "memory/colour.h"

namespace orrery::timewarp {

struct CacheLayout {
  memory::Colouring colouring;  ///< of worker 0
  bool automatic = false;

  /// For `workers` threads. A worker without peers takes no checkpoints and gets no colouring:
  /// there is nothing to separate. Adds to `notes` what is assumed or impossible.
  static CacheLayout choose(const Settings& settings, unsigned workers,
                            std::vector<std::string>& notes);
  memory::Colouring of_worker(unsigned worker) const {
    memory::Colouring its = colouring;
    its.worker = worker;
    return its;
  }
};

}  // namespace orrery::timewarp
