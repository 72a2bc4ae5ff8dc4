// SPDX-License-Identifier: Apache-2.0
//
// What a study consists of: points, which are settings of the parameters that vary, and
// replications, which are seeds. Points and seeds have an order, and everything that a study leaves
// follows it, so that nothing in its tables tells which run ended first.
//
// The same seeds are used at every point. With common random numbers differences between points are
// known better than the points are (A. M. Law, "Simulation Modeling and Analysis", 5th ed., 2015,
// 11.2), and a comparison takes them seed by seed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "study/axis.h"
#include "study/precision.h"

namespace orrery::study {

/// Names and values of parameters.
using Settings = std::vector<std::pair<std::string, std::string>>;

struct Plan {
  std::vector<std::string> parameters;  ///< that vary, in the order of columns
  std::vector<Settings> points;         ///< those of each point, in the same order
  std::vector<std::uint64_t> seeds;     ///< of the replications that every point begins with
  std::vector<PrecisionRule> rules;     ///< more replications until all are met
  std::uint64_t most_seeds = 0;         ///< where these give up

  /// The seed of a replication; behind those that are named it counts on from the largest.
  std::uint64_t seed(std::uint64_t replication) const;
};

/// Every point of `listed` (one without settings, if there are none) with every combination of the
/// axes' values, the last axis running fastest. Throws UsageError for more than `kMostPoints`.
inline constexpr std::uint64_t kMostPoints = 100'000;
std::vector<Settings> combine(const std::vector<Settings>& listed, const std::vector<Axis>& axes);

/// "stations=10, access=csma"; empty where nothing varies.
std::string text_of(const Settings& settings);
/// "with stations=10, access=csma, ", for sentences; empty where nothing varies.
std::string with_text(const Settings& settings);

}  // namespace orrery::study
