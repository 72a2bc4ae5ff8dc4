// SPDX-License-Identifier: Apache-2.0
//
// Sets of LPs as ranges of their numbers, as options name them: a choice among a million LPs is
// small, and a lookup is a binary search.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "orrery/event.h"

namespace orrery {

using LpRange = std::pair<LpId, LpId>;  ///< first and last
/// Sorted, disjoint, and not adjacent.
using LpRanges = std::vector<LpRange>;

/// The LPs of these ranges, which may come in any order and overlap.
inline LpRanges united(std::vector<LpRange> ranges) {
  std::sort(ranges.begin(), ranges.end());
  LpRanges apart;
  for (const LpRange& range : ranges) {
    if (!apart.empty() && std::uint64_t{range.first} <= std::uint64_t{apart.back().second} + 1)
      apart.back().second = std::max(apart.back().second, range.second);
    else
      apart.push_back(range);
  }
  return apart;
}

inline bool contains(const LpRanges& ranges, LpId lp) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), lp,
                       [](LpId one, const LpRange& range) { return one < range.first; });
  return after != ranges.begin() && lp <= std::prev(after)->second;
}

inline std::uint64_t count_of(const LpRanges& ranges) {
  std::uint64_t count = 0;
  for (const auto& [first, last] : ranges) count += std::uint64_t{last} - first + 1;
  return count;
}

}  // namespace orrery
