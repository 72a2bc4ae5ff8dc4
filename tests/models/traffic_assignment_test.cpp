// SPDX-License-Identifier: Apache-2.0
//
// The static equilibrium of the traffic model: cases with a known solution, the published flows,
// and what the simulation makes of it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../../models/traffic/assignment.h"
#include "../../models/traffic/guidance.h"
#include "../../models/traffic/profile.h"

namespace traffic {
namespace {

namespace fs = std::filesystem;
using orrery::Duration;

/// time = free_flow + rise * (volume / capacity)^power
struct Street {
  NodeNumber from, to;
  double free_flow, rise, power, capacity = 1;
};

Network network_of(std::uint32_t nodes, const std::vector<Street>& streets,
                   const CostWeights& weights = {}, double length = 1, double toll = 0) {
  TntpNetwork input;
  input.path = "made";
  input.zones = input.nodes = nodes;
  for (const Street& s : streets) {
    TntpLink link{};
    link.from = s.from;
    link.to = s.to;
    link.capacity = s.capacity;
    link.length = length;
    link.free_flow_time = s.free_flow;
    link.b = s.rise / s.free_flow;
    link.power = s.power;
    link.toll = toll;
    input.links.push_back(link);
  }
  // A capacity of 1 everywhere would stand for hidden ones.
  input.links.push_back({nodes, 1, 1e6, 1, 1, 0, 0, 0, 0, 0});
  return build_network(input, nullptr,
                       {{"minutes", "meters"}, weights, Duration::seconds(1), 1800});
}

TEST(TrafficAssignment, TwoRoutesShareByEqualCost) {
  // 10 + v and 20 + v / 2: of 30 trips 50/3 take the first, at a cost of 80/3.
  const Network network = network_of(2, {{1, 2, 10, 1, 1}, {1, 2, 20, 0.5, 1}});
  const Assignment result(network, {{0, 1, 30}}, {1e-12, 100});
  EXPECT_TRUE(result.converged());
  EXPECT_NEAR(result.flow()[0], 50.0 / 3, 1e-8);
  EXPECT_NEAR(result.flow()[1], 40.0 / 3, 1e-8);
  EXPECT_NEAR(result.cost()[0], 80.0 / 3, 1e-8);
  // Below 10 the second costs more than the first even when it is empty.
  const Assignment few(network, {{0, 1, 8}}, {1e-12, 100});
  EXPECT_EQ(few.flow()[0], 8);
  EXPECT_EQ(few.flow()[1], 0);
  EXPECT_EQ(few.relative_gap(), 0);
}

TEST(TrafficAssignment, UnevenRoutesOfTheBureauOfPublicRoads) {
  const Network network =
      network_of(2, {{1, 2, 10, 1.5, 4, 600}, {1, 2, 12, 1.8, 4, 2000}, {1, 2, 40, 6, 4, 2000}});
  const Assignment result(network, {{0, 1, 2500}}, {1e-12, 100});
  EXPECT_NEAR(result.flow()[0] + result.flow()[1], 2500, 1e-6);
  EXPECT_NEAR(result.cost()[0], result.cost()[1], 1e-6);
  EXPECT_EQ(result.flow()[2], 0);
  EXPECT_NEAR(result.cost()[0], 10 + 1.5 * std::pow(result.flow()[0] / 600, 4), 1e-9);
}

/// D. Braess, "Über ein Paradoxon aus der Verkehrsplanung", Unternehmensforschung 12 (1968): with
/// the road in the middle each of 6 trips costs 92, without it 83.
TEST(TrafficAssignment, BraessParadox) {
  constexpr double kSmall = 1e-7;
  const std::vector<Street> square{
      {1, 2, kSmall, 10, 1}, {1, 3, 50, 1, 1}, {2, 4, 50, 1, 1}, {3, 4, kSmall, 10, 1}};
  const auto cost_of_trip = [](const Network& network, const Assignment& result) {
    double total = 0;
    for (std::size_t road = 0; road < network.roads.size(); ++road)
      total += result.flow()[road] * result.cost()[road];
    return total / 6;
  };
  const Network without = network_of(4, square);
  const Assignment two(without, {{0, 3, 6}}, {1e-12, 100});
  EXPECT_NEAR(cost_of_trip(without, two), 83, 1e-5);
  std::vector<Street> bridged = square;
  bridged.push_back({2, 3, 10, 1, 1});
  const Network with = network_of(4, bridged);
  const Assignment three(with, {{0, 3, 6}}, {1e-12, 100});
  EXPECT_NEAR(cost_of_trip(with, three), 92, 1e-5);
  // By upstream node: 1-2, 1-3, 2-4, 2-3, 3-4.
  const double flows[] = {4, 2, 2, 2, 4};
  for (std::size_t road = 0; road < 5; ++road) EXPECT_NEAR(three.flow()[road], flows[road], 1e-5);
}

TEST(TrafficAssignment, LengthAndTollCost) {
  const std::vector<Street> one{{1, 2, 10, 0, 0}};
  EXPECT_EQ(Assignment(network_of(2, one, {}, 3, 50), {{0, 1, 1}}, {}).cost()[0], 10);
  const CostWeights weights{0.02, 0.5};
  EXPECT_DOUBLE_EQ(Assignment(network_of(2, one, weights, 3, 50), {{0, 1, 1}}, {}).cost()[0],
                   10 + 0.02 * 50 + 0.5 * 3);
}

TEST(TrafficAssignment, SharesGiveTheFlowsBack) {
  const Network network = network_of(2, {{1, 2, 10, 1, 1}, {1, 2, 20, 0.5, 1}});
  const Assignment result(network, {{0, 1, 30}}, {1e-12, 100});
  const RouteShares shares = result.shares();
  constexpr std::uint32_t kDraws = 9000;
  std::uint32_t first = 0;
  for (std::uint32_t i = 0; i < kDraws; ++i)
    first += shares.road(0, 1, static_cast<std::uint32_t>(i * (0x1p32 / kDraws))) == 0;
  EXPECT_NEAR(first, kDraws * 5.0 / 9, 1);
  EXPECT_EQ(shares.road(0, 1, UINT32_MAX), 1u);
}

TEST(TrafficAssignment, ToldWhereItDoesNotConverge) {
  const Network network = network_of(2, {{1, 2, 10, 1, 1}, {1, 2, 20, 0.5, 1}});
  const Assignment result(network, {{0, 1, 30}}, {1e-12, 1});
  EXPECT_FALSE(result.converged());
  EXPECT_EQ(result.rounds(), 1u);
  EXPECT_GT(result.relative_gap(), 0.1);
  EXPECT_TRUE(Assignment(network, {}, {}).converged()) << "no trips are in equilibrium";
}

// ---- Published flows ---------------------------------------------------------------------------

struct Town {
  Network network;
  std::vector<Demand::Pair> pairs;
};

Town town(const fs::path& net, const fs::path& trips, const CostWeights& weights) {
  Town made{build_network(read_tntp_network(net.string()), nullptr,
                          {{}, weights, Duration::seconds(1), 1800}),
            {}};
  double within = 0;
  made.pairs = pairs_of(read_tntp_trips(trips.string()), made.network, 1, within);
  return made;
}

Town sioux_falls() {
  const fs::path folder = fs::path(ORRERY_SOURCE_ROOT) / "models/traffic";
  return town(folder / "sioux-falls_net.tntp", folder / "sioux-falls_trips.tntp", {});
}

/// The collection's best known flows have a total travel time of 7,480,225.34; the capacities that
/// ship are rounded.
TEST(TrafficAssignment, SiouxFallsTakesThePublishedTime) {
  const Town made = sioux_falls();
  const Assignment result(made.network, made.pairs, {1e-12, 200});
  ASSERT_TRUE(result.converged()) << result.relative_gap();
  const double total =
      std::inner_product(result.flow().begin(), result.flow().end(), result.cost().begin(), 0.0);
  EXPECT_NEAR(total, 7480225.345, 5);
  const Assignment again(made.network, made.pairs, {1e-12, 200});
  EXPECT_EQ(again.flow(), result.flow()) << "to the last bit, however many threads search";
}

/// Every link within 1 % of the published flow (and those that have none, of a vehicle). The files
/// are not part of Orrery: ORRERY_TNTP names their folder.
void expect_published(const std::string& name, const CostWeights& weights) {
  const char* given = std::getenv("ORRERY_TNTP");
  const fs::path folder =
      given != nullptr ? fs::path(given) : fs::path(ORRERY_SOURCE_ROOT) / "../shared/data/tntp";
  std::ifstream flows(folder / (name + "_flow.tntp"));
  if (!flows) GTEST_SKIP() << "there is no " << (folder / (name + "_flow.tntp"));
  const Town made = town(folder / (name + "_net.tntp"), folder / (name + "_trips.tntp"), weights);
  const Assignment result(made.network, made.pairs, {1e-12, 200});
  EXPECT_TRUE(result.converged()) << result.relative_gap();
  std::map<std::pair<NodeNumber, NodeNumber>, double> published;
  for (std::string line; std::getline(flows, line);) {
    std::istringstream words(line);
    NodeNumber from = 0, to = 0;
    double flow = 0;
    if (words >> from >> to >> flow) published[{from, to}] = flow;
  }
  ASSERT_EQ(published.size(), made.network.roads.size());
  for (std::size_t road = 0; road < result.flow().size(); ++road) {
    const NodeNumber from = made.network.label(made.network.facts[road].from);
    const NodeNumber to = made.network.label(made.network.roads[road].to);
    const double flow = published.at({from, to});
    EXPECT_NEAR(result.flow()[road], flow, flow == 0 ? 1 : 0.01 * flow) << from << " to " << to;
  }
}

TEST(TrafficAssignment, SiouxFallsAsPublished) {
  expect_published("SiouxFalls", {});
}
TEST(TrafficAssignment, AnaheimAsPublished) {
  expect_published("Anaheim", {});
}
TEST(TrafficAssignment, ChicagoSketchAsPublished) {
  expect_published("ChicagoSketch", {0.02, 0.04});
}

// ---- Departures and guidance -------------------------------------------------------------------

TEST(DepartureProfile, FlatIsTheClockItself) {
  const DepartureProfile flat("flat", Duration::seconds(3600));
  EXPECT_EQ(flat.mean_rate(), 1);
  EXPECT_EQ(flat.instant(Duration::from_ticks(12345)), Duration::from_ticks(12345));
}

TEST(DepartureProfile, StepsKeepOrderAndShares) {
  const Duration period = Duration::seconds(86400);
  for (const char* name : {"peak", "day"}) {
    const DepartureProfile profile(name, period);
    EXPECT_EQ(profile.instant(Duration::zero()), Duration::zero());
    EXPECT_EQ(profile.instant(period), period);
    constexpr int kTrips = 100'000;
    std::map<std::int64_t, int> by_hour;
    Duration last;
    for (int i = 0; i < kTrips; ++i) {
      const Duration at =
          profile.instant(Duration::from_seconds(period.to_seconds() * (i + 0.5) / kTrips));
      EXPECT_GE(at, last);
      last = at;
      ++by_hour[at / Duration::seconds(3600)];
    }
    int most = 0;
    for (const auto& [hour, trips] : by_hour) most = std::max(most, trips);
    EXPECT_NEAR(profile.mean_rate(), kTrips / 24.0 / most, 1e-3) << name;
    EXPECT_NEAR(by_hour[17], kTrips * (std::string(name) == "day" ? 0.082 : 1 / 18.0), 2) << name;
  }
}

TEST(TrafficGuidance, LearnsHalfOfEachReportAndPrefersWhatIsQuick) {
  // 1-2-4 takes 2 minutes, 1-3-4 takes 3; 2-1 leads away from 4, and from 3 it is 1 minute.
  const Network network = network_of(
      4, {{1, 2, 1, 0, 0}, {2, 4, 1, 0, 0}, {1, 3, 2, 0, 0}, {3, 4, 1, 0, 0}, {2, 1, 1, 0, 0}});
  const std::vector<Demand::Pair> pairs{{0, 3, 1}};
  const ShortestPaths paths(network, pairs);
  const ZoneTimes times(network, pairs);
  EXPECT_EQ(times.from(0, 3), 120'000u);
  Guidance guidance(network, paths, times, 0);
  EXPECT_EQ(guidance.time_to(3), 120'000u);
  EXPECT_EQ(guidance.choose(3, UINT32_MAX, 0), 0u);
  CostReport report{0, 0, {}};
  report.time[3] = 320'000;
  guidance.learn(report);  // 220 s by way of 2, 180 s by way of 3
  EXPECT_EQ(guidance.time_to(3), 180'000u);
  EXPECT_EQ(guidance.choose(3, UINT32_MAX, 0), 1u);
  for (int i = 0; i < 40; ++i) guidance.learn(report);
  report.time[3] = 120'000;
  for (int i = 0; i < 40; ++i) guidance.learn(report);
  EXPECT_EQ(guidance.time_to(3), 120'000u) << "estimates reach what is reported again and again";
  const Guidance second(network, paths, times, 1);
  EXPECT_EQ(second.choose(3, 0, 10), 0u) << "no vehicle is sent back";
  EXPECT_EQ(second.choose(3, UINT32_MAX, 10), 0u);
}

TEST(TrafficGuidance, SpreadIsALogit) {
  const Network network =
      network_of(4, {{1, 2, 1, 0, 0}, {2, 4, 1, 0, 0}, {1, 3, 2, 0, 0}, {3, 4, 1, 0, 0}});
  const std::vector<Demand::Pair> pairs{{0, 3, 1}};
  const Guidance guidance(network, ShortestPaths(network, pairs), ZoneTimes(network, pairs), 0);
  constexpr int kDraws = 10'000;
  int first = 0;
  for (int i = 0; i < kDraws; ++i)
    first += guidance.choose(3, static_cast<std::uint32_t>(i * (0x1p32 / kDraws)), 0.5) == 0;
  EXPECT_NEAR(first, kDraws / (1 + std::exp(-60.0 / (0.5 * 120))), 2);  // 60 s more, spread 60 s
}

}  // namespace
}  // namespace traffic
