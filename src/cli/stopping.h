// SPDX-License-Identifier: Apache-2.0
//
// --stop-when of a run: halts the run at checks of the condition, in addition to the run's other
// halts.
#pragma once

#include <optional>

#include "observe/stop_rule.h"
#include "orrery/model.h"
#include "run/engine.h"

namespace orrery::cli {

class Stopping {
 public:
  /// Call it when the model is prepared and its observations are set (run/results/observation.h). Throws
  /// UsageError for a condition that has no meaning for the model, and for an engine that is no
  /// WorldEngine.
  void prepare(const Engine& engine, const EngineInfo& info, const Model& model,
               const RunOptions& options);
  /// Call it when all other halts of the run are known.
  void begin(RunControl& control);

 private:
  Duration step_;
  Time until_;
  std::optional<StopRule> rule_;
  std::optional<StopHalts> halts_;
};

}  // namespace orrery::cli
