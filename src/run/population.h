// SPDX-License-Identifier: Apache-2.0
//
// The beginning of a world: its LPs are made, all of them, then each is started.
#pragma once

#include "run/engine.h"
#include "run/world.h"

namespace orrery {

/// Makes the LPs and calls their start(); what they send is pending then, and their rows are handed
/// over. Parts are made side by side. False if one failed, or the run was asked to stop: then
/// `result` says so, and nothing is committed. Throws UsageError if it is the input's fault.
bool populate(World& world, const RunOptions& options, RunControl& control, RunResult& result);

}  // namespace orrery
