// SPDX-License-Identifier: Apache-2.0
//
// How long the runs of a study need to forget how they began, from pilot runs. At each point the
// pilots' series of a metric are averaged, interval by interval (P. D. Welch, "The statistical
// analysis of simulation results", in S. S. Lavenberg (ed.), "Computer Performance Modeling
// Handbook", 1983), and what MSER-5 would leave away of that average is the point's warm-up (K. P.
// White, "An effective truncation heuristic for bias reduction in simulation output", Simulation
// 69(6), 1997; K. P. White, M. J. Cobb, S. C. Spratt, "A comparison of five steady-state truncation
// heuristics for simulation", Winter Simulation Conference, 2000): the beginning without which the
// mean of the rest has the smallest estimated error, in batches of five.
//
// The average, and not each pilot: a single run's rule finds its smallest error near the run's end
// by chance. Of runs of an M/M/1 queue with a utilisation of 0.9 over 3,000 services it did so in
// 39 %, of averages of five such runs in 13 %; over 30,000 in 18 and 0 %.
//
// A warm-up of more than half of the run says that the run is too short to tell (White and others).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace orrery::study {

inline constexpr std::uint64_t kPilots = 5;

/// Sums of pilots' intervals, in order.
struct PilotInterval {
  std::int64_t end_ticks = 0;
  double amount = 0, weight = 0;  ///< sum and count of values; of a level its mean, and 1
};

/// Adds what a pilot's results.sqlite has of a metric. Throws UsageError for a file that has
/// nothing of it.
void add_pilot(const std::string& database, const std::string& metric,
               std::vector<PilotInterval>& sums);

/// How many of the values MSER-5 leaves away; nothing for fewer than ten batches.
std::optional<std::size_t> mser5(std::span<const double> values);

struct WarmUp {
  std::int64_t ticks = 0;
  bool too_short = false;    ///< the run: it would be more than half of it, or there is too little
  bool at_end_only = false;  ///< all values: no run is long enough then
  bool no_values = false;
};
WarmUp warm_up_of(std::span<const PilotInterval> sums);

/// To two digits of seconds: 341.2 s is 350 s. Not less.
std::int64_t rounded_up(std::int64_t ticks, double tick_seconds);

}  // namespace orrery::study
