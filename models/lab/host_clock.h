// SPDX-License-Identifier: Apache-2.0
//
// A host's clock that drifts: the linear map between simulation time and the host's time. Both are
// nanoseconds since the start, at which both are 0. With a drift d, the host's clock advances by
// (1 + d) nanoseconds in a nanosecond of simulation time.
//
// Times are whole nanoseconds, so the map rounds, and never to the early side: a frame arrives at the
// host no earlier, by the host's clock, than at the instant of its simulation time, and a frame that
// the host sends is on the wire no earlier than at the instant that the host's clock shows. The
// arithmetic is exact (128-bit integers), so both directions are monotone.
#pragma once

#include <cstdint>
#include <limits>

namespace orrery::lab {

class HostClock {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  /// A drift is a whole number of these parts: 1 ppm is 1,000,000 of them.
  static constexpr std::int64_t kParts = 1'000'000'000'000;
  static constexpr std::int64_t kMostDrift = kParts / 10;

  /// `drift`: -kMostDrift to kMostDrift.
  constexpr explicit HostClock(std::int64_t drift = 0) : rate_(kParts + drift) {}

  constexpr bool drifts() const { return rate_ != kParts; }

  /// The earliest time of the host at or after the instant `simulation` >= 0. kNever stays kNever,
  /// and so do times for which the result would be later.
  constexpr std::int64_t to_host(std::int64_t simulation) const {
    return divided(simulation, rate_, kParts);
  }
  /// The earliest simulation time at or after the instant `host` >= 0.
  constexpr std::int64_t to_simulation(std::int64_t host) const {
    return divided(host, kParts, rate_);
  }
  /// The time of the host before which it does all that happens before `simulation`: the least time
  /// whose to_simulation() is `simulation` or later.
  constexpr std::int64_t host_before(std::int64_t simulation) const {
    if (!drifts() || simulation <= 0 || simulation == kNever) return simulation;
    const Wide last = Wide{simulation - 1} * rate_ / kParts;
    return last >= kNever ? kNever : static_cast<std::int64_t>(last) + 1;
  }

 private:
  __extension__ using Wide = __int128;

  /// time * multiplier / divisor, rounded up.
  static constexpr std::int64_t divided(std::int64_t time, std::int64_t multiplier,
                                        std::int64_t divisor) {
    if (multiplier == divisor || time == kNever) return time;
    const Wide result = (Wide{time} * multiplier + divisor - 1) / divisor;
    return result >= kNever ? kNever : static_cast<std::int64_t>(result);
  }

  std::int64_t rate_;  ///< of the host's clock, in kParts
};

}  // namespace orrery::lab
