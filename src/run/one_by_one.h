// SPDX-License-Identifier: Apache-2.0
//
// A world that one thread moves forward: one pending event set, one loop. This is what all engines
// are measured by, so it does nothing that a hand-written simulator would not: an event is one node
// of 32 bytes and its payload, taken from a free list; the pending set holds 16-byte entries; an
// LP's kernel state is 32 bytes; the only indirect calls are the model's handler and its sends.
//
// It is the sequential engine, and what other engines do where only one worker is left.
#pragma once

#include "run/world_engine.h"

namespace orrery {

/// WorldEngine::advance by the calling thread alone.
void advance_one_by_one(World& world, const RunOptions& options, const Goal& goal,
                        RunControl& control, RunResult& result);

}  // namespace orrery
