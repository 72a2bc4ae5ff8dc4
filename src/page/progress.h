// SPDX-License-Identifier: Apache-2.0
//
// The samples of a report's `progress`, parsed.
#pragma once

#include <string>
#include <vector>

#include "page/json_place.h"

namespace orrery::page {

struct Progress {
  std::vector<double> wall, simulated, committed, executed, memory;
  std::size_t size() const { return wall.size(); }
  /// Committed events per wall-clock second from `begin` to `end`, from the samples next to these
  /// times; 0 without samples.
  double rate(double begin, double end) const;
};

/// Empty if the report has no progress, or lists of different lengths.
Progress progress_of(const Json& report);

}  // namespace orrery::page
