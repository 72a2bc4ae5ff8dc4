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

/// One moment on both clocks.
struct MomentOnBothClocks {
  std::chrono::steady_clock::time_point time;
  std::uint64_t cycles = 0;
};

/// A thread may lose its core between the readings of two clocks. Of eight attempts, the one with the
/// fewest cycles around the reading of the steady clock was not interrupted.
inline MomentOnBothClocks read_both_clocks() {
  MomentOnBothClocks best;
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int attempt = 0; attempt < 8; ++attempt) {
    const std::uint64_t before = read_cycles();
    const auto time = std::chrono::steady_clock::now();
    const std::uint64_t around = read_cycles() - before;
    if (around < shortest) {
      shortest = around;
      best = {time, before + around / 2};
    }
  }
  return best;
}

/// Measured once, over at least a millisecond.
inline double cycles_per_second() {
  static const double rate = [] {
    const MomentOnBothClocks first = read_both_clocks();
    MomentOnBothClocks last = first;
    while (last.time - first.time < std::chrono::milliseconds(1)) last = read_both_clocks();
    return static_cast<double>(last.cycles - first.cycles) /
           std::chrono::duration<double>(last.time - first.time).count();
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
