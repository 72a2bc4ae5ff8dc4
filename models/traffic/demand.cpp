// SPDX-License-Identifier: Apache-2.0
//
// Converts a trip table to cumulative sums, and checks the table against the network.
#include "demand.h"

#include <fmt/format.h>

#include <numeric>
#include <string>

#include "orrery/error.h"

namespace traffic {

Demand::Demand(std::uint32_t nodes, const std::vector<Pair>& pairs)
    : begin_(std::size_t{nodes} + 1, 0), destinations_(pairs.size()), cumulative_(pairs.size()) {
  for (const Pair& pair : pairs) ++begin_[pair.origin + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<std::uint32_t> next(begin_);
  for (const Pair& pair : pairs) {
    const std::uint32_t at = next[pair.origin]++;
    destinations_[at] = pair.destination;
    cumulative_[at] = pair.trips + (at == begin_[pair.origin] ? 0.0 : cumulative_[at - 1]);
    total_ += pair.trips;
  }
}

namespace {

/// A zone has a node if the network has a node of that number and a link touches it.
std::uint32_t node_of(const TntpTrips& trips, const TntpDemand& demand, NodeNumber zone,
                      const Network& network) {
  const char* side = zone == demand.origin ? "from" : "to";
  const auto node = network.find(zone);
  if (!node || *node >= network.zone_count) {
    const std::string zones =
        network.numbers.empty()
            ? fmt::format("its zones are 1 to {}", network.zone_count)
            : fmt::format("its zones are its {} nodes from {} to {}", network.zone_count,
                          network.label(0), network.label(network.zone_count - 1));
    refuse_line(trips.path, demand.line,
                fmt::format("trips {} zone {} are given, but the network has no node for it: {}",
                            side, zone, zones));
  }
  if (network.roads_from(*node).empty() && network.stop_lines_of(*node).empty()) {
    refuse_line(trips.path, demand.line,
                fmt::format("trips {} zone {} are given, but no link of the network begins or ends "
                            "at its node",
                            side, zone));
  }
  return *node;
}

/// Refuses the table of another network, which would otherwise be accepted if it has fewer zones.
void require_same_zones(const TntpTrips& trips, const Network& network) {
  if (trips.zones == network.zone_count) return;
  throw orrery::UsageError(fmt::format(
      "{}: '<NUMBER OF ZONES>' is {}, but {} in the network {}; do the two files belong "
      "together?",
      trips.path, trips.zones, network.zone_count, network.name));
}

}  // namespace

std::vector<Demand::Pair> pairs_of(const TntpTrips& trips, const Network& network, double factor,
                                   double& within_zones) {
  std::vector<Demand::Pair> pairs;
  pairs.reserve(trips.pairs.size());
  within_zones = 0;
  for (const TntpDemand& demand : trips.pairs) {
    const std::uint32_t origin = node_of(trips, demand, demand.origin, network);
    const std::uint32_t destination = node_of(trips, demand, demand.destination, network);
    const double scaled = demand.trips * factor;
    if (origin == destination)
      within_zones += scaled;
    else if (scaled > 0)
      pairs.push_back({origin, destination, scaled});
  }
  require_same_zones(trips, network);
  return pairs;
}

}  // namespace traffic
