// SPDX-License-Identifier: Apache-2.0
#include "tables.h"

namespace orrery::lab::olsr {
namespace {

std::string links(const Information& known, const std::vector<std::string>& names) {
  std::string line = "links:";
  for (const auto& [key, link] : known.links)
    line += " " + text(key.second) + "@" + names[key.first] +
            (key.second == link.neighbour ? "" : "(" + text(link.neighbour) + ")") +
            (link.is_symmetric()     ? "=symmetric"
             : link.heard_until != 0 ? "=heard"
                                     : "=lost");
  return line;
}

std::string neighbours(const Information& known) {
  std::string line = "neighbours:";
  for (const auto& [address, willingness] : known.willingness)
    if (known.is_symmetric_neighbour(address))
      line += " " + text(address) + "/" + std::to_string(willingness);
  return line;
}

std::string pairs(const std::string& name, const auto& map) {
  std::string line = name + ":";
  for (const auto& [pair, entry] : map) line += " " + text(pair.first) + ">" + text(pair.second);
  return line;
}

std::string routes(const Routes& routes, const std::vector<std::string>& names) {
  std::string line = "routes:";
  for (const auto& [network, route] : routes)
    line += " " + text(network) + ">" + text(route.next) + "@" + names[route.interface] + "/" +
            std::to_string(route.hops);
  return line;
}

}  // namespace

std::vector<std::string> tables_of(const Router& router, const std::vector<std::string>& names) {
  const Information& known = router.known();
  std::string mprs = "MPRs:", selectors = "MPR selectors:";
  for (const Address one : known.mprs) mprs += " " + text(one);
  for (const auto& [one, until] : known.selectors) selectors += " " + text(one);
  return {links(known, names),
          neighbours(known),
          pairs("2-hop", known.two_hop),
          mprs,
          selectors,
          pairs("topology", known.topology),
          pairs("networks", known.networks),
          routes(router.routes(), names)};
}

}  // namespace orrery::lab::olsr
