// SPDX-License-Identifier: Apache-2.0
//
// The metrics of an unfinished run whose world is whole: their values if the run ended there,
// without what finish() records.
#pragma once

#include "run/engine.h"
#include "run/world/world.h"
#include "transport/ranks/rank_transport.h"

namespace orrery {

/// Metrics, levels and mergeable statistics of all events before `time`, which the world has
/// reached. `ranks`: null for a single rank; else all ranks call this, and each gets the result for
/// all LPs.
RunResult metrics_so_far(World& world, Time time, transport::RankTransport* ranks);

}  // namespace orrery
