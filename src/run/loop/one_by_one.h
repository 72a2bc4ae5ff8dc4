// SPDX-License-Identifier: Apache-2.0
//
// Executing a world by one thread: one pending event set, one loop. All engines are measured
// against this, so it does nothing that a hand-written simulator would not: an event is one node of
// 32 bytes and its payload, taken from a free list; the pending event set holds 16-byte entries; an
// LP's kernel state is 32 bytes; the only indirect calls are the model's handler and its sends.
//
// It is the sequential engine, and other engines use it when only one worker is left.
#pragma once

#include "run/world/world_engine.h"

namespace orrery {

/// WorldEngine::advance by the calling thread alone.
void advance_one_by_one(World& world, const RunOptions& options, const Goal& goal,
                        RunControl& control, RunResult& result);

}  // namespace orrery
