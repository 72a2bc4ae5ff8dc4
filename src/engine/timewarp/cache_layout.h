// SPDX-License-Identifier: Apache-2.0
//
// Which cache sets serve which memory of a run (memory/colour.h, memory/cache_tuning.h).
#pragma once

#include <string>
#include <vector>

#include "memory/colour.h"
#include "run/options/options.h"

namespace orrery::timewarp {

/// The colouring of worker 0 of `workers`; it is off for a worker without peers, which takes no
/// checkpoints: there is nothing to separate. Adds to `notes` what is assumed or impossible.
memory::Colouring choose_colouring(const RunOptions& options, unsigned workers,
                                   std::vector<std::string>& notes);

}  // namespace orrery::timewarp
