// SPDX-License-Identifier: Apache-2.0
#include "cli/stopping.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/error.h"
#include "run/results/metric_options.h"
#include "run/world/world_engine.h"

namespace orrery::cli {

void Stopping::check(RunState& run) {
  constexpr std::int64_t kLooks = 100;
  const RunOptions& options = run.record.options;
  const std::string& condition = options.get(stop_when_option());
  const std::int64_t step = options.get(stop_check_option());
  if (condition.empty() && step > 0)
    throw UsageError("--stop-check needs --stop-when: the condition that is looked at");
  if (condition.empty()) return;
  if (dynamic_cast<const WorldEngine*>(run.engine.get()) == nullptr)
    throw UsageError(
        fmt::format("engine {} cannot stop for --stop-when, because it does not give its LPs away",
                    run.info->name));
  rule_.emplace(run.model(), condition, batched_metrics(run.model(), options));
  until_ = options.until;
  step_ = Duration::from_ticks(
      step > 0 ? step : std::max<std::int64_t>(1, options.until.ticks() / kLooks));
}

void Stopping::begin(RunState& run) {
  if (!rule_) return;
  RunControl& control = run.control;
  halts_.emplace(*rule_, step_, until_, control, control.halts);
  control.halts = &*halts_;
}

}  // namespace orrery::cli
