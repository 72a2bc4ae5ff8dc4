// SPDX-License-Identifier: Apache-2.0
//
// The traffic model: its parameters, the data that all intersections share, and its reports.
// README.md has the equations and their sources.
//
// An LP is an intersection. An LP owns the stop lines at the ends of its *incoming* links, because
// vehicles of several links meet there and the LP alone lets them pass. A link holds no state: a
// vehicle on a link is an event on its way to the downstream LP, and arrives after the free-flow
// time. So no handler needs the memory of another LP, and the lookahead is the shortest free-flow
// time.
//
// Queues are point queues (W. S. Vickrey, "Congestion theory and transport investment", 1969): a
// link holds any number of waiting vehicles. The tables of the TNTP networks were made for static
// assignment. Under all-or-nothing routes they load single links with several times their capacity.
// Queues that spill back would lock up such networks for good within minutes, while a point queue
// delays exactly as long as demand exceeds capacity.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "demand.h"
#include "guidance.h"
#include "network.h"
#include "orrery/orrery.h"
#include "profile.h"
#include "route_shares.h"
#include "routing.h"
#include "signal.h"

namespace traffic {

/// A vehicle, as events carry it; no padding, so that it enters the fingerprint.
struct Vehicle {
  orrery::Time departure;
  std::uint32_t origin;
  std::uint32_t destination;
  std::uint32_t approach;  ///< number of the stop line at the downstream intersection
  std::uint32_t links;     ///< links entered so far
};

/// How routes are chosen; see README.md.
enum class Routes { free_flow, equilibrium, adaptive, grid };

class TrafficModel final : public orrery::Model {
 public:
  template <class T>
  using Parameter = orrery::Parameter<T>;
  using Text = std::string;
  using Duration = orrery::Duration;

  Parameter<Text> network_name{
      *this,
      "network",
      "sioux-falls",
      {.help =
           "sioux-falls, grid, or DIR/NAME for DIR/NAME_net.tntp, DIR/NAME_trips.tntp and, if it "
           "exists, DIR/NAME_node.tntp"}};
  Parameter<Text> net_file{
      *this, "net_file", "", {.help = "network file (TNTP) to read instead, with trips_file"}};
  Parameter<Text> trips_file{
      *this, "trips_file", "", {.help = "trip table (TNTP) to read instead"}};
  Parameter<Text> node_file{
      *this, "node_file", "", {.help = "node coordinates (TNTP) to read instead"}};
  Parameter<Text> time_unit{
      *this,
      "time_unit",
      "auto",
      {.help =
           "unit of the file's free-flow times: auto (what the file states, else minutes if that "
           "is plausible), minutes, seconds, hours, or a number of seconds"}};
  Parameter<Text> length_unit{
      *this,
      "length_unit",
      "auto",
      {.help =
           "unit of the file's lengths: auto (what the file states, else what gives a plausible "
           "speed), kilometers, miles, meters, feet, or a number of metres"}};
  Parameter<double> demand_factor{
      *this, "demand", 1.0, {.help = "scales the trips", .minimum = 0.0, .maximum = 1e6}};
  Parameter<Text> routes{
      *this,
      "routes",
      "auto",
      {.help = "how drivers choose: free-flow (shortest path, whatever the queues), equilibrium "
               "(shares of a user equilibrium of the busiest hour, computed before the run), "
               "adaptive (at each intersection by times that are reported during the run); auto: "
               "equilibrium, for a grid free-flow",
       .choices = {"auto", "free-flow", "equilibrium", "adaptive"}}};
  Parameter<double> equilibrium_gap{
      *this,
      "equilibrium_gap",
      1e-9,
      {.help = "equilibrium: the relative gap to reach, (cost - cost at cheapest paths) / cost",
       .minimum = 1e-13,
       .maximum = 0.1}};
  Parameter<std::int64_t> equilibrium_rounds{
      *this,
      "equilibrium_rounds",
      1000,
      {.help = "equilibrium: give up after so many searches for cheaper paths",
       .minimum = 1,
       .maximum = 1'000'000}};
  Parameter<Text> toll_factor{
      *this,
      "toll_factor",
      "auto",
      {.help = "equilibrium: cost of a unit of toll, in the file's unit of time; auto: what the "
               "file states, else 0"}};
  Parameter<Text> distance_factor{
      *this,
      "distance_factor",
      "auto",
      {.help = "equilibrium: cost of a unit of length, in the file's unit of time; auto: what the "
               "file states, else 0"}};
  Parameter<Duration> report_interval{
      *this,
      "report_interval",
      Duration::seconds(60),
      {.help = "adaptive: intersections report times to their neighbours so often",
       .minimum = Duration::seconds(1),
       .maximum = Duration::seconds(86400)}};
  Parameter<double> choice_spread{
      *this,
      "choice_spread",
      0.05,
      {.help = "adaptive: spread of the drivers' choices (logit), as a part of the time left",
       .minimum = 0.0,
       .maximum = 10.0}};
  Parameter<Duration> table_period{*this,
                                   "table_period",
                                   Duration::seconds(3600),
                                   {.help = "time for which the trip table counts trips",
                                    .minimum = Duration::seconds(1),
                                    .maximum = Duration::seconds(366 * 86400)}};
  Parameter<Duration> period{*this,
                             "period",
                             Duration::seconds(3600),
                             {.help = "time during which vehicles depart",
                              .minimum = Duration::seconds(1),
                              .maximum = Duration::seconds(366 * 86400)}};
  Parameter<Text> profile{
      *this,
      "profile",
      "flat",
      {.help = "departures over the period: flat, peak (rises for a quarter of it, falls for a "
               "quarter), day (24 steps with two peaks, for period=24h); the busiest step has the "
               "rate of the trip table",
       .choices = {"flat", "peak", "day"}}};
  Parameter<Text> departures{
      *this,
      "departures",
      "poisson",
      {.help = "gaps between departures: exponential (poisson) or equal (even)",
       .choices = {"poisson", "even"}}};
  Parameter<Text> unreachable{*this,
                              "unreachable",
                              "error",
                              {.help = "trips without a path: end with an error or drop them",
                               .choices = {"error", "drop"}}};
  Parameter<Duration> shortest{
      *this,
      "shortest",
      Duration::seconds(1),
      {.help =
           "no link is passed in less; gives zone connectors a time, and the model its lookahead",
       .minimum = Duration::from_ticks(1),
       .maximum = Duration::seconds(86400)}};
  Parameter<double> lane_capacity{
      *this,
      "lane_capacity",
      1800.0,
      {.help = "capacity of a lane, for the number of lanes where the file does not give it",
       .unit = "veh/h",
       .minimum = 1.0}};
  Parameter<bool> signals{
      *this, "signals", false, {.help = "fixed-time signals where two or more links meet"}};
  Parameter<Duration> cycle{*this,
                            "cycle",
                            Duration::seconds(90),
                            {.help = "cycle of the signals",
                             .minimum = Duration::seconds(1),
                             .maximum = Duration::seconds(3600)}};
  Parameter<double> green{
      *this,
      "green",
      0.5,
      {.help = "share of the cycle for the first phase; the second has the rest",
       .minimum = 0.05,
       .maximum = 0.95}};
  Parameter<std::int64_t> grid{
      *this,
      "grid",
      10,
      {.help = "grid: intersections along a side", .minimum = 2, .maximum = 10'000}};
  Parameter<double> grid_rate{*this,
                              "grid_rate",
                              600.0,
                              {.help = "grid: vehicles that depart at each source",
                               .unit = "veh/h",
                               .minimum = 0.0,
                               .maximum = 1e6}};
  Parameter<double> grid_block{
      *this,
      "grid_block",
      200.0,
      {.help = "grid: length of a block", .unit = "m", .minimum = 1.0, .maximum = 1e6}};
  Parameter<double> grid_speed{
      *this,
      "grid_speed",
      50.0,
      {.help = "grid: free-flow speed", .unit = "km/h", .minimum = 1.0, .maximum = 300.0}};
  Parameter<double> grid_capacity{
      *this,
      "grid_capacity",
      1800.0,
      {.help = "grid: capacity of a link", .unit = "veh/h", .minimum = 1.0, .maximum = 1e6}};
  Parameter<Duration> interval{
      *this,
      "interval",
      Duration::zero(),
      {.help = "length of the steps of the table 'course', speed and trips over time; 0: none",
       .minimum = Duration::zero(),
       .maximum = Duration::seconds(366 * 86400)}};
  Parameter<bool> trips_table{
      *this, "trips_table", false, {.help = "write a row for every trip that has ended"}};

  orrery::Metric trip_time{*this, "trip_time", "s", "from departure to arrival, of finished trips"};
  orrery::Metric trip_delay{*this, "trip_delay", "s", "trip time minus free-flow time"};
  orrery::Metric late_trips{*this, "late_trips", "1",
                            "trips of more than 1.5 times their free-flow time, by destination"};
  orrery::Metric started_trips{*this, "started_trips", "1", "vehicles departed, by origin"};
  orrery::Metric queued{*this, "queued", "1", "vehicles waiting at the end, by intersection"};
  orrery::Metric distance{*this, "distance", "km", "driven by all vehicles, by intersection"};
  orrery::Metric drive_time{*this, "drive_time", "h",
                            "on links and in queues of all vehicles, by intersection"};

  orrery::Table links{
      *this,
      "links",
      {{"from", orrery::ColumnType::integer},
       {"to", orrery::ColumnType::integer},
       {"volume", orrery::ColumnType::integer, "veh"},
       {"mean_delay", orrery::ColumnType::real, "s"},
       {"max_queue", orrery::ColumnType::integer, "veh"},
       {"queued", orrery::ColumnType::integer, "veh"},
       {"capacity", orrery::ColumnType::real, "veh/h"},
       {"lanes", orrery::ColumnType::integer},
       {"length", orrery::ColumnType::real, "m"},
       {"free_flow_time", orrery::ColumnType::real, "s"}},
      "every link at the end: vehicles that have passed its stop line, their mean wait"};
  orrery::Table nodes{*this,
                      "nodes",
                      {{"node", orrery::ColumnType::integer},
                       {"x", orrery::ColumnType::real},
                       {"y", orrery::ColumnType::real}},
                      "coordinates of the intersections, where the network has them"};
  orrery::Table trips{*this,
                      "trips",
                      {{"origin", orrery::ColumnType::integer},
                       {"destination", orrery::ColumnType::integer},
                       {"departure", orrery::ColumnType::real, "s"},
                       {"arrival", orrery::ColumnType::real, "s"},
                       {"links", orrery::ColumnType::integer}},
                      "finished trips (if trips_table=yes)"};

  orrery::Table course{
      *this,
      "course",
      {{"end", orrery::ColumnType::real, "s"},
       {"node", orrery::ColumnType::integer},
       {"distance", orrery::ColumnType::real, "km"},
       {"time", orrery::ColumnType::real, "h"},
       {"started", orrery::ColumnType::integer, "veh"},
       {"finished", orrery::ColumnType::integer, "veh"},
       {"late", orrery::ColumnType::integer, "veh"}},
      "every intersection in steps of time (if interval > 0): what vehicles drove and took on the "
      "links that end there, trips that began and ended there"};

  void prepare() override;
  std::uint64_t lp_count() const override { return net.node_count; }
  std::unique_ptr<orrery::LogicalProcessBase> create(orrery::LpId id) const override;
  /// "node12", with the number in the network's file.
  std::string name_of(orrery::LpId id) const override {
    return "node" + std::to_string(net.label(id));
  }
  Duration lookahead() const override { return lookahead_; }
  void communication(orrery::CommunicationGraph& graph) const override;
  orrery::Time default_horizon() const override;
  void report(orrery::Report& report, orrery::Time end) const override;

  // For the intersections.

  /// Index of the link that a vehicle takes from `node`, which is not its destination: on the path
  /// that is shortest in free-flow time, by the shares of the equilibrium, or on a grid.
  std::uint32_t shortest_road(std::uint32_t node, std::uint32_t destination) const {
    return net.out_begin[node] + paths_.next(node, destination);
  }
  std::uint32_t shared_road(std::uint32_t node, const Vehicle& vehicle) const {
    return shares_.road(node, vehicle.destination, draw(node, vehicle));
  }
  std::uint32_t next_grid_road(std::uint32_t node, const Vehicle& vehicle) const;
  Routes kind() const { return kind_; }
  /// 32 hashed bits for the decision of `vehicle` at `node`; the same at each call.
  static std::uint32_t draw(std::uint32_t node, const Vehicle& vehicle) {
    return mix(nonce_of(vehicle) + node);
  }
  Guidance guidance(std::uint32_t node) const { return {net, paths_, zone_times_, node}; }
  Duration free_flow(std::uint32_t origin, std::uint32_t destination) const {
    return is_grid_ ? grid_paths_.free_flow(origin, destination)
                    : paths_.free_flow(origin, destination);
  }
  /// Vehicles expected to depart at `origin` during the period.
  double trips_from(std::uint32_t origin) const {
    return is_grid_ ? grid_demand_.total_from(origin) : demand_.total_from(origin);
  }
  std::uint32_t destination(std::uint32_t origin, double share) const {
    return is_grid_ ? grid_demand_.destination(origin, share) : demand_.destination(origin, share);
  }
  const DepartureProfile& departure_profile() const { return profile_; }
  bool even_departures() const { return even_departures_; }
  Signal signal(std::uint32_t node, const StopLine& line) const;

  Network net;

 private:
  /// A hash input that differs between vehicles.
  static std::uint64_t nonce_of(const Vehicle& vehicle) {
    return static_cast<std::uint64_t>(vehicle.departure.ticks()) +
           (std::uint64_t{vehicle.origin} << 40) + (std::uint64_t{vehicle.destination} << 20);
  }
  void choose_kind();
  Duration shortest_delay(std::uint32_t from, std::uint32_t to) const;
  void assign_routes(const std::vector<Demand::Pair>& pairs);
  void check_files() const;
  void read_network();
  void make_grid();
  void require_possible(double vehicles, const std::string& source) const;
  void estimate_clearance();
  void refuse_or_drop_unreachable(std::vector<Demand::Pair>& pairs);
  void set_headways_in_green();
  std::string file(const Parameter<Text>& given, const char* suffix) const;
  NetworkOptions network_options() const;
  double tables() const;

  bool is_grid_ = false;
  bool even_departures_ = false;
  Routes kind_ = Routes::free_flow;
  Duration lookahead_;
  DepartureProfile profile_;
  Demand demand_;
  GridDemand grid_demand_;
  ShortestPaths paths_;
  GridPaths grid_paths_;
  RouteShares shares_;    // of an equilibrium
  ZoneTimes zone_times_;  // for adaptive routes
  double gap_ = 0;        // of the equilibrium
  unsigned rounds_ = 0;
  std::vector<double> flow_;  // expected on each road, in vehicles; empty for the grid
  double clearance_s_ = 0;    // estimated time until the last queue has cleared
  double within_zones_ = 0;
  double dropped_ = 0;
};

}  // namespace traffic
