// SPDX-License-Identifier: Apache-2.0
#include "run/options.h"

#include <fmt/format.h>

#include "core/key.h"
#include "orrery/error.h"
#include "run/model_checks.h"

namespace orrery {

void check_options(const Model& model, const RunOptions& options) {
  if (options.livelock_microsteps < 1 || options.livelock_microsteps > Key::kMaxMicrostep) {
    throw UsageError(fmt::format("a livelock limit of {} is not possible; it can be 1 to {}",
                                 options.livelock_microsteps, Key::kMaxMicrostep));
  }
  check_lp_count(model);
}

}  // namespace orrery
