// SPDX-License-Identifier: Apache-2.0
//
// Times and durations by their numbers of ticks, as tests write them.
#pragma once

#include <cstdint>

#include "orrery/time.h"

namespace orrery::testing {

inline Time at(std::int64_t ticks) {
  return Time::from_ticks(ticks);
}

inline Duration ticks(std::int64_t n) {
  return Duration::from_ticks(n);
}

}  // namespace orrery::testing
