// SPDX-License-Identifier: Apache-2.0
//
// How often checkpoints are taken: before every n-th event of an LP. Where n is not fixed, it is
// found from what was measured since the last adjustment: with M events executed, k rollbacks, a
// checkpoint costing s and an event c, saving costs M s / n and coasting forward on average
// k c (n - 1) / 2, which is least at n = sqrt(2 M s / (k c)) (Rönngren and Ayani, "Adaptive
// checkpointing in Time Warp", PADS 1994).
#pragma once

#include <cstdint>

namespace orrery::checkpoint {

class Interval {
 public:
  static constexpr std::uint32_t kLongest = 1024;
  static constexpr std::uint32_t kLongestAutomatic = 64;
  static constexpr std::uint32_t kFirstAutomatic = 16;

  static constexpr Interval fixed(std::uint32_t events) { return {events, false}; }
  static constexpr Interval automatic(std::uint32_t first = kFirstAutomatic) {
    return {first, true};
  }

  std::uint32_t events() const { return events_; }
  bool is_automatic() const { return automatic_; }

  /// One measuring period: events executed, rollbacks, and mean costs in any one unit.
  void adjust(std::uint64_t executed, std::uint64_t rollbacks, double checkpoint_cost,
              double event_cost);

 private:
  constexpr Interval(std::uint32_t events, bool automatic)
      : events_(events), automatic_(automatic) {}
  std::uint32_t events_;
  bool automatic_;
};

}  // namespace orrery::checkpoint
