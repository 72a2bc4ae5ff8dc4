// SPDX-License-Identifier: Apache-2.0
//
// Quantiles of many spreads in a fixed amount of memory, so that a director can run for weeks:
// counts of spreads in bins of 64 to each doubling, and the largest one exactly.
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
  /// In ticks, rounded up to a bin (1.6 % at most): at least `share` of the samples are not above
  /// it.
  double quantile(double share) const;
  double most() const { return double(most_) / double(tick_); }

 private:
  Nanoseconds tick_, most_ = 0;
  std::uint64_t samples_ = 0;
  std::vector<std::uint64_t> counts_;
};

}  // namespace orrery::director
