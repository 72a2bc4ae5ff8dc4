// SPDX-License-Identifier: Apache-2.0
//
// Spans of virtual time of the laboratory, in nanoseconds.
#pragma once

#include <cstdint>

namespace orrery::lab::testing {

inline constexpr std::int64_t kUs = 1'000, kMs = 1'000'000, kSecond = 1'000'000'000;

}  // namespace orrery::lab::testing
