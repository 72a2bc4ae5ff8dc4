// SPDX-License-Identifier: Apache-2.0
#include "run/results/metric_totals.h"

#include <cstring>

#include "core/level_state.h"

namespace orrery {

void MetricTotals::add(LpId id, const std::byte* state) {
  for (const Metric* metric : model_.metrics()) {
    const std::byte* const place = state + metric->offset();
    const LpRecording* const recording = metric->recording();
    const bool is_recorded = recording != nullptr && contains(recording->lps, id);
    LpFigures& of_lps = lp_figures_[metric->index()];
    if (!metric->is_level()) {
      Summary one;
      std::memcpy(&one, place, sizeof one);
      summaries_[metric->index()].merge(one);
      if (is_recorded && one.count > 0) of_lps.values.emplace_back(id, one);
      continue;
    }
    LevelState one;
    std::memcpy(static_cast<void*>(&one), place, sizeof one);
    if (one.changes > 0) one.advance(end_);
    levels_[metric->index()].merge(one.summary());
    if (is_recorded && one.changes > 0) of_lps.levels.emplace_back(id, one.summary());
  }
}

}  // namespace orrery
