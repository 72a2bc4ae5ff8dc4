// SPDX-License-Identifier: Apache-2.0
//
// How many events a loop executes before it checks requests to stop, its goal, and observers. Many
// while events are short, so that the check costs nothing; few while they are long, so that nobody
// waits for thousands of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/cycles.h"

namespace orrery {

class LookInterval {
 public:
  /// `most`: events between two checks.
  explicit LookInterval(std::uint64_t most = 4096) : most_(most) {}

  std::uint64_t events() const { return events_; }
  /// Call before events, if the thread has waited since the last look.
  void begin() { last_cycles_ = read_cycles(); }
  /// Call after that many events; adapts the number.
  void look() {
    const std::uint64_t now = read_cycles();
    const std::uint64_t cycles = now - last_cycles_;
    last_cycles_ = now;
    if (cycles > longest_cycles_) {
      events_ = std::max<std::uint64_t>(1, events_ * longest_cycles_ / (2 * cycles));
    } else if (cycles < longest_cycles_ / 4) {
      events_ = std::min(2 * events_, most_);
    }
  }

 private:
  static constexpr double kLongestSeconds = 4e-3;

  const std::uint64_t most_;
  const std::uint64_t longest_cycles_ = cycles_in(kLongestSeconds);
  std::uint64_t last_cycles_ = read_cycles();
  std::uint64_t events_ = 64;
};

}  // namespace orrery
