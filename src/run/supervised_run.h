// SPDX-License-Identifier: Apache-2.0
//
// A run whose end is always a result: where the system refuses memory, threads or addresses in the
// middle of it, what was committed up to the last look at the counters is still true, and told.
#pragma once

#include <stdexcept>

#include "run/engine.h"

namespace orrery {

/// The system has refused something without which a run cannot go on. A whole sentence.
class SystemFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Engine::run. A failure of the system becomes RunEnd::failed, with the counters that `control`
/// shows and neither fingerprint nor metrics. UsageError and ModelFault go through.
RunResult run_supervised(Engine& engine, const Model& model, const RunOptions& options,
                         RunControl& control);

}  // namespace orrery
