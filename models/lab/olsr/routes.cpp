// SPDX-License-Identifier: Apache-2.0
#include "routes.h"

#include <tuple>
#include <vector>

namespace orrery::lab::olsr {
namespace {

/// Step 2. The RFC uses all links whose time has not passed, also lost ones. Lost links lead
/// nowhere and are left out here.
void add_neighbours(const Information& known, Routes& routes) {
  for (const auto& [key, link] : known.links) {
    if (!link.is_symmetric()) continue;
    const Route route{key.second, key.first, 1};
    routes.emplace(Network{key.second}, route);
  }
  for (const Address neighbour : known.symmetric_neighbours()) {
    const auto& [key, link] = *known.link_to(neighbour);
    routes.emplace(Network{neighbour}, Route{key.second, key.first, 1});
  }
}

/// Step 3, two hops: by the most willing neighbour; among equals by a neighbour that has chosen
/// this router as its MPR, then by the lowest address.
void add_two_hop(const Information& known, Routes& routes) {
  using Rank = std::tuple<std::uint8_t, bool>;
  std::map<Address, std::pair<Rank, Address>> best;
  for (const auto& [pair, until] : known.two_hop) {
    const auto& [neighbour, told] = pair;
    const Address far = known.main_address(told);
    const auto willingness = known.willingness.find(neighbour);
    if (known.own.contains(far) || routes.contains(Network{far}) ||
        willingness == known.willingness.end() || willingness->second == kWillNever ||
        !routes.contains(Network{neighbour}))
      continue;
    const Rank rank{willingness->second, known.selectors.contains(neighbour)};
    const auto [place, is_new] = best.emplace(far, std::pair(rank, neighbour));
    if (!is_new && place->second.first < rank) place->second = {rank, neighbour};
  }
  for (const auto& [far, choice] : best) {
    Route route = routes.at(Network{choice.second});
    route.hops = 2;
    routes.emplace(Network{far}, route);
  }
}

/// Step 3, more hops: destinations that a router at distance h advertises are at distance h + 1.
void add_further(const Information& known, Routes& routes) {
  std::vector<Address> edge;
  for (const auto& [network, route] : routes)
    if (route.hops == 2) edge.push_back(network.address);
  while (!edge.empty()) {
    std::vector<Address> further;
    for (const Address last : edge) {
      Route route = routes.at(Network{last});
      ++route.hops;
      for (auto one = known.topology.lower_bound({last, Address{}});
           one != known.topology.end() && one->first.first == last; ++one) {
        const Address destination = one->first.second;
        if (known.own.contains(destination)) continue;
        if (routes.emplace(Network{destination}, route).second) further.push_back(destination);
      }
    }
    edge = std::move(further);
  }
}

/// Step 4: the other interfaces of routers that are reached.
void add_interfaces(const Information& known, Routes& routes) {
  for (const auto& [interface, main] : known.interfaces) {
    const auto route = routes.find(Network{main.address});
    if (route != routes.end() && !known.own.contains(interface))
      routes.emplace(Network{interface}, Route(route->second));
  }
}

/// Networks, by the nearest gateway.
void add_networks(const Information& known, Routes& routes) {
  Routes behind;
  for (const auto& [pair, until] : known.networks) {
    const auto& [gateway, network] = pair;
    const auto route = routes.find(Network{gateway});
    if (route == routes.end() || routes.contains(network)) continue;
    const auto [place, is_new] = behind.emplace(network, route->second);
    if (!is_new && route->second.hops < place->second.hops) place->second = route->second;
  }
  routes.merge(behind);
}

}  // namespace

Routes compute_routes(const Information& known) {
  Routes routes;
  add_neighbours(known, routes);
  add_two_hop(known, routes);
  add_further(known, routes);
  add_interfaces(known, routes);
  add_networks(known, routes);
  return routes;
}

}  // namespace orrery::lab::olsr
