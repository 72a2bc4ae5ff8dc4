// SPDX-License-Identifier: Apache-2.0
//
// How a thread waits for another: it spins, since the other is usually done within a microsecond or
// two; then it offers the core, since the other may need it; then it sleeps until it is woken.
// Where there are more threads than cores it does not spin at all.
#pragma once

#include <sched.h>

#include <cstdint>

namespace orrery::expanded {

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
  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

 private:
  static constexpr std::uint32_t kSpins = 1500;  // some 50 us with the cost of `pause` today
  static constexpr std::uint32_t kYields = 10;
  std::uint32_t spins_;
};

}  // namespace orrery::expanded
