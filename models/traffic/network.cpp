// SPDX-License-Identifier: Apache-2.0
//
// Builds the arrays of network.h from files or from the grid's formula. Times are converted to
// whole ticks here, once, so that no later result depends on the rounding of a floating-point sum.
#include "network.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>

#include "capacity.h"
#include "orrery/error.h"

namespace traffic {
namespace {

using orrery::Duration;

struct RawLink {
  std::uint32_t from, to;
  double capacity_per_hour, length_m;
  double lanes;  ///< 0: unknown
  Duration free_flow;
  VolumeDelay delay;
};

// ---- Units -------------------------------------------------------------------------------------

struct Unit {
  std::string_view name;
  double factor;  ///< seconds or metres
};

// In the order in which "auto" tries them. TNTP's documentation fixes no units; nearly all of its
// networks use minutes.
constexpr Unit kTimeUnits[] = {{"minutes", 60.0}, {"seconds", 1.0}, {"hours", 3600.0}};
constexpr Unit kLengthUnits[] = {
    {"kilometers", 1000.0}, {"miles", 1609.344}, {"meters", 1.0}, {"feet", 0.3048}};

/// A mean free-flow speed of the network outside this range indicates a wrong unit.
constexpr double kSlowest_km_per_hour = 12.0;
constexpr double kFastest_km_per_hour = 125.0;

template <std::size_t N>
std::string names_of(const Unit (&units)[N]) {
  std::string names;
  for (const Unit& unit : units) names += fmt::format("{}{}", names.empty() ? "" : ", ", unit.name);
  return names;
}

/// The units to consider for `given`: the unit of that name, or all units for "auto".
template <std::size_t N>
std::vector<Unit> candidates(const char* parameter, const char* base, const std::string& given,
                             const Unit (&units)[N]) {
  if (given == "auto") return {std::begin(units), std::end(units)};
  for (const Unit& unit : units)
    if (unit.name == given) return {unit};
  double factor = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), factor);
  if (error != std::errc{} || end != given.data() + given.size() || !std::isfinite(factor) ||
      !(factor > 0)) {
    throw orrery::UsageError(fmt::format(
        "parameter '{}' cannot be '{}': auto, one of {}, or a positive number of {} is expected",
        parameter, given, names_of(units), base));
  }
  return {{given, factor}};
}

/// If the file's own column header says "(ft)" or "(min)", keeps only that unit.
void keep_stated(std::vector<Unit>& units, std::string_view header,
                 std::initializer_list<std::pair<std::string_view, std::string_view>> spellings) {
  if (units.size() == 1) return;
  for (const auto& [spelling, name] : spellings) {
    if (header.find(spelling) == std::string_view::npos) continue;
    std::erase_if(units, [&](const Unit& unit) { return unit.name != name; });
    return;
  }
}

struct Scale {
  double seconds, meters;
};

/// Mean free-flow speed of the links that have both length and time, in the file's units.
double mean_speed(const TntpNetwork& input) {
  double length = 0, time = 0;
  for (const TntpLink& link : input.links) {
    if (link.length <= 0 || link.free_flow_time <= 0) continue;
    length += link.length;
    time += link.free_flow_time;
  }
  return time > 0 ? length / time : 0;
}

Scale choose_units(const TntpNetwork& input, const Units& given) {
  std::vector<Unit> times = candidates("time_unit", "seconds", given.time, kTimeUnits);
  std::vector<Unit> lengths = candidates("length_unit", "metres", given.length, kLengthUnits);
  keep_stated(times, input.column_header,
              {{"(min)", "minutes"}, {"(s)", "seconds"}, {"(h)", "hours"}});
  keep_stated(lengths, input.column_header,
              {{"(miles)", "miles"}, {"(km)", "kilometers"}, {"(m)", "meters"}, {"(ft)", "feet"}});
  const double speed = mean_speed(input);
  if (speed == 0 || (times.size() == 1 && lengths.size() == 1))
    return {times.front().factor, lengths.front().factor};
  // A wrong guess of the length changes only reported distances. A wrong guess of the time would
  // silently change the whole run, so units of time other than minutes are not guessed.
  for (const Unit& length : lengths) {
    const double km_per_hour = speed * length.factor / times.front().factor * 3.6;
    if (km_per_hour >= kSlowest_km_per_hour && km_per_hour <= kFastest_km_per_hour)
      return {times.front().factor, length.factor};
  }
  if (given.time != "auto") return {times.front().factor, lengths.front().factor};
  std::string speeds;
  for (const Unit& length : lengths) {
    speeds += fmt::format("{}{:.3g} km/h if lengths are in {}", speeds.empty() ? "" : ", ",
                          speed * length.factor / times.front().factor * 3.6, length.name);
  }
  throw orrery::UsageError(fmt::format(
      "{}: in which unit are the free-flow times? The file does not say, and {} would mean a mean "
      "speed of {}; set time_unit (minutes, seconds, hours or a number of seconds) and length_unit",
      input.path, times.front().name, speeds));
}

// ---- Assembly ----------------------------------------------------------------------------------

/// Least time between two vehicles that cross the stop line one behind the other. At a signal,
/// `capacity` includes the red time (capacity = saturation flow * green share), so the headway in
/// green is scaled later.
Duration headway_of(double capacity_per_hour) {
  const Duration headway = Duration::from_seconds(3600.0 / capacity_per_hour);
  return std::max(headway, Duration::from_ticks(1));
}

/// Opposite approaches share a phase: in order of bearing, every second approach belongs to the
/// second phase. Without coordinates the order is that of the upstream nodes.
void assign_phases(Network& network, std::uint32_t node) {
  const std::uint32_t begin = network.in_begin[node];
  const std::uint32_t count = network.in_begin[node + 1] - begin;
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), begin);
  const auto quadrant_angle = [&](std::uint32_t line) {  // grows with the angle; no trigonometry
    const Point here = network.points[node];
    const Point there = network.points[network.facts[network.stop_lines[line].road].from];
    const double dx = there.x - here.x, dy = there.y - here.y;
    const double length = std::abs(dx) + std::abs(dy);
    if (length == 0) return 0.0;
    return dy >= 0 ? 1 - dx / length : 3 + dx / length;
  };
  if (!network.points.empty()) {
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return quadrant_angle(a) < quadrant_angle(b);
    });
  }
  for (std::uint32_t i = 0; i < count; ++i) network.stop_lines[order[i]].second_phase = i % 2 == 1;
}

std::vector<std::uint32_t> offsets(const std::vector<RawLink>& links, std::uint32_t nodes,
                                   std::uint32_t RawLink::*end) {
  std::vector<std::uint32_t> begin(std::size_t{nodes} + 1, 0);
  for (const RawLink& link : links) ++begin[link.*end + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  return begin;
}

/// Lanes from the file, else from the capacity, else 1.
std::uint32_t lanes_of(const RawLink& link, const NetworkOptions& options) {
  double lanes = link.lanes;
  if (lanes == 0 && std::isfinite(link.capacity_per_hour))
    lanes = link.capacity_per_hour / options.lane_capacity_per_hour;
  return static_cast<std::uint32_t>(std::clamp(std::round(lanes), 1.0, 1e6));
}

/// Sorts links by upstream node (in input order within a node) and numbers the stop lines.
void assemble(Network& network, const std::vector<RawLink>& links, const NetworkOptions& options) {
  network.out_begin = offsets(links, network.node_count, &RawLink::from);
  network.in_begin = offsets(links, network.node_count, &RawLink::to);
  network.roads.resize(links.size());
  network.facts.resize(links.size());
  network.delays.resize(links.size());
  network.stop_lines.resize(links.size());
  std::vector<std::uint32_t> next_out(network.out_begin), next_in(network.in_begin);
  for (const RawLink& link : links) {
    const std::uint32_t road = next_out[link.from]++;
    const std::uint32_t line = next_in[link.to]++;
    network.roads[road] = {std::max(link.free_flow, options.shortest), link.to,
                           line - network.in_begin[link.to]};
    network.facts[road] = {link.from, lanes_of(link, options), link.capacity_per_hour,
                           link.length_m};
    network.delays[road] = link.delay;
    network.stop_lines[line] = {headway_of(link.capacity_per_hour), road, false};
  }
  for (std::uint32_t node = 0; node < network.node_count; ++node) assign_phases(network, node);
}

[[noreturn]] void refuse_point(const TntpNodes& nodes, const TntpPoint& point,
                               const Network& network) {
  const std::string which = network.numbers.empty()
                                ? fmt::format("a node from 1 to {}", network.node_count)
                                : "a node that the network names";
  refuse_line(nodes.path, point.line, fmt::format("{} is expected, found {}", which, point.node));
}

void place_nodes(Network& network, const TntpNodes& nodes) {
  std::vector<bool> placed(network.node_count, false);
  network.points.resize(network.node_count);
  for (const TntpPoint& point : nodes.points) {
    const auto node = network.find(point.node);
    if (!node) refuse_point(nodes, point, network);
    if (placed[*node])
      refuse_line(nodes.path, point.line, fmt::format("node {} is given twice", point.node));
    placed[*node] = true;
    network.points[*node] = {point.x, point.y};
  }
  const auto missing = std::find(placed.begin(), placed.end(), false);
  if (missing != placed.end()) {
    throw orrery::UsageError(fmt::format(
        "{}: node {} is missing; coordinates of all {} nodes are expected", nodes.path,
        network.label(static_cast<std::uint32_t>(missing - placed.begin())), network.node_count));
  }
}

/// If nodes are not numbered 1 to n, stores their numbers for all output.
void number_nodes(Network& network, const TntpNetwork& input) {
  NodeNumber largest = 0;
  for (const TntpLink& link : input.links) largest = std::max({largest, link.from, link.to});
  if (largest <= input.nodes) return;
  for (const TntpLink& link : input.links)
    network.numbers.insert(network.numbers.end(), {link.from, link.to});
  std::sort(network.numbers.begin(), network.numbers.end());
  network.numbers.erase(std::unique(network.numbers.begin(), network.numbers.end()),
                        network.numbers.end());
}

/// Notes speeds that no road permits, as a unit is probably wrong.
void note_speeds(Network& network, const TntpNetwork& input, const Scale& scale) {
  constexpr double kFastestRoad_km_per_hour = 250.0;
  std::size_t count = 0;
  double fastest = kFastestRoad_km_per_hour;
  const TntpLink* which = nullptr;
  for (const TntpLink& link : input.links) {
    if (link.free_flow_time <= 0) continue;
    const double speed = link.length * scale.meters / (link.free_flow_time * scale.seconds) * 3.6;
    if (speed <= kFastestRoad_km_per_hour) continue;
    ++count;
    if (speed <= fastest) continue;
    fastest = speed;
    which = &link;
  }
  if (which == nullptr) return;
  network.notes.push_back(fmt::format(
      "{}: the free-flow speed is above {:.0f} km/h on {} of {} links, {:.4g} km/h on that "
      "of line {}; are time_unit and length_unit right?",
      input.path, kFastestRoad_km_per_hour, count, input.links.size(), fastest, which->line));
}

VolumeDelay delay_of(const TntpLink& link, const CostWeights& weights) {
  const double fixed = orrery::math::product(weights.distance.value_or(0), link.length) +
                       orrery::math::product(weights.toll.value_or(0), link.toll);
  return {link.free_flow_time, link.b, link.capacity, link.power, fixed};
}

/// An equilibrium needs costs that do not fall with the volume and have a finite slope.
std::string find_delay_fault(const TntpNetwork& input) {
  for (const TntpLink& link : input.links) {
    if (link.b >= 0 && (link.power >= 1 || link.power == 0 || link.b == 0)) continue;
    return fmt::format(
        "{}:{}: B = {:.6g} with power {:.6g} is no volume-delay function for an equilibrium: B "
        "must be at least 0, the power 0 or at least 1; correct them or set routes=free-flow",
        input.path, link.line, link.b, link.power);
  }
  return "";
}

std::vector<RawLink> raw_links(const TntpNetwork& input, const Network& network, const Scale& scale,
                               const std::vector<double>& capacities, const CostWeights& given) {
  const CostWeights weights{given.toll ? given.toll : input.toll_factor,
                            given.distance ? given.distance : input.distance_factor};
  constexpr double kLongest_s = 30.0 * 86400.0;
  std::vector<RawLink> links;
  links.reserve(input.links.size());
  for (std::size_t i = 0; i < input.links.size(); ++i) {
    if (capacities[i] == 0) continue;  // closed
    const TntpLink& link = input.links[i];
    const double free_flow_s = link.free_flow_time * scale.seconds;
    if (free_flow_s > kLongest_s) {
      refuse_line(input.path, link.line,
                  fmt::format("a free flow time of at most 30 days is expected, found {:.3g} s",
                              free_flow_s));
    }
    links.push_back({*network.find(link.from), *network.find(link.to), capacities[i],
                     link.length * scale.meters, link.lanes, Duration::from_seconds(free_flow_s),
                     delay_of(link, weights)});
  }
  return links;
}

}  // namespace

std::optional<std::uint32_t> Network::find(NodeNumber number) const {
  if (numbers.empty()) {
    if (number < 1 || number > node_count) return std::nullopt;
    return static_cast<std::uint32_t>(number - 1);
  }
  const auto found = std::lower_bound(numbers.begin(), numbers.end(), number);
  if (found == numbers.end() || *found != number) return std::nullopt;
  return static_cast<std::uint32_t>(found - numbers.begin());
}

Network build_network(const TntpNetwork& input, const TntpNodes* nodes,
                      const NetworkOptions& options) {
  const Scale scale = choose_units(input, options.units);
  const Capacities capacities = capacities_of(input);
  Network network;
  network.name = input.path;
  network.node_count = input.nodes;
  network.zone_count = input.zones;
  number_nodes(network, input);
  while (network.first_through < network.node_count &&
         network.label(network.first_through) < input.first_through)
    ++network.first_through;
  if (nodes != nullptr) place_nodes(network, *nodes);
  network.notes = capacities.notes;
  note_speeds(network, input, scale);
  network.delay_fault = find_delay_fault(input);
  assemble(network, raw_links(input, network, scale, capacities.per_hour, options.weights),
           options);
  return network;
}

Network build_grid(const GridOptions& grid, const NetworkOptions& options) {
  Network network;
  const std::uint32_t side = grid.side;
  network.name = fmt::format("grid {0} x {0}", side);
  network.node_count = side * side;
  network.points.reserve(network.node_count);
  std::vector<RawLink> links;
  links.reserve(std::size_t{4} * side * (side - 1));
  const Duration free_flow = Duration::from_seconds(grid.block_m / (grid.speed_km_per_hour / 3.6));
  const auto connect = [&](std::uint32_t from, std::uint32_t to) {
    links.push_back({from, to, grid.capacity_per_hour, grid.block_m, 0, free_flow, {}});
  };
  for (std::uint32_t row = 0; row < side; ++row) {
    for (std::uint32_t column = 0; column < side; ++column) {
      const std::uint32_t node = row * side + column;
      network.points.push_back({column * grid.block_m, row * grid.block_m});
      if (column + 1 < side) connect(node, node + 1);
      if (row + 1 < side) connect(node, node + side);
      if (column > 0) connect(node, node - 1);
      if (row > 0) connect(node, node - side);
    }
  }
  assemble(network, links, options);
  return network;
}

}  // namespace traffic
