// SPDX-License-Identifier: Apache-2.0
//
// Routes by shares: the fraction of the vehicles to a destination that takes each link from a node.
// Each vehicle draws at each node, by a hash of its own numbers and the node's. So it uses no
// random stream, and its path is the same on every engine. The shares of a destination follow its
// link flows, so the expected flows equal the flows from which the shares were computed, and no
// vehicle carries a path. (Drawing link by link makes all paths of the destination's flows
// possible, with the probabilities of greatest entropy; T. Akamatsu, "Cyclic flows, Markov process
// and stochastic traffic assignment", Transportation Research B 30, 1996.)
#pragma once

#include <cstdint>
#include <vector>

#include "network.h"

namespace traffic {

class RouteShares {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  RouteShares() = default;
  RouteShares(std::uint32_t nodes, std::uint32_t zones)
      : zones_(zones), first_(std::size_t{nodes} * zones, kNone) {}

  struct Part {
    std::uint32_t road;
    double flow;  ///< not negative
  };
  /// Sets the links that vehicles to `destination` take from `node`: at least one link.
  void set(std::uint32_t node, std::uint32_t destination, const std::vector<Part>& parts);

  /// `draw`: uniform in 32 bits. `node` must have a share for `destination`.
  std::uint32_t road(std::uint32_t node, std::uint32_t destination, std::uint32_t draw) const {
    const std::uint32_t first = first_[std::size_t{node} * zones_ + destination];
    if ((first & kSingle) != 0) return first & ~kSingle;
    const Choice* choice = &choices_[first];
    while (draw > choice->up_to) ++choice;
    return choice->road;
  }

 private:
  static constexpr std::uint32_t kSingle = 1u << 31;  // if set, the rest is the road, not an index
  struct Choice {
    std::uint32_t up_to;  ///< largest draw for this road; all bits set in a node's last choice
    std::uint32_t road;
  };
  std::size_t zones_ = 0;
  std::vector<std::uint32_t> first_;
  std::vector<Choice> choices_;
};

}  // namespace traffic
