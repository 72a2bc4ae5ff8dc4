// SPDX-License-Identifier: Apache-2.0
//
// The metrics of a run from what its LPs keep of them, combined in the order of the LPs' numbers:
// sums of floating-point numbers depend on it.
#pragma once

#include <cstddef>
#include <vector>

#include "orrery/model.h"
#include "run/engine.h"

namespace orrery {

class MetricTotals {
 public:
  /// `end`: of the run, and so of levels.
  MetricTotals(const Model& model, Time end)
      : model_(model),
        end_(end),
        summaries_(model.metrics().size()),
        levels_(model.metrics().size()) {}

  /// Of one LP, as in its ledger. LPs come in their order.
  void add(const std::byte* state);
  void store(RunResult& result) const {
    result.metrics = summaries_;
    result.levels = levels_;
  }

 private:
  const Model& model_;
  const Time end_;
  std::vector<Summary> summaries_;    ///< by metric; of levels empty
  std::vector<LevelSummary> levels_;  ///< by metric; of others empty
};

}  // namespace orrery
