// SPDX-License-Identifier: Apache-2.0
//
// Shortest paths from all nodes to one node, by a search backwards from that node (E. W. Dijkstra,
// "A note on two problems in connexion with graphs", 1959). Costs may have any type that adds and
// compares: whole ticks for routes in free-flow time, real numbers for an assignment.
//
// The result is deterministic: among equal paths the link that stands first in the input wins, and
// nodes are settled in a fixed order, by which callers can exclude cycles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "network.h"

namespace traffic {

/// Runs one search at a time; keeps its arrays for the next search.
template <class Cost>
class BackwardSearch {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// `unreached`: the value of cost() for nodes without a path.
  BackwardSearch(const Network& network, Cost unreached)
      : network_(network),
        unreached_(unreached),
        cost_(network.node_count),
        next_(network.node_count),
        rank_(network.node_count) {}

  /// `cost_of(road)` must not be negative. No path crosses nodes below the first through node.
  template <class CostOf>
  void run(std::uint32_t destination, CostOf&& cost_of) {
    std::fill(cost_.begin(), cost_.end(), unreached_);
    std::fill(next_.begin(), next_.end(), kNone);
    std::fill(rank_.begin(), rank_.end(), kNone);
    std::uint32_t settled = 0;
    cost_[destination] = Cost{};
    heap_.push_back({Cost{}, destination});
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), Later{});
      const Entry entry = heap_.back();
      heap_.pop_back();
      if (rank_[entry.node] != kNone) continue;  // a shorter path was found meanwhile
      rank_[entry.node] = settled++;
      if (entry.node == destination || entry.node >= network_.first_through) relax(entry, cost_of);
    }
  }

  Cost cost(std::uint32_t node) const { return cost_[node]; }
  /// The link to take from `node`, or kNone.
  std::uint32_t next(std::uint32_t node) const { return next_[node]; }
  /// Order in which `node` was settled; kNone: no path. A path to ever lower ranks has no cycle.
  std::uint32_t rank(std::uint32_t node) const { return rank_[node]; }

 private:
  struct Entry {
    Cost cost;
    std::uint32_t node;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.cost != b.cost ? a.cost > b.cost : a.node > b.node;
    }
  };

  template <class CostOf>
  void relax(const Entry& entry, CostOf& cost_of) {
    for (const StopLine& line : network_.stop_lines_of(entry.node)) {
      const std::uint32_t from = network_.facts[line.road].from;
      if (rank_[from] != kNone) continue;
      const Cost cost = entry.cost + cost_of(line.road);
      if (cost > cost_[from] || (cost == cost_[from] && line.road >= next_[from])) continue;
      next_[from] = line.road;
      if (cost == cost_[from]) continue;
      cost_[from] = cost;
      heap_.push_back({cost, from});
      std::push_heap(heap_.begin(), heap_.end(), Later{});
    }
  }

  const Network& network_;
  Cost unreached_;
  std::vector<Cost> cost_;
  std::vector<std::uint32_t> next_, rank_;
  std::vector<Entry> heap_;
};

}  // namespace traffic
