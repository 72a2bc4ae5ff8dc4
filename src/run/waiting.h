// SPDX-License-Identifier: Apache-2.0
//
// How a thread waits for another, everywhere: it spins, since the other is usually done within a
// microsecond or two; then it offers the core, since the other may need it; then it sleeps. Where
// there are more threads than cores it does not spin at all: that only takes time from those waited
// for. Who can be woken sleeps on what wakes it (Patience::wait says when); who cannot be, since
// nobody knows that it waits, naps, longer each time (Backoff).
#pragma once

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdint>

namespace orrery {

class Patience {
 public:
  explicit Patience(bool crowded) : spins_(crowded ? 0 : kSpins) {}

  /// Waits until `ready()`; false when it is time to sleep.
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

/// For a thread that looks around between waits: each call of `wait` is one step of the row.
class Backoff {
 public:
  explicit Backoff(bool crowded) : looks_(crowded ? 0 : kLooks) {}

  void wait() {
    ++waits_;
    if (waits_ <= looks_ + kYields) {
      if (looks_ > 0)
        for (std::uint32_t i = 0; i < kRelaxesALook; ++i) Patience::relax();
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

  /// Where there are more threads than cores, the others' turns end sooner than a nap: 8 threads on
  /// two cores that agree with each other all the time are six times faster than with 20.
  static constexpr std::uint32_t kYields = 400;

 private:
  /// A look (draining all rings) costs lines of other cores: not as often as a comparison.
  static constexpr std::uint32_t kRelaxesALook = 32;
  /// Some 20 us: whoever has a core has answered by then. Who has none, since other processes have
  /// it, gets it by the offers, which cost nothing where nobody wants the core.
  static constexpr std::uint32_t kLooks = 16;
  static constexpr long kShortestNapNs = 20'000, kLongestNapNs = 200'000;
  const std::uint32_t looks_;
  std::uint32_t waits_ = 0;
  long nap_ns_ = kShortestNapNs;
};

}  // namespace orrery
