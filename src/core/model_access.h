// SPDX-License-Identifier: Apache-2.0
//
// What a run may do to a model that the model itself may not.
#pragma once

#include <cstdint>

#include "orrery/model.h"
#include "orrery/results.h"
#include "orrery/time.h"

namespace orrery {

/// Gives runs access to what Model hides from models.
struct ModelAccess {
  /// Before Model::prepare: what the model's own random numbers depend on.
  static void set_seed(Model& model, std::uint64_t seed) { model.seed_ = seed; }
  // After it: what the run is asked for beside what the model declares.
  static void observe_from(const Metric& metric, Time from) { metric.observed_from_ = from; }
  static void keep_series(const Metric& metric, Duration interval) { metric.set_series(interval); }
};

}  // namespace orrery
