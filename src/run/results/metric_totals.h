// SPDX-License-Identifier: Apache-2.0
//
// The metrics of a run, combined from its LPs' states in the order of the LPs' numbers, on which
// floating-point sums depend.
#pragma once

#include <cstddef>
#include <vector>

#include "orrery/model.h"
#include "run/engine.h"

namespace orrery {

class MetricTotals {
 public:
  /// `end`: of the run, and thus of its levels.
  MetricTotals(const Model& model, Time end)
      : model_(model),
        end_(end),
        summaries_(model.metrics().size()),
        levels_(model.metrics().size()),
        lp_figures_(model.metrics().size()) {}

  /// Adds the state of one LP, as in its ledger. Call in the order of the LPs.
  void add(LpId id, const std::byte* state);
  void store(RunResult& result) const {
    result.metrics = summaries_;
    result.levels = levels_;
    result.lp_figures = lp_figures_;
  }

 private:
  const Model& model_;
  const Time end_;
  std::vector<Summary> summaries_;     ///< by metric; empty for levels
  std::vector<LevelSummary> levels_;   ///< by metric; empty for other metrics
  std::vector<LpFigures> lp_figures_;  ///< by metric
};

}  // namespace orrery
