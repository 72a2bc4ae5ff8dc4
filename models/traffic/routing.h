// SPDX-License-Identifier: Apache-2.0
//
// The next link of a vehicle that does not react to other vehicles: its path is shortest in
// free-flow time, the all-or-nothing rule of traffic assignment. (For drivers who react, see
// assignment.h and guidance.h.) There are two implementations, because the tables of the general
// one would not fit in memory for large grids:
//
//   ShortestPaths  one Dijkstra search backwards from every destination with trips (E. W. Dijkstra,
//                  "A note on two problems in connexion with graphs", 1959). Keeps one byte for
//                  each node and destination (the number of the outgoing link) and one time for
//                  each pair of zones. Among equal paths the link that stands first in the input
//                  wins.
//   GridPaths      no table. All paths that only go towards the destination are equally short. A
//                  hash of the vehicle's own numbers chooses among them, each with the same
//                  probability, so a vehicle uses no random stream on its way.
#pragma once

#include <cstdint>
#include <vector>

#include "demand.h"
#include "network.h"
#include "orrery/time.h"
#include "search.h"

namespace traffic {

/// 32 pseudo-random bits: the finaliser of SplitMix64 (Steele, Lea, Flood 2014), upper half.
inline std::uint32_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<std::uint32_t>((x ^ (x >> 31)) >> 32);
}

/// Zones with trips to them, ascending.
std::vector<std::uint32_t> destinations_of(const std::vector<Demand::Pair>& pairs,
                                           std::size_t zones);

class ShortestPaths {
 public:
  static constexpr std::uint8_t kNone = 255;

  ShortestPaths() = default;
  /// Throws UsageError if a node has too many outgoing links for a byte.
  ShortestPaths(const Network& network, const std::vector<Demand::Pair>& pairs);

  /// Outgoing link of `node` on the way to zone `destination`, counted from the node's first.
  std::uint8_t next(std::uint32_t node, std::uint32_t destination) const {
    return next_[std::size_t{node} * zones_ + destination];
  }
  bool reaches(std::uint32_t origin, std::uint32_t destination) const {
    return next(origin, destination) != kNone;
  }
  /// Free-flow time of the whole trip.
  orrery::Duration free_flow(std::uint32_t origin, std::uint32_t destination) const {
    return free_flow_[std::size_t{origin} * zones_ + destination];
  }

  /// Vehicles on each road if every trip takes its shortest path and no vehicle waits.
  std::vector<double> assign(const Network& network, const Demand& demand) const;

 private:
  void keep(const Network& network, const BackwardSearch<orrery::Duration>& search,
            std::uint32_t zone);

  std::size_t zones_ = 0;
  std::vector<std::uint8_t> next_;
  std::vector<orrery::Duration> free_flow_;
};

class GridPaths {
 public:
  GridPaths() = default;
  GridPaths(std::uint32_t side, orrery::Duration block) : side_(side), block_(block) {}

  /// `nonce`: a number that differs between vehicles.
  std::uint32_t next_node(std::uint32_t node, std::uint32_t destination,
                          std::uint64_t nonce) const {
    const std::uint32_t east = column(destination) - column(node);  // modulo 2^32
    const std::uint32_t north = row(destination) - row(node);
    const std::uint32_t columns = distance(east), rows = distance(north);
    // Going along the row with probability columns / (columns + rows) makes all paths equally
    // likely.
    const std::uint32_t draw = mix(nonce + node) % (columns + rows);
    if (draw < columns) return is_negative(east) ? node - 1 : node + 1;
    return is_negative(north) ? node - side_ : node + side_;
  }
  orrery::Duration free_flow(std::uint32_t origin, std::uint32_t destination) const {
    const std::uint32_t blocks =
        distance(column(destination) - column(origin)) + distance(row(destination) - row(origin));
    return block_ * blocks;
  }

 private:
  std::uint32_t column(std::uint32_t node) const { return node % side_; }
  std::uint32_t row(std::uint32_t node) const { return node / side_; }
  static bool is_negative(std::uint32_t difference) { return difference >> 31 != 0; }
  static std::uint32_t distance(std::uint32_t difference) {
    return is_negative(difference) ? 0 - difference : difference;
  }
  std::uint32_t side_ = 2;
  orrery::Duration block_;
};

}  // namespace traffic
