// SPDX-License-Identifier: Apache-2.0
//
// The beginning of a world: makes all LPs, then starts each.
#pragma once

#include "run/engine.h"
#include "run/world/world.h"

namespace orrery {

/// Makes the LPs and calls their start(); their sends become pending events, and their rows are
/// handed over. Parts are made in parallel. Returns false if an LP failed, or the run was asked to
/// stop: then `result` says so, and nothing is committed. Throws UsageError if the input is wrong.
bool populate(World& world, const RunOptions& options, RunControl& control, RunResult& result);

}  // namespace orrery
