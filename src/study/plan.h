// SPDX-License-Identifier: Apache-2.0
//
// The runs of a study: points, which are settings of the varying parameters, and replications,
// which are seeds. Points and seeds have an order, and all output of a study follows this order, so
// that tables do not depend on which run ended first.
//
// Every point uses the same seeds. With common random numbers, differences between points are known
// more precisely than the points themselves (A. M. Law, "Simulation Modeling and Analysis", 5th
// ed., 2015, 11.2); comparisons pair the runs by seed.
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
  std::vector<std::string> parameters;  ///< the varying ones, in the order of columns
  std::vector<Settings> points;         ///< their values at each point, in the same order
  std::vector<std::uint64_t> seeds;     ///< of the first replications of every point
  std::vector<PrecisionRule> rules;     ///< replications are added until all rules are met
  std::uint64_t most_seeds = 0;         ///< the largest number of replications of a point

  /// The seed of a replication; after the last of `seeds`, seeds continue from the largest.
  std::uint64_t seed(std::uint64_t replication) const;
};

/// Every point of `listed` (one without settings, if it is empty) with every combination of the
/// axes' values; the last axis changes fastest. Throws UsageError for more than `kMostPoints`.
inline constexpr std::uint64_t kMostPoints = 100'000;
std::vector<Settings> combine(const std::vector<Settings>& listed, const std::vector<Axis>& axes);

/// "stations=10, access=csma"; empty if no parameter varies.
std::string text_of(const Settings& settings);
/// "with stations=10, access=csma, ", for sentences; empty if no parameter varies.
std::string with_text(const Settings& settings);

}  // namespace orrery::study
