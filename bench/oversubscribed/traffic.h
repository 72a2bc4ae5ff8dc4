// SPDX-License-Identifier: Apache-2.0
//
// Vehicles on a grid of intersections, as SCATTER simulates them (Perumalla: A systems approach to
// scalable transportation network modeling, WSC 2006), a workload of the thesis. A vehicle waits
// until the road that it wants is free, so delays depend on the order of those who came before: an
// event out of order moves all behind it. Ranks have strips of the grid.
#pragma once

#include <algorithm>

#include "setting.h"

namespace oversubscribed {

class Traffic {
 public:
  struct State {
    Ticks free[4];  ///< from when on the next vehicle can enter the road to the east, ...
    std::uint64_t trips;
  };
  static constexpr Ticks kCrossing = 10, kShortest = 90;
  static constexpr Ticks kLookahead = kCrossing + kShortest;

  explicit Traffic(const Setting& setting) : lps_(setting.lps), width_(width_of(setting.lps)) {}

  void begin(std::uint32_t lp, State&, Draws& draws, Sends& sends) const {
    for (unsigned i = 0; i < kVehicles; ++i)
      sends.to(lp, 1 + draws.exponential(kLongest), 0, draws.below(lps_));
  }
  void handle(const Event& event, State& state, Draws& draws, Sends& sends) const {
    auto goal = static_cast<std::uint32_t>(event.data);
    if (goal == event.lp) {
      ++state.trips;
      goal = draws.below(lps_);
    }
    if (goal == event.lp) return sends.to(goal, kPause, 0, goal);
    const unsigned way = direction(event.lp, goal, draws);
    const Ticks enters = std::max(event.time + kCrossing, state.free[way]);
    state.free[way] = enters + kHeadway;
    sends.to(beyond(event.lp, way), enters - event.time + length(event.lp, way), 0, goal);
  }

 private:
  static constexpr unsigned kVehicles = 2;  ///< an intersection
  static constexpr Ticks kLongest = 500, kHeadway = 40, kPause = 1000;
  enum : unsigned { kEast, kWest, kSouth, kNorth };

  /// The divisor next to the root: a rectangle without holes.
  static std::uint32_t width_of(std::uint32_t lps) {
    std::uint32_t width = 1;
    for (std::uint32_t i = 1; i * i <= lps; ++i)
      if (lps % i == 0) width = i;
    return width;
  }
  /// Towards the goal; where two ways lead there, one by chance.
  unsigned direction(std::uint32_t from, std::uint32_t goal, Draws& draws) const {
    const std::uint32_t x = from % width_, y = from / width_;
    const std::uint32_t to_x = goal % width_, to_y = goal / width_;
    if (y == to_y || (x != to_x && draws.happens(0.5))) return x < to_x ? kEast : kWest;
    return y < to_y ? kSouth : kNorth;
  }
  std::uint32_t beyond(std::uint32_t from, unsigned way) const {
    switch (way) {
      case kEast:
        return from + 1;
      case kWest:
        return from - 1;
      case kSouth:
        return from + width_;
      default:
        return from - width_;
    }
  }
  static Ticks length(std::uint32_t from, unsigned way) {
    return kShortest + static_cast<Ticks>(mix(from * 4 + way) % (kLongest - kShortest));
  }

  const std::uint32_t lps_, width_;
};

}  // namespace oversubscribed
