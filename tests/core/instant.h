// SPDX-License-Identifier: Apache-2.0
//
// A time by its number of ticks, as tests write it.
#pragma once

#include <cstdint>

#include "orrery/time.h"

namespace orrery::testing {

inline Time at(std::int64_t ticks) {
  return Time::from_ticks(ticks);
}

}  // namespace orrery::testing
