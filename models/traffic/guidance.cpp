// SPDX-License-Identifier: Apache-2.0
#include "guidance.h"

#include "orrery/math.h"
#include "spread.h"

namespace traffic {
using orrery::Duration;

ZoneTimes::ZoneTimes(const Network& network, const std::vector<Demand::Pair>& pairs)
    : zones_(network.zone_count), times_(std::size_t{network.node_count} * zones_, kNever) {
  const std::vector<std::uint32_t> destinations = destinations_of(pairs, zones_);
  spread(destinations.size(), [&] {
    return [&, search = BackwardSearch<Duration>(network, Duration::max())](std::size_t i) mutable {
      search.run(destinations[i],
                 [&](std::uint32_t road) { return network.roads[road].free_flow; });
      for (std::uint32_t node = 0; node < network.node_count; ++node)
        if (search.rank(node) != search.kNone)
          times_[std::size_t{node} * zones_ + destinations[i]] =
              Guidance::milliseconds(search.cost(node));
    };
  });
}

/// A link may be taken if its end may be crossed and is closer to the zone. The link of the
/// shortest path may always be taken, even if the difference is less than a millisecond.
Guidance::Guidance(const Network& network, const ShortestPaths& paths, const ZoneTimes& times,
                   std::uint32_t node)
    : zones_(times.zones()),
      links_(static_cast<std::uint32_t>(network.roads_from(node).size())),
      own_(node),
      times_(std::size_t{zones_} * links_, ZoneTimes::kNever) {
  for (std::uint32_t zone = 0; zone < zones_; ++zone) {
    for (std::uint32_t link = 0; link < links_; ++link) {
      const Road& road = network.roads[network.out_begin[node] + link];
      const bool passable = road.to == zone || road.to >= network.first_through;
      const bool closer = times.from(road.to, zone) < times.from(node, zone);
      if (link != paths.next(node, zone) && !(passable && closer)) continue;
      times_[std::size_t{zone} * links_ + link] =
          sum(milliseconds(road.free_flow), times.from(road.to, zone));
    }
  }
}

void Guidance::learn(const CostReport& report) {
  const std::uint32_t end = std::min(report.first_zone + CostReport::kZones, zones_);
  for (std::uint32_t zone = report.first_zone; zone < end; ++zone) {
    std::uint32_t& time = times_[std::size_t{zone} * links_ + report.link];
    if (time == ZoneTimes::kNever) continue;
    const std::uint32_t told =
        std::min(report.time[zone - report.first_zone], ZoneTimes::kNever - 1);
    // Moves half the difference, rounded towards the report, so that equal reports are reached.
    time = told > time ? time + (told - time + 1) / 2 : time - (time - told + 1) / 2;
  }
}

std::uint32_t Guidance::time_to(std::uint32_t zone) const {
  if (zone == own_) return 0;
  const std::uint32_t* times = times_.data() + std::size_t{zone} * links_;
  std::uint32_t least = ZoneTimes::kNever;
  for (std::uint32_t link = 0; link < links_; ++link) least = std::min(least, times[link]);
  return least;
}

std::uint32_t Guidance::choose(std::uint32_t zone, std::uint32_t draw, double spread) const {
  const std::uint32_t* times = times_.data() + std::size_t{zone} * links_;
  const auto best = static_cast<std::uint32_t>(std::min_element(times, times + links_) - times);
  const double scale = std::max(1.0, spread * times[best]);
  const auto weight = [&](std::uint32_t link) {
    return times[link] == ZoneTimes::kNever
               ? 0.0
               : orrery::math::exp(-static_cast<double>(times[link] - times[best]) / scale);
  };
  double total = 0;
  for (std::uint32_t link = 0; link < links_; ++link) total += weight(link);
  double left = static_cast<double>(draw) * 0x1p-32 * total;
  for (std::uint32_t link = 0; link < links_; ++link) {
    const double part = weight(link);
    if (left < part) return link;
    left -= part;
  }
  return best;
}

}  // namespace traffic
