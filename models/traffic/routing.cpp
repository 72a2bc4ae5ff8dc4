// SPDX-License-Identifier: Apache-2.0
//
// Dijkstra's search, backwards from each destination, and the flows that follow from it. Searches
// are independent, so they are spread over the cores; each writes its own part of the tables, and
// the result does not depend on how they were spread.
#include "routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <queue>
#include <thread>

#include "orrery/error.h"

namespace traffic {
namespace {

using orrery::Duration;

/// One search at a time; the arrays are kept for the next.
class Search {
 public:
  explicit Search(const Network& network)
      : network_(network), time_(network.node_count), next_(network.node_count) {}

  void run(std::uint32_t destination) {
    std::fill(time_.begin(), time_.end(), Duration::max());
    std::fill(next_.begin(), next_.end(), ShortestPaths::kNone);
    time_[destination] = Duration::zero();
    heap_.push_back({Duration::zero(), destination});
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), Later{});
      const Entry entry = heap_.back();
      heap_.pop_back();
      if (entry.time != time_[entry.node]) continue;  // a shorter path was found meanwhile
      if (entry.node == destination || entry.node >= network_.first_through) relax(entry);
    }
  }
  Duration time(std::uint32_t node) const { return time_[node]; }
  std::uint8_t next(std::uint32_t node) const { return next_[node]; }

 private:
  struct Entry {
    Duration time;
    std::uint32_t node;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const { return a.time > b.time; }
  };

  /// Every link takes at least one tick, so all ties at a node are seen before it is settled.
  void relax(const Entry& entry) {
    for (const StopLine& line : network_.stop_lines_of(entry.node)) {
      const std::uint32_t from = network_.facts[line.road].from;
      const auto link = static_cast<std::uint8_t>(line.road - network_.out_begin[from]);
      const Duration time = entry.time + network_.roads[line.road].free_flow;
      if (time > time_[from] || (time == time_[from] && link >= next_[from])) continue;
      next_[from] = link;
      if (time == time_[from]) continue;
      time_[from] = time;
      heap_.push_back({time, from});
      std::push_heap(heap_.begin(), heap_.end(), Later{});
    }
  }

  const Network& network_;
  std::vector<Duration> time_;
  std::vector<std::uint8_t> next_;
  std::vector<Entry> heap_;
};

std::vector<std::uint32_t> destinations_of(const std::vector<Demand::Pair>& pairs,
                                           std::size_t zones) {
  std::vector<bool> wanted(zones, false);
  for (const Demand::Pair& pair : pairs) wanted[pair.destination] = true;
  std::vector<std::uint32_t> list;
  for (std::uint32_t zone = 0; zone < zones; ++zone)
    if (wanted[zone]) list.push_back(zone);
  return list;
}

void require_few_links(const Network& network) {
  for (std::uint32_t node = 0; node < network.node_count; ++node) {
    const std::size_t links = network.roads_from(node).size();
    if (links >= ShortestPaths::kNone) {
      throw orrery::UsageError(fmt::format("{}: {} links leave node {}; at most {} are supported",
                                           network.name, links, Network::label(node),
                                           ShortestPaths::kNone - 1));
    }
  }
}

}  // namespace

ShortestPaths::ShortestPaths(const Network& network, const std::vector<Demand::Pair>& pairs)
    : zones_(network.zone_count),
      next_(std::size_t{network.node_count} * zones_, kNone),
      free_flow_(zones_ * zones_, Duration::max()) {
  require_few_links(network);
  const std::vector<std::uint32_t> destinations = destinations_of(pairs, zones_);
  std::atomic<std::size_t> taken{0};
  const auto work = [&] {
    Search search(network);
    for (std::size_t i = taken++; i < destinations.size(); i = taken++) {
      const std::uint32_t zone = destinations[i];
      search.run(zone);
      for (std::uint32_t node = 0; node < network.node_count; ++node)
        next_[std::size_t{node} * zones_ + zone] = search.next(node);
      for (std::uint32_t origin = 0; origin < zones_; ++origin)
        free_flow_[std::size_t{origin} * zones_ + zone] = search.time(origin);
    }
  };
  const std::size_t helpers = std::min<std::size_t>(
      std::max(1u, std::thread::hardware_concurrency()) - 1, destinations.size() / 16);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < helpers; ++i) threads.emplace_back(work);
  work();
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
