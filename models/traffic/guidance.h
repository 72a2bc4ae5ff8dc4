// SPDX-License-Identifier: Apache-2.0
//
// Within-day routing (routes=adaptive): the estimates of an intersection of the times to all
// destinations, and the choice of a vehicle's next link from these estimates.
//
// Every `report_interval` each intersection sends events to its upstream neighbours with the time
// from the neighbour to each zone over the link between them. This time is the sum of the link's
// free-flow time, the wait at the stop line for a vehicle that arrives now, and the least estimate
// of the intersection itself. This is the distributed shortest-path computation of the first
// computer networks (J. M. McQuillan, I. Richer, E. C. Rosen, "The new routing algorithm for the
// ARPANET", IEEE Trans. Communications 28, 1980, on the method that theirs replaced; D. Bertsekas,
// R. Gallager, "Data Networks", 1992, section 5.2), smoothed by the rule of J. A. Boyan and M. L.
// Littman, "Packet routing in dynamically changing networks", NIPS 6, 1994: a report moves an
// estimate by a part of the difference. A report takes the link's free-flow time, so news of a jam
// goes back by one link in half an interval plus that time, on average.
//
// Two rules avoid the known faults of such routing. First, vehicles only take links that bring them
// closer to their destination in free-flow time (the efficient links of R. B. Dial, "A
// probabilistic multipath traffic assignment model which obviates path enumeration", Transportation
// Research 5, 1971), so no vehicle drives in circles and estimates do not count to infinity.
// Second, vehicles draw among these links by a logit of the times (ibid.), with a spread in
// proportion to the time left. If all vehicles took the link that was best a minute ago, the jam
// would only move.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "network.h"
#include "routing.h"

namespace traffic {

/// Free-flow times from all nodes to all zones, in milliseconds; shared by all intersections.
class ZoneTimes {
 public:
  static constexpr std::uint32_t kNever = UINT32_MAX;

  ZoneTimes() = default;
  ZoneTimes(const Network& network, const std::vector<Demand::Pair>& pairs);

  std::uint32_t zones() const { return zones_; }
  std::uint32_t from(std::uint32_t node, std::uint32_t zone) const {
    return times_[std::size_t{node} * zones_ + zone];
  }

 private:
  std::uint32_t zones_ = 0;
  std::vector<std::uint32_t> times_;
};

/// A report from the intersection at which `link` ends to the intersection at which `link` begins.
struct CostReport {
  static constexpr std::uint32_t kZones = 64;
  std::uint32_t link;          ///< number among the receiver's outgoing links, from 0
  std::uint32_t first_zone;    ///< first of up to kZones consecutive zones in the report
  std::uint32_t time[kZones];  ///< times to these zones over the link, in milliseconds
};

class Guidance {
 public:
  Guidance() = default;
  Guidance(const Network& network, const ShortestPaths& paths, const ZoneTimes& times,
           std::uint32_t node);

  void learn(const CostReport& report);
  /// The least estimate, in milliseconds; 0 at the destination.
  std::uint32_t time_to(std::uint32_t zone) const;
  /// The outgoing link that a vehicle takes. `draw`: uniform in 32 bits. `spread`: spread of the
  /// logit, as a fraction of the time left.
  std::uint32_t choose(std::uint32_t zone, std::uint32_t draw, double spread) const;

  /// Visits all estimates, for the fingerprint.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const std::uint32_t time : times_) visit(time);
  }

  /// In milliseconds, at most kNever - 1.
  static std::uint32_t milliseconds(orrery::Duration time) {
    constexpr std::int64_t kMost = ZoneTimes::kNever - 1;
    return static_cast<std::uint32_t>(std::min(time.ticks() / 1'000'000, kMost));
  }
  /// At most kNever.
  static std::uint32_t sum(std::uint32_t a, std::uint32_t b) {
    return a > ZoneTimes::kNever - b ? ZoneTimes::kNever : a + b;
  }

 private:
  std::uint32_t zones_ = 0, links_ = 0, own_ = 0;
  std::vector<std::uint32_t> times_;  ///< by zone and link; kNever: the link must not be taken
};

}  // namespace traffic
