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
// cheapest paths, adds those that are new, and goes over the pairs several times; a pair moves flow
// from each dearer path to its cheapest one, as much as Newton's method says makes their costs
// equal, and link costs follow at once. Frank and Wolfe's method needs no paths but stalls at a gap
// of some 1e-4; with paths 1e-10 is reached in seconds, and the paths are what the simulation
// wants.
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
  double gap = 1e-6;      ///< to reach: (total cost - total cost at cheapest paths) / total cost
  unsigned rounds = 200;  ///< at most
};

class Assignment {
 public:
  /// `pairs`: trips in the period that the capacities of `network.delays` are for; each has a path.
  /// Throws UsageError if a cost is not finite.
  Assignment(const Network& network, const std::vector<Demand::Pair>& pairs,
             const AssignmentOptions& options);

  /// Of each road.
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
  struct Group {  // the bundles of one destination, neighbours in `bundles_`
    std::uint32_t destination;
    std::size_t begin, end;
    double cheapest = 0;  ///< what its trips would cost on the cheapest paths
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
  std::vector<std::uint64_t> mark_;  // of roads: the stamp of the path that they are on
  std::uint64_t stamp_ = 0;
  double gap_ = 1;
  unsigned rounds_ = 0;
};

}  // namespace traffic
