// SPDX-License-Identifier: Apache-2.0
#include "run/execution/clusters.h"

#include <algorithm>
#include <numeric>

namespace orrery {

Clusters::Clusters(std::uint64_t lps) : count_(lps), lowest_(lps) {
  std::iota(lowest_.begin(), lowest_.end(), LpId{0});
}

/// Halves paths on the way (Tarjan and van Leeuwen, Worst-case analysis of set union algorithms,
/// JACM 31(2), 1984).
void Clusters::merge(LpId a, LpId b) {
  for (LpId* const id : {&a, &b})
    while (lowest_[*id] != *id) *id = lowest_[*id] = lowest_[lowest_[*id]];
  if (a == b) return;
  lowest_[std::max(a, b)] = std::min(a, b);
  --count_;
}

}  // namespace orrery
