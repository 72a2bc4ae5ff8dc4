// SPDX-License-Identifier: Apache-2.0
//
// The metrics of a run that is not over, where its world is whole: what they would be if it ended
// there, without what finish() records.
#pragma once

#include "run/engine.h"
#include "run/world.h"
#include "transport/ranks/rank_transport.h"

namespace orrery {

/// Metrics, levels and the tally of everything before `time`, which the world has come to; `ranks`:
/// null where there is one, else all ranks ask, and each is told of all LPs.
RunResult metrics_so_far(World& world, Time time, transport::RankTransport* ranks);

}  // namespace orrery
