// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "orrery/context.h"

namespace orrery::testing {

/// A random phase that a send with that delay may name.
inline Phase any_phase(Context& context, Duration delay) {
  const unsigned least = delay == Duration::zero() ? context.phase().number() : 0;
  return Phase(least + static_cast<unsigned>(context.random().below(Phase::kMost + 1 - least)));
}

}  // namespace orrery::testing
