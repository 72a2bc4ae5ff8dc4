// SPDX-License-Identifier: Apache-2.0
//
// The static assignment of the traffic model as a program of its own, without a simulation:
//
//   traffic_assignment NET_FILE TRIPS_FILE GAP ROUNDS TOLL_FACTOR DISTANCE_FACTOR
//
// prints a first line "gap rounds paths seconds", then "from to flow cost" for every link.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "traffic/assignment.h"

namespace {

void assign(char** words) {
  const traffic::CostWeights weights{std::atof(words[5]), std::atof(words[6])};
  const traffic::NetworkOptions network_options{
      {}, weights, orrery::Duration::seconds(1), /*lane_capacity_per_hour=*/1800};
  const traffic::Network network =
      traffic::build_network(traffic::read_tntp_network(words[1]), nullptr, network_options);
  double within_zones = 0;
  const std::vector<traffic::Demand::Pair> pairs =
      traffic::pairs_of(traffic::read_tntp_trips(words[2]), network, 1.0, within_zones);
  const auto start = std::chrono::steady_clock::now();
  const traffic::Assignment result(
      network, pairs, {std::atof(words[3]), static_cast<unsigned>(std::atoi(words[4]))});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("{} {} {} {}\n", result.relative_gap(), result.rounds(), result.path_count(),
             took.count());
  for (std::size_t road = 0; road < network.roads.size(); ++road) {
    fmt::print("{} {} {} {}\n", network.label(network.facts[road].from),
               network.label(network.roads[road].to), result.flow()[road], result.cost()[road]);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 7) {
    std::fputs("usage: traffic_assignment NET TRIPS GAP ROUNDS TOLL_FACTOR DISTANCE_FACTOR\n",
               stderr);
    return 2;
  }
  try {
    assign(words);
  } catch (const std::exception& error) {
    fmt::print(stderr, "traffic_assignment: {}\n", error.what());
    return 2;
  }
  return 0;
}
