// SPDX-License-Identifier: Apache-2.0
//
// How threads wait for each other: first spin, since the other is usually done within a microsecond
// or two; then yield the core, since the other may need it; then sleep. With more threads than
// cores a thread does not spin, which would only take time from the thread that it waits for. A
// thread that others can wake sleeps on its condition (SpinThenYield::wait says when). A thread
// that no other thread wakes sleeps for periods that grow (Backoff).
#pragma once

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdint>

namespace orrery {

class SpinThenYield {
 public:
  explicit SpinThenYield(bool crowded) : spins_(crowded ? 0 : kSpins) {}

  /// Waits until `ready()`; returns false when it is time to sleep.
  template <class Ready>
  bool wait(Ready&& ready) const {
    for (std::uint32_t i = 0; i < spins_; ++i) {
      if (ready()) return true;
      relax();
    }
    for (std::uint32_t i = 0; i < kYields; ++i) {
      if (ready()) return true;
      sched_yield();
    }
    return ready();
  }
  std::uint32_t spins() const { return spins_; }
  /// A few dozen nanoseconds.
  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  static constexpr std::uint32_t kYields = 20;

 private:
  static constexpr std::uint32_t kSpins = 1500;  // some 50 us with the cost of `pause` today
  std::uint32_t spins_;
};

/// For a thread that polls between waits: each call of `wait` is the next, longer step.
class Backoff {
 public:
  explicit Backoff(bool crowded) : looks_(crowded ? 0 : kLooks) {}

  void wait() {
    ++waits_;
    if (waits_ <= looks_ + kYields) {
      if (looks_ > 0)
        for (std::uint32_t i = 0; i < kRelaxesALook; ++i) SpinThenYield::relax();
      if (waits_ > looks_) sched_yield();
    } else {
      const timespec pause{0, nap_ns_};
      nanosleep(&pause, nullptr);
      nap_ns_ = std::min(nap_ns_ * 2, kLongestNapNs);
    }
  }
  void reset() {
    waits_ = 0;
    nap_ns_ = kShortestNapNs;
  }

  /// With more threads than cores, the others' turns end sooner than a sleep: 8 threads on two
  /// cores that synchronise all the time are six times faster than with 20 yields.
  static constexpr std::uint32_t kYields = 400;

 private:
  /// A poll (draining all rings) loads cache lines of other cores: not as often as a comparison.
  static constexpr std::uint32_t kRelaxesALook = 32;
  /// Some 20 us: a thread with a core has answered by then. A thread without one, since other
  /// processes have it, gets it by the yields, which cost nothing if nobody wants the core.
  static constexpr std::uint32_t kLooks = 16;
  static constexpr long kShortestNapNs = 20'000, kLongestNapNs = 200'000;
  const std::uint32_t looks_;
  std::uint32_t waits_ = 0;
  long nap_ns_ = kShortestNapNs;
};

}  // namespace orrery
