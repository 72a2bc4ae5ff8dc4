// SPDX-License-Identifier: Apache-2.0
#include "assignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "orrery/error.h"
#include "spread.h"

namespace traffic {
namespace {

using Search = BackwardSearch<double>;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// Costs that differ by less are equal: the relative rounding error of a sum over a path.
constexpr double kEqual = 1e-14;
constexpr unsigned kSweeps = 20;

}  // namespace

Assignment::Assignment(const Network& network, const std::vector<Demand::Pair>& pairs,
                       const AssignmentOptions& options)
    : network_(network),
      wanted_(options.gap),
      flow_(network.roads.size(), 0.0),
      cost_(network.roads.size()),
      slope_(network.roads.size()),
      mark_(network.roads.size(), 0) {
  for (const Demand::Pair& pair : pairs)
    bundles_.push_back({pair.origin, pair.destination, pair.trips, {}});
  std::stable_sort(bundles_.begin(), bundles_.end(),
                   [](const Bundle& a, const Bundle& b) { return a.destination < b.destination; });
  for (std::size_t i = 0; i < bundles_.size(); ++i) {
    if (groups_.empty() || groups_.back().destination != bundles_[i].destination)
      groups_.push_back({bundles_[i].destination, i, i});
    groups_.back().end = i + 1;
  }
  recompute_flows();
  std::vector<std::vector<std::uint32_t>> found(bundles_.size());
  while (true) {
    find_cheapest_paths(found);
    if (rounds_ > 0 && (converged() || rounds_ == options.rounds)) return;
    ++rounds_;
    add_paths(found);
    for (unsigned sweep = 0; sweep < kSweeps && balance_all() > wanted_ / 10; ++sweep) {
    }
    recompute_flows();
  }
}

std::size_t Assignment::path_count() const {
  std::size_t count = 0;
  for (const Bundle& bundle : bundles_) count += bundle.paths.size();
  return count;
}

// ---- Paths -------------------------------------------------------------------------------------

/// Sets `found` to the cheapest path of each pair, or to empty if the pair already has this path.
/// Computes the gap.
void Assignment::find_cheapest_paths(std::vector<std::vector<std::uint32_t>>& found) {
  spread(groups_.size(), [&] {
    return [&, search = Search(network_, kInfinite)](std::size_t i) mutable {
      search_group(search, groups_[i], found);
    };
  });
  double cheapest = 0;
  for (const Group& group : groups_) cheapest += group.cheapest;
  const double total = total_cost();
  gap_ = total > 0 ? std::max(0.0, (total - cheapest) / total) : 0;
}

void Assignment::search_group(BackwardSearch<double>& search, Group& group,
                              std::vector<std::vector<std::uint32_t>>& found) const {
  search.run(group.destination, [&](std::uint32_t road) { return cost_[road]; });
  group.cheapest = 0;
  for (std::size_t i = group.begin; i < group.end; ++i) {
    const Bundle& bundle = bundles_[i];
    std::vector<std::uint32_t>& path = found[i];
    path.clear();
    for (std::uint32_t node = bundle.origin; node != bundle.destination;) {
      const std::uint32_t road = search.next(node);
      path.push_back(road);
      node = network_.roads[road].to;
    }
    group.cheapest += orrery::math::product(bundle.trips, search.cost(bundle.origin));
    for (const Path& known : bundle.paths)
      if (known.roads == path) path.clear();
  }
}

/// The first path of a pair gets all its trips; later paths start with no flow.
void Assignment::add_paths(std::vector<std::vector<std::uint32_t>>& found) {
  for (std::size_t i = 0; i < bundles_.size(); ++i) {
    if (found[i].empty()) continue;
    Bundle& bundle = bundles_[i];
    const double flow = bundle.paths.empty() ? bundle.trips : 0.0;
    for (const std::uint32_t road : found[i])
      if (flow > 0) set_flow(road, flow_[road] + flow);
    bundle.paths.push_back({flow, std::move(found[i])});
  }
}

// ---- Flows -------------------------------------------------------------------------------------

void Assignment::set_flow(std::uint32_t road, double flow) {
  flow_[road] = flow;
  cost_[road] = network_.delays[road].cost(flow);
  slope_[road] = network_.delays[road].slope(flow);
}

/// Recomputes flows from the paths, so that rounding errors do not accumulate.
void Assignment::recompute_flows() {
  std::fill(flow_.begin(), flow_.end(), 0.0);
  for (const Bundle& bundle : bundles_)
    for (const Path& path : bundle.paths)
      for (const std::uint32_t road : path.roads) flow_[road] += path.flow;
  for (std::uint32_t road = 0; road < flow_.size(); ++road) {
    set_flow(road, flow_[road]);
    if (!std::isfinite(cost_[road])) refuse_cost(road);
  }
}

void Assignment::refuse_cost(std::uint32_t road) const {
  throw orrery::UsageError(fmt::format(
      "{}: at a volume of {:.4g} vehicles the volume-delay function of the link from {} to {} is "
      "beyond all numbers; correct its B and power, lower demand, or set routes=free-flow",
      network_.name, flow_[road], network_.label(network_.facts[road].from),
      network_.label(network_.roads[road].to)));
}

double Assignment::total_cost() const {
  double total = 0;
  for (std::size_t road = 0; road < flow_.size(); ++road)
    total += orrery::math::product(flow_[road], cost_[road]);
  return total;
}

double Assignment::cost_of(const Path& path) const {
  double cost = 0;
  for (const std::uint32_t road : path.roads) cost += cost_[road];
  return cost;
}

/// Returns the excess cost of all trips over their cheapest known paths, as a relative figure.
double Assignment::balance_all() {
  double excess = 0;
  for (Bundle& bundle : bundles_)
    if (bundle.paths.size() > 1) excess += balance(bundle);
  const double total = total_cost();
  return total > 0 ? excess / total : 0;
}

double Assignment::balance(Bundle& bundle) {
  std::vector<Path>& paths = bundle.paths;
  std::size_t best = 0;
  double least = kInfinite;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const double cost = cost_of(paths[i]);
    if (cost < least) best = i, least = cost;
  }
  std::swap(paths[0], paths[best]);
  double excess = 0;
  for (std::size_t i = 1; i < paths.size(); ++i) excess += shift(paths[i], paths[0]);
  std::erase_if(paths, [](const Path& path) { return path.flow == 0; });
  return excess;
}

/// Newton's step on the difference of two costs, which depends on the links that only one of the
/// paths has. Returns the excess cost of `from` times its flow before the step.
double Assignment::shift(Path& from, Path& to) {
  const double dear = cost_of(from), cheap = cost_of(to);
  if (!(dear - cheap > kEqual * dear)) return 0;
  stamp_ += 2;
  const std::uint64_t in_from = stamp_, in_both = stamp_ + 1;
  for (const std::uint32_t road : from.roads) mark_[road] = in_from;
  double slope = 0;
  for (const std::uint32_t road : to.roads) {
    if (mark_[road] == in_from)
      mark_[road] = in_both;
    else
      slope += slope_[road];
  }
  for (const std::uint32_t road : from.roads)
    if (mark_[road] == in_from) slope += slope_[road];
  const double before = from.flow;
  const double moved = slope > 0 ? std::min(before, (dear - cheap) / slope) : before;
  from.flow = moved < before ? before - moved : 0.0;
  to.flow += moved;
  for (const std::uint32_t road : from.roads)
    if (mark_[road] == in_from) set_flow(road, std::max(0.0, flow_[road] - moved));
  for (const std::uint32_t road : to.roads)
    if (mark_[road] != in_both) set_flow(road, flow_[road] + moved);
  return orrery::math::product(before, dear - cheap);
}

// ---- Shares ------------------------------------------------------------------------------------

/// Counts only links that lead to a lower rank of the last search. At a finite gap, paths of
/// several origins may form a cycle with a very small flow, and no vehicle should drive in a cycle.
RouteShares Assignment::shares() const {
  RouteShares shares(network_.node_count, network_.zone_count);
  std::vector<double> flow(network_.roads.size());
  std::vector<RouteShares::Part> parts;
  Search search(network_, kInfinite);
  for (const Group& group : groups_) {
    std::fill(flow.begin(), flow.end(), 0.0);
    for (std::size_t i = group.begin; i < group.end; ++i)
      for (const Path& path : bundles_[i].paths)
        for (const std::uint32_t road : path.roads) flow[road] += path.flow;
    search.run(group.destination, [&](std::uint32_t road) { return cost_[road]; });
    for (std::uint32_t node = 0; node < network_.node_count; ++node) {
      if (node == group.destination || search.next(node) == Search::kNone) continue;
      parts.clear();
      for (std::uint32_t road = network_.out_begin[node]; road < network_.out_begin[node + 1];
           ++road)
        if (flow[road] > 0 && search.rank(network_.roads[road].to) < search.rank(node))
          parts.push_back({road, flow[road]});
      if (parts.empty()) parts.push_back({search.next(node), 1.0});
      shares.set(node, group.destination, parts);
    }
  }
  return shares;
}

}  // namespace traffic
