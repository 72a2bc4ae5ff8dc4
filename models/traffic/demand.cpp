// SPDX-License-Identifier: Apache-2.0
//
// From a trip table to cumulative sums, and what can be wrong with a table beside its syntax.
#include "demand.h"

#include <fmt/format.h>

#include <numeric>

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

/// A zone has a node if the network numbers one so and a link touches it.
void require_node(const TntpTrips& trips, const TntpDemand& demand, NodeNumber zone,
                  const Network& network) {
  const char* side = zone == demand.origin ? "from" : "to";
  if (zone < 1 || zone > network.zone_count) {
    refuse_line(trips.path, demand.line,
                fmt::format("trips {} zone {} are given, but the network has no node for it: its "
                            "zones are 1 to {}",
                            side, zone, network.zone_count));
  }
  if (network.roads_from(zone - 1).empty() && network.stop_lines_of(zone - 1).empty()) {
    refuse_line(trips.path, demand.line,
                fmt::format("trips {} zone {} are given, but no link of the network begins or ends "
                            "at its node",
                            side, zone));
  }
}

}  // namespace

std::vector<Demand::Pair> pairs_of(const TntpTrips& trips, const Network& network, double factor,
                                   double& within_zones) {
  std::vector<Demand::Pair> pairs;
  pairs.reserve(trips.pairs.size());
  within_zones = 0;
  for (const TntpDemand& demand : trips.pairs) {
    require_node(trips, demand, demand.origin, network);
    require_node(trips, demand, demand.destination, network);
    const double scaled = demand.trips * factor;
    if (demand.origin == demand.destination)
      within_zones += scaled;
    else if (scaled > 0)
      pairs.push_back({demand.origin - 1, demand.destination - 1, scaled});
  }
  return pairs;
}

}  // namespace traffic
