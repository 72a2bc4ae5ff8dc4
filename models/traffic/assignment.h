// SPDX-License-Identifier: Apache-2.0
//
// Static user equilibrium: link flows at which no driver has a cheaper path (J. G. Wardrop, "Some
// theoretical aspects of road traffic research", Proc. Institution of Civil Engineers 1, 1952),
// which are the minimum of a convex function (M. Beckmann, C. B. McGuire, C. B. Winsten, "Studies
// in the economics of transportation", Yale, 1956).
//
// Method: gradient projection on path flows (R. Jayakrishnan, W. K. Tsai, J. N. Prashker, S.
// Rajadhyaksha, "A faster path-based algorithm for traffic assignment", Transportation Research
// Record 1443, 1994). Each pair of zones keeps the few paths that it uses. A round finds the
// cheapest paths, adds the new ones, and goes over the pairs several times. A pair moves flow from
// each more expensive path to its cheapest path, by the amount that equalises their costs in
// Newton's method; link costs are updated at once. Frank and Wolfe's method needs no paths but
// stalls at a gap of some 1e-4. With paths, a gap of 1e-10 is reached in seconds, and the
// simulation needs the paths.
//
// Everything is computed in one fixed order, so equal input gives equal bits. The searches of a
// round are independent of each other and run on all cores.
#pragma once

#include <cstdint>
#include <vector>

#include "demand.h"
#include "network.h"
#include "route_shares.h"
#include "search.h"

namespace traffic {

struct AssignmentOptions {
  double gap = 1e-6;      ///< wanted gap: (total cost - total cost at cheapest paths) / total cost
  unsigned rounds = 200;  ///< at most
};

class Assignment {
 public:
  /// `pairs`: trips in the period of the capacities in `network.delays`; each pair must have a
  /// path. Throws UsageError if a cost is not finite.
  Assignment(const Network& network, const std::vector<Demand::Pair>& pairs,
             const AssignmentOptions& options);

  /// By road.
  const std::vector<double>& flow() const { return flow_; }
  const std::vector<double>& cost() const { return cost_; }
  double relative_gap() const { return gap_; }
  bool converged() const { return gap_ <= wanted_; }
  unsigned rounds() const { return rounds_; }
  std::size_t path_count() const;

  /// For each node and destination the shares of its outgoing links.
  RouteShares shares() const;

 private:
  struct Path {
    double flow;
    std::vector<std::uint32_t> roads;
  };
  struct Bundle {  // the paths of one pair of zones
    std::uint32_t origin, destination;
    double trips;
    std::vector<Path> paths;
  };
  struct Group {  // the bundles of one destination, consecutive in `bundles_`
    std::uint32_t destination;
    std::size_t begin, end;
    double cheapest = 0;  ///< cost of its trips on the cheapest paths
  };

  void find_cheapest_paths(std::vector<std::vector<std::uint32_t>>& found);
  void search_group(BackwardSearch<double>& search, Group& group,
                    std::vector<std::vector<std::uint32_t>>& found) const;
  void add_paths(std::vector<std::vector<std::uint32_t>>& found);
  double balance_all();
  double balance(Bundle& bundle);
  double shift(Path& from, Path& to);
  void recompute_flows();
  void set_flow(std::uint32_t road, double flow);
  [[noreturn]] void refuse_cost(std::uint32_t road) const;
  double cost_of(const Path& path) const;
  double total_cost() const;

  const Network& network_;
  double wanted_;
  std::vector<Bundle> bundles_;
  std::vector<Group> groups_;
  std::vector<double> flow_, cost_, slope_;
  std::vector<std::uint64_t> mark_;  // of roads: the stamp of the last path that uses the road
  std::uint64_t stamp_ = 0;
  double gap_ = 1;
  unsigned rounds_ = 0;
};

}  // namespace traffic
