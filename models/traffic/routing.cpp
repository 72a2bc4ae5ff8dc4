// SPDX-License-Identifier: Apache-2.0
//
// Dijkstra's search, backwards from each destination, and the resulting flows. Searches are
// independent, so they are spread over the cores. Each search writes its own part of the tables, so
// the result does not depend on the distribution over the cores.
#include "routing.h"

#include <fmt/format.h>

#include "orrery/error.h"
#include "spread.h"

namespace traffic {
namespace {

using orrery::Duration;

void require_few_links(const Network& network) {
  for (std::uint32_t node = 0; node < network.node_count; ++node) {
    const std::size_t links = network.roads_from(node).size();
    if (links >= ShortestPaths::kNone) {
      throw orrery::UsageError(fmt::format("{}: {} links leave node {}; at most {} are supported",
                                           network.name, links, network.label(node),
                                           ShortestPaths::kNone - 1));
    }
  }
}

}  // namespace

std::vector<std::uint32_t> destinations_of(const std::vector<Demand::Pair>& pairs,
                                           std::size_t zones) {
  std::vector<bool> wanted(zones, false);
  for (const Demand::Pair& pair : pairs) wanted[pair.destination] = true;
  std::vector<std::uint32_t> list;
  for (std::uint32_t zone = 0; zone < zones; ++zone)
    if (wanted[zone]) list.push_back(zone);
  return list;
}

ShortestPaths::ShortestPaths(const Network& network, const std::vector<Demand::Pair>& pairs)
    : zones_(network.zone_count),
      next_(std::size_t{network.node_count} * zones_, kNone),
      free_flow_(zones_ * zones_, Duration::max()) {
  require_few_links(network);
  const std::vector<std::uint32_t> destinations = destinations_of(pairs, zones_);
  spread(destinations.size(), [&] {
    return [&, search = BackwardSearch<Duration>(network, Duration::max())](std::size_t i) mutable {
      search.run(destinations[i],
                 [&](std::uint32_t road) { return network.roads[road].free_flow; });
      keep(network, search, destinations[i]);
    };
  });
}

void ShortestPaths::keep(const Network& network, const BackwardSearch<Duration>& search,
                         std::uint32_t zone) {
  for (std::uint32_t node = 0; node < network.node_count; ++node) {
    const std::uint32_t road = search.next(node);
    if (road == search.kNone) continue;
    next_[std::size_t{node} * zones_ + zone] =
        static_cast<std::uint8_t>(road - network.out_begin[node]);
  }
  for (std::uint32_t origin = 0; origin < zones_; ++origin)
    free_flow_[std::size_t{origin} * zones_ + zone] = search.cost(origin);
}

std::vector<double> ShortestPaths::assign(const Network& network, const Demand& demand) const {
  std::vector<double> flow(network.roads.size(), 0.0);
  demand.for_each([&](std::uint32_t origin, std::uint32_t destination, double trips) {
    for (std::uint32_t node = origin; node != destination;) {
      const std::uint32_t road = network.out_begin[node] + next(node, destination);
      flow[road] += trips;
      node = network.roads[road].to;
    }
  });
  return flow;
}

}  // namespace traffic
