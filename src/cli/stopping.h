// SPDX-License-Identifier: Apache-2.0
//
// --stop-when of a run: what it asks for, beside what the run halts for anyway.
#pragma once

#include <optional>

#include "observe/stop_rule.h"
#include "orrery/model.h"
#include "run/engine.h"

namespace orrery::cli {

class Stopping {
 public:
  /// The model is prepared and observed as asked for (run/observation.h). Throws UsageError for a
  /// condition that means nothing for it, and for an engine that has no worlds.
  void prepare(const Engine& engine, const EngineInfo& info, const Model& model,
               const RunOptions& options);
  /// What else the run halts for is known.
  void begin(RunControl& control);

 private:
  Duration step_;
  Time until_;
  std::optional<StopRule> rule_;
  std::optional<StopHalts> halts_;
};

}  // namespace orrery::cli
