// SPDX-License-Identifier: Apache-2.0
//
// Quantiles of many spreads in a fixed amount of memory, so that a director can run for weeks:
// counts in 64 bins for each doubling, and the exact maximum.
#pragma once

#include <cstdint>
#include <vector>

#include "director/policy.h"

namespace orrery::director {

class SpreadCounts {
 public:
  explicit SpreadCounts(Nanoseconds tick);
  void add(Nanoseconds spread);

  std::uint64_t samples() const { return samples_; }
  /// In ticks, rounded up to the end of a bin (by at most 1.6 %): at least `share` of the samples
  /// are less or equal.
  double quantile(double share) const;
  double most() const { return double(most_) / double(tick_); }

 private:
  Nanoseconds tick_, most_ = 0;
  std::uint64_t samples_ = 0;
  std::vector<std::uint64_t> counts_;
};

}  // namespace orrery::director
