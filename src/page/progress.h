// SPDX-License-Identifier: Apache-2.0
//
// The samples of a report's `progress`, read back.
#pragma once

#include <string>
#include <vector>

#include "page/json_place.h"

namespace orrery::page {

struct Progress {
  std::vector<double> wall, simulated, committed, executed, memory;
  std::size_t size() const { return wall.size(); }
  /// Committed events a second of the wall clock from one moment to another, by the samples next to
  /// them; 0 if there are none.
  double rate(double begin, double end) const;
};

/// Empty where the report has none, or lists of several lengths.
Progress progress_of(const Json& report);

}  // namespace orrery::page
