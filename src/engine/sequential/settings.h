// SPDX-License-Identifier: Apache-2.0
//
// The option of this engine, which only tests set: otherwise LPs lie in ordinary memory.
#pragma once

#include "run/options/options.h"

namespace orrery::sequential {

extern const Option<bool> kOnHeaps;  ///< LPs lie in LP heaps, as Time Warp has them

}  // namespace orrery::sequential
