// SPDX-License-Identifier: Apache-2.0
//
// Positions, links with power and delay, and routes. Built once before the run, constant afterwards
// and shared by all stations: constant data need not be in an LP's state. Power and delay depend
// only on the two stations of a link. So there is no channel object: a sender sends its signals to
// the stations in its own list of links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../common/phy.h"
#include "orrery/event.h"
#include "orrery/time.h"

namespace wireless {

using orrery::LpId;

struct Position {
  double x, y;  ///< m
};

/// A link from one station to another that receives its signals, if only as interference.
struct Link {
  LpId from, to;
  double power_w;      ///< mean received power
  Duration delay;      ///< propagation
  std::uint32_t port;  ///< number among the links of `from` that may carry packets, or kNoPort
};
inline constexpr std::uint32_t kNoPort = ~std::uint32_t{0};
inline constexpr std::uint32_t kNoRoute = ~std::uint32_t{0};

struct Plan {
  std::string layout = "scatter";  ///< scatter, grid, random, disc, line
  std::uint32_t stations = 100;
  double spacing_m = 30.0;
  std::uint64_t seed = 1;
  PathLoss loss;
  double power_dbm = 20.0;
  double floor_dbm = -95.0;   ///< weaker signals are not sent as events
  double shadowing_db = 0.0;  ///< standard deviation
  std::uint32_t gateways = 1;
  bool all_destinations = false;           ///< routes between all stations, not only to gateways
  std::size_t maximum_links = 16'000'000;  ///< 32 bytes each
};

class Network {
 public:
  /// `link_cost(power_w)`: expected transmissions of a frame until it passes the link, or 0 if the
  /// link must not be used. Throws UsageError if there are more than `maximum_links` links.
  template <class Cost>
  Network(const Plan& plan, Cost link_cost) : Network(plan) {
    for (Link& link : links_) set_cost(link, link_cost(link.power_w));
    find_routes(plan);
  }
  Network() = default;

  std::uint32_t stations() const { return static_cast<std::uint32_t>(positions_.size()); }
  Position position(LpId station) const { return positions_[station]; }
  bool is_gateway(LpId station) const { return gateway_[station]; }
  std::uint32_t gateways() const { return gateway_count_; }

  const Link& link(std::uint32_t index) const { return links_[index]; }
  std::uint32_t link_count() const { return static_cast<std::uint32_t>(links_.size()); }
  /// The links of a sender are [first_link(s), first_link(s + 1)).
  std::uint32_t first_link(LpId station) const { return first_[station]; }
  std::span<const Link> links_of(LpId station) const {
    return {links_.data() + first_[station], links_.data() + first_[station + 1]};
  }
  /// Links of a station that may carry packets.
  std::uint32_t ports_of(LpId station) const { return ports_[station]; }

  /// The gateway for a station's packets, or kNoRoute.
  LpId gateway_of(LpId station) const { return nearest_gateway_[station]; }
  /// The link that a packet for `destination` takes from `station`, or kNoRoute.
  std::uint32_t next_link(LpId station, LpId destination) const {
    if (!routes_.empty()) return routes_[std::size_t{destination} * positions_.size() + station];
    return nearest_gateway_[station] == destination ? to_gateway_[station] : kNoRoute;
  }
  /// Links to the gateway; 0 for the gateway itself and for stations without a route.
  std::uint32_t hops_to_gateway(LpId station) const;

  Duration longest_delay() const { return longest_delay_; }
  Duration shortest_delay() const { return shortest_delay_; }

 private:
  explicit Network(const Plan& plan);
  void place(const Plan& plan);
  void choose_gateways(const Plan& plan);
  void connect(const Plan& plan);
  void set_cost(Link& link, double transmissions);
  void find_routes(const Plan& plan);
  /// Dijkstra's search (1959) from several roots over reversed links.
  struct Tree {
    std::vector<std::uint32_t> next_link;
    std::vector<LpId> root;
  };
  Tree shortest_paths(const std::vector<LpId>& roots) const;

  std::vector<Position> positions_;
  double width_m_ = 0.0, height_m_ = 0.0;
  std::vector<bool> gateway_;
  std::uint32_t gateway_count_ = 0;
  std::vector<Link> links_;                   // by sender, then by receiver
  std::vector<std::uint32_t> first_, ports_;  // by station
  std::vector<std::uint32_t> cost_;           // by link; 0: the link carries no packets
  std::vector<LpId> nearest_gateway_;
  std::vector<std::uint32_t> to_gateway_;  // by station
  std::vector<std::uint32_t> routes_;      // by destination, then by station
  Duration longest_delay_ = Duration::nanoseconds(1);
  Duration shortest_delay_ = Duration::nanoseconds(1);
};

}  // namespace wireless
