// SPDX-License-Identifier: Apache-2.0
//
// --stop-when of a run: halts the run at checks of the condition, in addition to the run's other
// halts.
#pragma once

#include <optional>

#include "cli/run_feature.h"
#include "output/stop_rule.h"

namespace orrery::cli {

class Stopping final : public RunFeature {
 public:
  /// Throws UsageError for a condition that has no meaning for the model, and for an engine that is
  /// no WorldEngine.
  void check(RunState& run) override;
  void begin(RunState& run) override;

 private:
  Duration step_;
  Time until_;
  std::optional<StopRule> rule_;
  std::optional<StopHalts> halts_;
};

}  // namespace orrery::cli
