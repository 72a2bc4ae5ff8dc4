// SPDX-License-Identifier: Apache-2.0
//
// The traffic model: input, set-up, and results over the whole network (see model.h for the rest).
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "intersection.h"
#include "model.h"

namespace traffic {

using orrery::Duration;
using orrery::Time;
using orrery::UsageError;

// ---- Input -------------------------------------------------------------------------------------

void TrafficModel::prepare() {
  even_departures_ = departures.value() == "even";
  is_grid_ = network_name.value() == "grid" && net_file.value().empty();
  if (is_grid_)
    make_grid();
  else
    read_network();
  if (signals) set_headways_in_green();
  lookahead_ = Duration::max();
  for (const Road& road : net.roads) lookahead_ = std::min(lookahead_, road.free_flow);
}

NetworkOptions TrafficModel::network_options() const {
  return {{time_unit, length_unit}, shortest, lane_capacity};
}

/// Table trips to trips of this run.
double TrafficModel::run_factor() const {
  return demand_factor * period.value().to_seconds() / table_period.value().to_seconds();
}

void TrafficModel::make_grid() {
  const auto side = static_cast<std::uint32_t>(grid.value());
  net = build_grid({side, grid_block, grid_speed, grid_capacity}, network_options());
  grid_paths_ = GridPaths(side, net.roads.front().free_flow);
  grid_demand_ = GridDemand(side, grid_rate * demand_factor * period.value().to_seconds() / 3600.0);
}

/// The path of an input file: given by its own parameter, or one of those that the network's name
/// stands for. Empty: there is none.
std::string TrafficModel::file(const Parameter<Text>& given, const char* suffix) const {
  namespace fs = std::filesystem;
  if (!given.value().empty()) return given;
  if (network_name.value() == "grid") {
    throw UsageError(fmt::format(
        "network=grid has no files: give {} as well, or leave out net_file", given.name()));
  }
  if (network_name.value() == "sioux-falls") {
    const std::string name = fmt::format("traffic/sioux-falls{}", suffix);
    const std::string path = orrery::find_model_data(name);
    if (path.empty()) {
      throw UsageError(
          fmt::format("the file '{}' that ships with the model is not found; set "
                      "ORRERY_DATA to the folder that holds '{}'",
                      name, name));
    }
    return path;
  }
  return network_name.value() + suffix;
}

void TrafficModel::read_network() {
  const std::string net_path = file(net_file, "_net.tntp");
  if (net_file.value().empty() && !std::filesystem::exists(net_path)) {
    throw UsageError(
        fmt::format("parameter 'network' cannot be '{}': it is neither sioux-falls nor "
                    "grid, and there is no file '{}'",
                    network_name.value(), net_path));
  }
  const TntpNetwork input = read_tntp_network(net_path);
  const TntpTrips table = read_tntp_trips(file(trips_file, "_trips.tntp"));
  TntpNodes points;
  // Coordinates are only for pictures and phases. Those of another network must not slip in.
  const bool named = !node_file.value().empty();
  const std::string node_path =
      named || net_file.value().empty() ? file(node_file, "_node.tntp") : std::string();
  const bool have_points = named || (!node_path.empty() && std::filesystem::exists(node_path));
  if (have_points) points = read_tntp_nodes(node_path);

  net = build_network(input, have_points ? &points : nullptr, network_options());
  std::vector<Demand::Pair> pairs = pairs_of(table, net, run_factor(), within_zones_);
  paths_ = ShortestPaths(net, pairs);
  refuse_or_drop_unreachable(pairs);
  demand_ = Demand(net.node_count, pairs);
  flow_ = paths_.assign(net, demand_);
}

void TrafficModel::refuse_or_drop_unreachable(std::vector<Demand::Pair>& pairs) {
  constexpr std::size_t kListed = 10;
  std::vector<Demand::Pair> lost;
  std::erase_if(pairs, [&](const Demand::Pair& pair) {
    const bool reached = paths_.reaches(pair.origin, pair.destination);
    if (!reached) lost.push_back(pair);
    return !reached;
  });
  for (const Demand::Pair& pair : lost) dropped_ += pair.trips;
  if (lost.empty() || unreachable.value() == "drop") return;
  std::string list;
  for (std::size_t i = 0; i < std::min(lost.size(), kListed); ++i) {
    list += fmt::format("{}{} to {}", i == 0 ? "" : ", ", Network::label(lost[i].origin),
                        Network::label(lost[i].destination));
  }
  throw UsageError(
      fmt::format("{}: no path for {} of the trip table's pairs of zones, {:.6g} trips: {}{}; "
                  "correct the network "
                  "or leave these trips out with --set unreachable=drop",
                  net.name, lost.size(), dropped_, list,
                  lost.size() > kListed ? fmt::format(" and {} more", lost.size() - kListed) : ""));
}

// ---- Set-up ------------------------------------------------------------------------------------

/// The phases of a node's signal share its cycle; each node's cycle starts at its own time.
Signal TrafficModel::signal(std::uint32_t node, const StopLine& line) const {
  if (net.in_begin[node + 1] - net.in_begin[node] < 2) return {};
  const std::int64_t cycle_ticks = cycle.value().ticks();
  const std::int64_t first = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(cycle_ticks) * green));
  const std::uint64_t spread = (std::uint64_t{node} + 1) * 0x9e3779b97f4a7c15u;
  const auto offset =
      static_cast<std::int64_t>((spread >> 24) % static_cast<std::uint64_t>(cycle_ticks));
  const std::int64_t start = (offset + (line.second_phase ? first : 0)) % cycle_ticks;
  return {cycle, Duration::from_ticks(start),
          Duration::from_ticks(line.second_phase ? cycle_ticks - first : first)};
}

/// Capacity = saturation flow * green share (Highway Capacity Manual): the files give capacities,
/// so the saturation flow in green is larger, the headway shorter.
void TrafficModel::set_headways_in_green() {
  for (std::uint32_t node = 0; node < net.node_count; ++node) {
    const std::uint32_t begin = net.in_begin[node], end = net.in_begin[node + 1];
    if (end - begin < 2) continue;
    for (std::uint32_t i = begin; i < end; ++i) {
      StopLine& line = net.stop_lines[i];
      const double share = line.second_phase ? 1.0 - green : green.value();
      const auto ticks =
          static_cast<std::int64_t>(static_cast<double>(line.headway.ticks()) * share);
      line.headway = Duration::from_ticks(std::max<std::int64_t>(1, ticks));
    }
  }
}

std::unique_ptr<orrery::LogicalProcessBase> TrafficModel::create(orrery::LpId id) const {
  return std::make_unique<Intersection>(*this, id);
}

std::uint32_t TrafficModel::next_grid_road(std::uint32_t node, const Vehicle& vehicle) const {
  const std::uint64_t nonce = static_cast<std::uint64_t>(vehicle.departure.ticks()) +
                              (std::uint64_t{vehicle.origin} << 40) +
                              (std::uint64_t{vehicle.destination} << 20);
  const std::uint32_t to = grid_paths_.next_node(node, vehicle.destination, nonce);
  std::uint32_t road = net.out_begin[node];
  while (net.roads[road].to != to) ++road;
  return road;
}

void TrafficModel::communication(orrery::CommunicationGraph& graph) const {
  for (std::uint32_t node = 0; node < net.node_count; ++node) {
    for (std::uint32_t road = net.out_begin[node]; road < net.out_begin[node + 1]; ++road) {
      const double vehicles = flow_.empty() ? 0.0 : flow_[road];
      graph.connect(node, net.roads[road].to,
                    static_cast<std::uint32_t>(1.0 + std::min(vehicles, 1e8)));
    }
  }
}

/// Long enough for all queues to clear, by the estimate that the worst link is kept busy from the
/// start: a quarter more, in whole ten minutes.
Time TrafficModel::default_horizon() const {
  double seconds = period.value().to_seconds();
  for (std::size_t road = 0; road < flow_.size(); ++road)
    seconds = std::max(seconds, flow_[road] * 3600.0 / net.facts[road].capacity_per_hour);
  double longest = 0;
  if (is_grid_) longest = free_flow(0, net.node_count - 1).to_seconds();
  demand_.for_each([&](std::uint32_t origin, std::uint32_t destination, double) {
    longest = std::max(longest, free_flow(origin, destination).to_seconds());
  });
  constexpr std::int64_t kStep_s = 600;
  const double estimate = std::min(1.25 * (seconds + longest), 1e9);
  return Time::zero() +
         Duration::seconds((static_cast<std::int64_t>(estimate) / kStep_s + 1) * kStep_s);
}

// ---- Results -----------------------------------------------------------------------------------

void TrafficModel::report(orrery::Report& report, Time) const {
  const double started = report.total(started_trips).sum;
  const auto finished = static_cast<double>(report.total(trip_time).count);
  const double hours = report.total(drive_time).sum;
  report.value("trips_started", started, "1", "vehicles that have departed");
  report.value("trips_finished", finished, "1", "of these, arrived at their destination");
  report.value("trips_in_progress", started - finished, "1", "still on the road at the end");
  report.value("vehicles_queued", report.total(queued).sum, "1",
               "of these, waiting at a stop line");
  report.value("vehicle_distance", report.total(distance).sum, "km", "driven by all vehicles");
  report.value("mean_speed", hours > 0 ? report.total(distance).sum / hours : 0.0, "km/h",
               "distance by time of all vehicles, waiting included");
  report.value("late_share", finished > 0 ? report.total(late_trips).sum / finished : 0.0, "1",
               "finished trips of more than 1.5 times their free-flow time");
  report.value("trips_within_zones", within_zones_, "1",
               "in the table, not simulated: they use no road of the network");
  if (dropped_ > 0)
    report.value("trips_dropped", dropped_, "1",
                 "expected trips without a path (unreachable=drop)");
}

ORRERY_MODEL(TrafficModel, "traffic",
             "vehicles on a road network: queues at stop lines, shortest paths, trip tables");

}  // namespace traffic
