// SPDX-License-Identifier: Apache-2.0
//
// The traffic model: input, set-up, and results over the whole network (see model.h for the rest).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "assignment.h"
#include "intersection.h"
#include "model.h"

namespace traffic {

using orrery::Duration;
using orrery::Time;
using orrery::UsageError;

// ---- Input -------------------------------------------------------------------------------------

void TrafficModel::prepare() {
  even_departures_ = departures.value() == "even";
  profile_ = DepartureProfile(profile, period);
  is_grid_ = network_name.value() == "grid" && net_file.value().empty();
  choose_kind();
  check_files();
  if (is_grid_)
    make_grid();
  else
    read_network();
  if (signals) set_headways_in_green();
  lookahead_ = Duration::max();
  for (const Road& road : net.roads) lookahead_ = std::min(lookahead_, road.free_flow);
  for (const std::string& sentence : net.notes) note(sentence);
  estimate_clearance();
}

/// Refuses tables of routes for a grid, as they would not fit for large grids. GridPaths spreads
/// routes over all shortest paths.
void TrafficModel::choose_kind() {
  const std::string& given = routes.value();
  if (is_grid_ && (given == "equilibrium" || given == "adaptive")) {
    throw UsageError(
        fmt::format("network=grid spreads vehicles evenly over shortest paths and keeps no tables "
                    "for routes={}: leave routes out, or read a network from files",
                    given));
  }
  if (given == "equilibrium" || given == "auto") kind_ = Routes::equilibrium;
  if (given == "adaptive") kind_ = Routes::adaptive;
  if (is_grid_) kind_ = Routes::grid;
}

/// Refuses files that do not belong together, because a run would not show the error.
void TrafficModel::check_files() const {
  const bool other_network = !net_file.value().empty();
  if (other_network && trips_file.value().empty()) {
    throw UsageError(
        fmt::format("net_file='{}' needs the trips of that network: give trips_file as well",
                    net_file.value()));
  }
  if (!is_grid_) return;
  for (const Parameter<Text>* file : {&trips_file, &node_file}) {
    if (file->value().empty()) continue;
    throw UsageError(
        fmt::format("network=grid makes its own trips and nodes, so {}='{}' would not "
                    "be read: leave it out, or give net_file as well",
                    file->name(), file->value()));
  }
}

namespace {

/// std::nullopt for "auto".
std::optional<double> factor_of(const orrery::Parameter<std::string>& given) {
  const std::string& text = given.value();
  if (text == "auto") return std::nullopt;
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(factor) ||
      factor < 0) {
    throw UsageError(
        fmt::format("parameter '{}' cannot be '{}': auto or a number of at least 0 is expected",
                    given.name(), text));
  }
  return factor;
}

}  // namespace

NetworkOptions TrafficModel::network_options() const {
  return {{time_unit, length_unit},
          {factor_of(toll_factor), factor_of(distance_factor)},
          shortest,
          lane_capacity};
}

/// The trips of the run, in multiples of the trip table.
double TrafficModel::tables() const {
  return profile_.mean_rate() * period.value().to_seconds() / table_period.value().to_seconds();
}

void TrafficModel::make_grid() {
  const auto side = static_cast<std::uint32_t>(grid.value());
  net = build_grid({side, grid_block, grid_speed, grid_capacity}, network_options());
  grid_paths_ = GridPaths(side, net.roads.front().free_flow);
  const double vehicles =
      grid_rate * demand_factor * profile_.mean_rate() * period.value().to_seconds() / 3600.0;
  grid_demand_ = GridDemand(side, vehicles);
  require_possible(vehicles * grid_demand_.sources(), "grid_rate");
}

/// More vehicles cannot be simulated, and gaps between departures would be less than a tick.
void TrafficModel::require_possible(double vehicles, const std::string& source) const {
  constexpr double kMost = 1e9;
  if (vehicles <= kMost) return;
  throw UsageError(
      fmt::format("{} and demand={:g} make {:.3g} vehicles depart; at most {:.0g} are "
                  "possible: lower demand",
                  source, demand_factor.value(), vehicles, kMost));
}

/// The path of an input file: from its own parameter, or from the network's name. Empty: no file.
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
  // Coordinates serve only pictures and phases. Those of another network must not be used.
  const bool named = !node_file.value().empty();
  const std::string node_path =
      named || net_file.value().empty() ? file(node_file, "_node.tntp") : std::string();
  const bool have_points = named || (!node_path.empty() && std::filesystem::exists(node_path));
  if (have_points) points = read_tntp_nodes(node_path);

  net = build_network(input, have_points ? &points : nullptr, network_options());
  std::vector<Demand::Pair> pairs = pairs_of(table, net, demand_factor * tables(), within_zones_);
  double vehicles = 0;
  for (const Demand::Pair& pair : pairs) vehicles += pair.trips;
  require_possible(vehicles, table.path);
  paths_ = ShortestPaths(net, pairs);
  refuse_or_drop_unreachable(pairs);
  demand_ = Demand(net.node_count, pairs);
  flow_ = paths_.assign(net, demand_);
  if (kind_ == Routes::equilibrium) assign_routes(pairs);
  if (kind_ == Routes::adaptive) zone_times_ = ZoneTimes(net, pairs);
}

/// Assigns one hour at the rate of the busiest step, since capacities are per hour.
void TrafficModel::assign_routes(const std::vector<Demand::Pair>& pairs) {
  if (!net.delay_fault.empty()) throw UsageError(net.delay_fault);
  const double run_hours = tables() * table_period.value().to_seconds() / 3600.0;
  std::vector<Demand::Pair> hourly = pairs;
  for (Demand::Pair& pair : hourly) pair.trips /= run_hours;
  const Assignment assignment(net, hourly,
                              {equilibrium_gap, static_cast<unsigned>(equilibrium_rounds.value())});
  gap_ = assignment.relative_gap();
  rounds_ = assignment.rounds();
  if (!assignment.converged()) {
    throw UsageError(
        fmt::format("{}: the equilibrium of routes was not reached: its relative gap is {:.3g} "
                    "after {} rounds, {:.3g} is wanted; raise equilibrium_rounds or "
                    "equilibrium_gap, or set routes=free-flow",
                    net.name, gap_, rounds_, equilibrium_gap.value()));
  }
  shares_ = assignment.shares();
  for (std::size_t road = 0; road < flow_.size(); ++road)
    flow_[road] = assignment.flow()[road] * run_hours;
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
    list += fmt::format("{}{} to {}", i == 0 ? "" : ", ", net.label(lost[i].origin),
                        net.label(lost[i].destination));
  }
  throw UsageError(
      fmt::format("{}: no path for {} of the trip table's pairs of zones, {:.6g} trips: {}{}; "
                  "correct the network "
                  "or leave these trips out with --set unreachable=drop",
                  net.name, lost.size(), dropped_, list,
                  lost.size() > kListed ? fmt::format(" and {} more", lost.size() - kListed) : ""));
}

// ---- Set-up ------------------------------------------------------------------------------------

/// The phases of a node's signal share its cycle. The cycles of nodes start at different times.
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

/// Capacity = saturation flow * green share (Highway Capacity Manual). The files state capacities,
/// so the saturation flow in green is larger and the headway shorter.
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
  const std::uint32_t to = grid_paths_.next_node(node, vehicle.destination, nonce_of(vehicle));
  std::uint32_t road = net.out_begin[node];
  while (net.roads[road].to != to) ++road;
  return road;
}

void TrafficModel::communication(orrery::CommunicationGraph& graph) const {
  graph.complete();
  for (std::uint32_t node = 0; node < net.node_count; ++node) {
    for (std::uint32_t road = net.out_begin[node]; road < net.out_begin[node + 1]; ++road) {
      const std::uint32_t to = net.roads[road].to;
      const double vehicles = flow_.empty() ? 0.0 : flow_[road];
      graph.connect(node, to, shortest_delay(node, to),
                    static_cast<std::uint32_t>(1.0 + std::min(vehicles, 1e8)));
      if (kind_ == Routes::adaptive) graph.connect(to, node, shortest_delay(to, node));
    }
  }
}

/// A vehicle takes at least the free-flow time of a link, and a report about the link takes the
/// same time in the other direction. Several links may join two nodes.
Duration TrafficModel::shortest_delay(std::uint32_t from, std::uint32_t to) const {
  Duration least = Duration::max();
  const auto look_at_links = [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t road = net.out_begin[begin]; road < net.out_begin[begin + 1]; ++road)
      if (net.roads[road].to == end) least = std::min(least, net.roads[road].free_flow);
  };
  look_at_links(from, to);
  if (kind_ == Routes::adaptive) look_at_links(to, from);
  return least;
}

/// Estimates when the last queue has cleared, on the assumption that the worst link is busy from
/// the start.
void TrafficModel::estimate_clearance() {
  double seconds = period.value().to_seconds();
  std::optional<std::size_t> worst;
  for (std::size_t road = 0; road < flow_.size(); ++road) {
    const double busy = flow_[road] * 3600.0 / net.facts[road].capacity_per_hour;
    if (busy <= seconds) continue;
    seconds = busy;
    worst = road;
  }
  double longest = 0;
  if (is_grid_) longest = free_flow(0, net.node_count - 1).to_seconds();
  demand_.for_each([&](std::uint32_t origin, std::uint32_t destination, double) {
    longest = std::max(longest, free_flow(origin, destination).to_seconds());
  });
  clearance_s_ = seconds + longest;
  constexpr double kDay_s = 86400.0;
  if (longest > kDay_s) {
    note(fmt::format("the longest trip takes {:.3g} days without any wait; is time_unit right?",
                     longest / kDay_s));
  }
  if (worst && seconds > period.value().to_seconds() + kDay_s) {
    note(
        fmt::format("the last queue takes {:.3g} days to clear: {:.0f} vehicles want to pass the "
                    "link from {} to {}, which lets {:.4g} an hour pass; are demand, table_period "
                    "and the capacities right?",
                    seconds / kDay_s, flow_[*worst], net.label(net.facts[*worst].from),
                    net.label(net.roads[*worst].to), net.facts[*worst].capacity_per_hour));
  }
}

/// 1.25 times the estimate, rounded up to whole 10 minutes.
Time TrafficModel::default_horizon() const {
  constexpr std::int64_t kStep_s = 600;
  const double estimate = std::min(1.25 * clearance_s_, 1e9);
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
  if (kind_ == Routes::equilibrium) {
    report.value("relative_gap", gap_, "1",
                 "of the equilibrium that routes follow: how much dearer than the cheapest");
  }
  if (dropped_ > 0)
    report.value("trips_dropped", dropped_, "1",
                 "expected trips without a path (unreachable=drop)");
}

ORRERY_MODEL(TrafficModel, "traffic",
             "vehicles on a road network: queues at stop lines, shortest paths, trip tables");

}  // namespace traffic
