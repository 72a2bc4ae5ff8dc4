// SPDX-License-Identifier: Apache-2.0
//
// A run that always ends with a result: if the system refuses memory, threads or addresses in the
// middle of it, the last values of the counters of committed events still hold, and are reported.
#pragma once

#include <stdexcept>

#include "run/engine.h"

namespace orrery {

/// The system has refused something that the run needs. The text is a whole sentence.
class SystemFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Engine::run. A failure of the system becomes RunEnd::failed, with the counters of `control` and
/// without fingerprint and metrics. UsageError and ModelFault pass through.
RunResult run_supervised(Engine& engine, const Model& model, const RunOptions& options,
                         RunControl& control);

}  // namespace orrery
