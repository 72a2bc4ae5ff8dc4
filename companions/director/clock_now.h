// SPDX-License-Identifier: Apache-2.0
//
// The moment, by CLOCK_MONOTONIC, for all threads of the director.
#pragma once

#include <ctime>

#include "director/policy.h"

namespace orrery::director {

inline Nanoseconds clock_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace orrery::director
