// SPDX-License-Identifier: Apache-2.0
//
// The checkpoint interval: a checkpoint is taken before every n-th event of an LP. An automatic n
// comes from measurements. With M events executed, k rollbacks, a cost s of a checkpoint and c of
// an event, saving costs M s / n, and coasting forward costs k c (n - 1) / 2 on average. The sum is
// least at n = sqrt(2 M s / (k c)) (Rönngren and Ayani, "Adaptive checkpointing in Time Warp", PADS
// 1994).
//
// The automatic interval begins with n = 1, the best value for long events, and cheap elsewhere,
// since a few events suffice to measure their cost. The rate of rollbacks is known late. Until then
// one rollback in twenty events is assumed, with the weight of 64 observed events.
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

  /// Takes the measurements: events executed, rollbacks, and mean costs in any one unit.
  void adjust(double executed, double rollbacks, double checkpoint_cost, double event_cost);

 private:
  constexpr Interval(std::uint32_t events, bool automatic)
      : events_(events), automatic_(automatic) {}
  std::uint32_t events_;
  bool automatic_;
};

}  // namespace orrery::checkpoint
