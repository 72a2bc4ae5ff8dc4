// SPDX-License-Identifier: Apache-2.0
//
// A cheap clock for decisions inside an engine: the processor's time stamp counter on x86 (about 10
// ns cheaper than the system's clock and monotone on all current x86), elsewhere the steady clock.
// Results must not depend on it.
#pragma once

#include <chrono>
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace orrery {

inline std::uint64_t read_cycles() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Measured once, over about a millisecond.
inline double cycles_per_second() {
  static const double rate = [] {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const std::uint64_t first = read_cycles();
    while (Clock::now() - start < std::chrono::milliseconds(1)) {
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return static_cast<double>(read_cycles() - first) / seconds;
  }();
  return rate;
}
inline std::uint64_t cycles_in(double seconds) {
  return static_cast<std::uint64_t>(cycles_per_second() * seconds);
}
inline double seconds_of(std::uint64_t cycles) {
  return static_cast<double>(cycles) / cycles_per_second();
}

}  // namespace orrery
