// SPDX-License-Identifier: Apache-2.0
//
// The option of this engine that only tests set: who asks for the engine by its name wants LPs in
// ordinary memory.
#pragma once

#include "run/options.h"

namespace orrery::sequential {

extern const Option<bool> kOnHeaps;  ///< LPs lie in LP heaps, as Time Warp has them

}  // namespace orrery::sequential
