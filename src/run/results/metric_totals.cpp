// SPDX-License-Identifier: Apache-2.0
#include "run/results/metric_totals.h"

#include <cstring>

#include "core/level_state.h"

namespace orrery {

void MetricTotals::add(const std::byte* state) {
  for (const Metric* metric : model_.metrics()) {
    const std::byte* const place = state + metric->offset();
    if (!metric->is_level()) {
      Summary one;
      std::memcpy(&one, place, sizeof one);
      summaries_[metric->index()].merge(one);
      continue;
    }
    LevelState one;
    std::memcpy(static_cast<void*>(&one), place, sizeof one);
    if (one.changes > 0) one.advance(end_);
    levels_[metric->index()].merge(one.summary());
  }
}

}  // namespace orrery
