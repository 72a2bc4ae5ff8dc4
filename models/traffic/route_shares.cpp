// SPDX-License-Identifier: Apache-2.0
#include "route_shares.h"

#include <algorithm>

namespace traffic {

void RouteShares::set(std::uint32_t node, std::uint32_t destination,
                      const std::vector<Part>& parts) {
  std::uint32_t& first = first_[std::size_t{node} * zones_ + destination];
  if (parts.size() == 1) {
    first = parts.front().road | kSingle;
    return;
  }
  double total = 0;
  for (const Part& part : parts) total += part.flow;
  first = static_cast<std::uint32_t>(choices_.size());
  double below = 0;
  for (const Part& part : parts) {
    below += part.flow;
    const double bound = std::min(below / total * 0x1p32, 0x1p32 - 1);
    choices_.push_back({static_cast<std::uint32_t>(bound), part.road});
  }
  choices_.back().up_to = UINT32_MAX;
}

}  // namespace traffic
