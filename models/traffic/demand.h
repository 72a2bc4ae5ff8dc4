// SPDX-License-Identifier: Apache-2.0
//
// The demand: for each origin its destinations with their trips, as cumulative sums, so that one
// search finds the destination of a departing vehicle. All LPs share the demand and only read it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "network.h"
#include "tntp.h"

namespace traffic {

class Demand {
 public:
  struct Pair {
    std::uint32_t origin, destination;  ///< nodes
    double trips;
  };
  Demand() = default;
  /// The pairs may come in any order; pairs of one origin keep their order.
  Demand(std::uint32_t nodes, const std::vector<Pair>& pairs);

  /// Trips that leave `origin`.
  double total_from(std::uint32_t origin) const {
    return is_empty(origin) ? 0.0 : cumulative_[begin_[origin + 1] - 1];
  }
  double total() const { return total_; }
  bool is_empty(std::uint32_t origin) const { return begin_[origin] == begin_[origin + 1]; }

  /// The destination at `share` (0 <= share < 1) of the trips from `origin`.
  std::uint32_t destination(std::uint32_t origin, double share) const {
    const auto first = cumulative_.begin() + begin_[origin];
    const auto last = cumulative_.begin() + begin_[origin + 1] - 1;  // in case share rounds up to 1
    const auto found = std::upper_bound(first, last, share * *last);
    return destinations_[static_cast<std::size_t>(found - cumulative_.begin())];
  }

  /// Calls visit(origin, destination, trips) for all pairs.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::uint32_t origin = 0; origin + 1 < begin_.size(); ++origin) {
      double before = 0;
      for (std::uint32_t i = begin_[origin]; i < begin_[origin + 1]; ++i) {
        visit(origin, destinations_[i], cumulative_[i] - before);
        before = cumulative_[i];
      }
    }
  }

 private:
  std::vector<std::uint32_t> begin_;
  std::vector<std::uint32_t> destinations_;
  std::vector<double> cumulative_;
  double total_ = 0;
};

/// The grid's demand, given by a formula. Every intersection on the west and south side is a source
/// of `trips` vehicles, spread evenly over the intersections on the east and north side.
class GridDemand {
 public:
  GridDemand() = default;
  GridDemand(std::uint32_t side, double trips) : side_(side), trips_(trips) {}

  std::uint32_t sources() const { return 2 * side_ - 1; }
  double total_from(std::uint32_t origin) const {
    return origin < side_ || origin % side_ == 0 ? trips_ : 0.0;
  }
  std::uint32_t destination(std::uint32_t origin, double share) const {
    const std::uint32_t own = sink_of(origin);  // two corners are both source and sink
    const std::uint32_t others = own == kNoSink ? sinks() : sinks() - 1;
    auto sink = static_cast<std::uint32_t>(share * others);
    sink = std::min(sink, others - 1);
    return node_of(sink >= own ? sink + 1 : sink);
  }

 private:
  static constexpr std::uint32_t kNoSink = UINT32_MAX;
  std::uint32_t sinks() const { return 2 * side_ - 1; }
  /// Numbers the east side from south to north, then the north side from west to east.
  std::uint32_t node_of(std::uint32_t sink) const {
    return sink < side_ ? sink * side_ + side_ - 1 : (side_ - 1) * side_ + sink - side_;
  }
  std::uint32_t sink_of(std::uint32_t node) const {
    const std::uint32_t row = node / side_, column = node % side_;
    if (column == side_ - 1) return row;
    return row == side_ - 1 ? side_ + column : kNoSink;
  }
  std::uint32_t side_ = 2;
  double trips_ = 0;
};

/// Trips of a TNTP table between zones of the network, scaled by `factor`. Trips within a zone use
/// no road, so they are left out and counted in `within_zones`. Throws UsageError if a zone has no
/// node or if the table and the network have different numbers of zones.
std::vector<Demand::Pair> pairs_of(const TntpTrips& trips, const Network& network, double factor,
                                   double& within_zones);

}  // namespace traffic
