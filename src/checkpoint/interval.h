// SPDX-License-Identifier: Apache-2.0
//
// How often checkpoints are taken: before every n-th event of an LP. Where n is not fixed, it is
// found from what was measured: with M events executed, k rollbacks, a checkpoint costing s and an
// event c, saving costs M s / n and coasting forward on average k c (n - 1) / 2, which is least at
// n = sqrt(2 M s / (k c)) (Rönngren and Ayani, "Adaptive checkpointing in Time Warp", PADS 1994).
//
// It begins with n = 1, the best where events are long, and cheap elsewhere, since a few events
// tell what they cost. How often events are rolled back is known late: until then one in twenty is
// taken to be, which counts as much as 64 events that were seen.
#pragma once

#include <cstdint>

namespace orrery::checkpoint {

class Interval {
 public:
  static constexpr std::uint32_t kLongest = 1024;
  static constexpr std::uint32_t kLongestAutomatic = 64;

  static constexpr Interval fixed(std::uint32_t events) { return {events, false}; }
  static constexpr Interval automatic() { return {1, true}; }

  std::uint32_t events() const { return events_; }
  bool is_automatic() const { return automatic_; }

  /// What was measured: events executed, rollbacks, and mean costs in any one unit.
  void adjust(double executed, double rollbacks, double checkpoint_cost, double event_cost);

 private:
  constexpr Interval(std::uint32_t events, bool automatic)
      : events_(events), automatic_(automatic) {}
  std::uint32_t events_;
  bool automatic_;
};

}  // namespace orrery::checkpoint
