// SPDX-License-Identifier: Apache-2.0
//
// The road network: the data that do not change during a run, in arrays that all LPs share and only
// read. Nodes and links are numbered from 0. The links that leave a node are consecutive in memory,
// and so are the stop lines of its incoming links.
//
// There are two sources: TNTP files (tntp.h) and a generated grid.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/time.h"
#include "tntp.h"
#include "volume_delay.h"

namespace traffic {

/// The data that a vehicle needs when it enters a link. The array is in order of the upstream node.
struct Road {
  orrery::Duration free_flow;  ///< at least the shortest time allowed
  std::uint32_t to;            ///< downstream node
  std::uint32_t approach;      ///< number of the downstream node's stop line, from 0
};

/// The data of a stop line. The array is in order of the downstream node.
struct StopLine {
  orrery::Duration headway;  ///< between two vehicles that cross one behind the other
  std::uint32_t road;        ///< index of the link that ends here
  bool second_phase;         ///< with a signal: green in the second part of the cycle
};

/// Data of a link for reports and costs only.
struct RoadFacts {
  std::uint32_t from;
  std::uint32_t lanes;
  double capacity_per_hour;  ///< may be infinite
  double length_m;
};

struct Point {
  double x, y;
};

struct Network {
  std::string name;
  std::vector<std::string> notes;   ///< remarks on the input for the user
  std::vector<NodeNumber> numbers;  ///< of each node in the file, ascending; empty: 1, 2, 3, ...
  std::uint32_t node_count = 0;
  std::uint32_t zone_count = 0;     ///< TNTP zones are the nodes with the lowest numbers
  std::uint32_t first_through = 0;  ///< vehicles must not cross nodes below this one
  std::vector<Road> roads;
  std::vector<RoadFacts> facts;          ///< of each road
  std::vector<VolumeDelay> delays;       ///< of each road; in a grid, independent of volume
  std::string delay_fault;               ///< why the file's volume-delay functions cannot be used
  std::vector<std::uint32_t> out_begin;  ///< node_count + 1; roads[out_begin[v]] .. leave v
  std::vector<StopLine> stop_lines;
  std::vector<std::uint32_t> in_begin;  ///< node_count + 1
  std::vector<Point> points;            ///< of each node; empty if there are no coordinates

  std::span<const StopLine> stop_lines_of(std::uint32_t node) const {
    return {stop_lines.data() + in_begin[node], in_begin[node + 1] - in_begin[node]};
  }
  std::span<const Road> roads_from(std::uint32_t node) const {
    return {roads.data() + out_begin[node], out_begin[node + 1] - out_begin[node]};
  }
  /// The number of a node in the file, which users know.
  NodeNumber label(std::uint32_t node) const {
    return numbers.empty() ? NodeNumber{node} + 1 : numbers[node];
  }
  /// The node with this number in the file, if there is one.
  std::optional<std::uint32_t> find(NodeNumber number) const;
};

/// The units of a TNTP file: "auto", the name of a unit, or a number (of seconds; of metres).
struct Units {
  std::string time = "auto";
  std::string length = "auto";
};

/// The cost of length and toll of a link, in the file's units of time, length and toll.
struct CostWeights {
  std::optional<double> toll, distance;  ///< empty: as the file states, else 0
};

struct NetworkOptions {
  Units units;
  CostWeights weights;
  orrery::Duration shortest;      ///< every link takes at least this long
  double lane_capacity_per_hour;  ///< for links without a number of lanes
};

/// `nodes` may be null. Throws UsageError if the input is not a usable network.
Network build_network(const TntpNetwork& input, const TntpNodes* nodes,
                      const NetworkOptions& options);

struct GridOptions {
  std::uint32_t side;  ///< intersections along a side, at least 2
  double block_m;
  double speed_km_per_hour;
  double capacity_per_hour;
};

/// side x side intersections, numbered row by row from the south-west corner, each connected with
/// its neighbours in both directions.
Network build_grid(const GridOptions& grid, const NetworkOptions& options);

}  // namespace traffic
