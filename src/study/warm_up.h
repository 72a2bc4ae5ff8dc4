// SPDX-License-Identifier: Apache-2.0
//
// The length of the initial transient of a study's runs, from pilot runs. At each point the pilots'
// series of a metric are averaged, interval by interval (P. D. Welch, "The statistical analysis of
// simulation results", in S. S. Lavenberg (ed.), "Computer Performance Modeling Handbook", 1983),
// and the point's warm-up is the part of this average that MSER-5 would truncate (K. P. White, "An
// effective truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997;
// K. P. White, M. J. Cobb, S. C. Spratt, "A comparison of five steady-state truncation heuristics
// for simulation", Winter Simulation Conference, 2000): the beginning without which the mean of the
// rest has the smallest estimated error, in batches of five.
//
// MSER-5 is applied to the average, not to each pilot: for a single run it often finds the smallest
// error near the run's end by chance. For runs of an M/M/1 queue with a utilisation of 0.9 over
// 3,000 services this happened in 39 %, for averages of five such runs in 13 %; over 30,000
// services in 18 and 0 %.
//
// A warm-up of more than half of the run means that the run is too short for an estimate (White and
// others).
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
  double amount = 0, weight = 0;  ///< sum and count of values; for a level its mean, and 1
};

/// Adds a pilot's series of a metric from its results.sqlite. Throws UsageError for a file without
/// that series.
void add_pilot(const std::string& database, const std::string& metric,
               std::vector<PilotInterval>& sums);

/// The number of values that MSER-5 truncates; nothing for fewer than ten batches.
std::optional<std::size_t> mser5(std::span<const double> values);

struct WarmUp {
  std::int64_t ticks = 0;
  bool too_short = false;    ///< more than half of the run, or too few intervals
  bool at_end_only = false;  ///< all values are recorded at the end, so no run is long enough
  bool no_values = false;
};
WarmUp warm_up_of(std::span<const PilotInterval> sums);

/// Rounds up to two digits of seconds: 341.2 s becomes 350 s.
std::int64_t rounded_up(std::int64_t ticks, double tick_seconds);

}  // namespace orrery::study
