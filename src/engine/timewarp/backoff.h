// SPDX-License-Identifier: Apache-2.0
//
// What a worker does that has nothing to do: a short spin, since a message usually comes within a
// microsecond; then it offers the core to others, since the worker it waits for may need it; then
// it sleeps, longer each time up to a fifth of a millisecond, so that workers beyond the number of
// cores cost next to nothing.
#pragma once

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdint>

namespace orrery::timewarp {

class Backoff {
 public:
  /// `crowded`: more workers than cores, so spinning only takes time from those waited for.
  explicit Backoff(bool crowded) : spins_(crowded ? 0 : kSpins) {}

  void wait() {
    ++waits_;
    if (waits_ <= spins_) {
      for (int i = 0; i < 32; ++i) relax();
    } else if (waits_ <= spins_ + kYields) {
      sched_yield();
    } else {
      const timespec pause{0, sleep_ns_};
      nanosleep(&pause, nullptr);
      sleep_ns_ = std::min<long>(sleep_ns_ * 2, 200'000);
    }
  }
  void reset() {
    waits_ = 0;
    sleep_ns_ = 20'000;
  }

 private:
  static constexpr std::uint32_t kSpins = 200;
  static constexpr std::uint32_t kYields = 20;
  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  std::uint32_t waits_ = 0;
  std::uint32_t spins_;
  long sleep_ns_ = 20'000;
};

}  // namespace orrery::timewarp
