// SPDX-License-Identifier: Apache-2.0
//
// Access of runs to the private parts of Model.
#pragma once

#include <cstdint>

#include "core/lp_recording.h"
#include "orrery/model.h"
#include "orrery/results.h"
#include "orrery/time.h"

namespace orrery {

/// For runs only: models do not see this header.
struct ModelAccess {
  /// Call before Model::prepare: the model's own random numbers depend on the seed.
  static void set_seed(Model& model, std::uint64_t seed) { model.seed_ = seed; }
  /// Call before Model::prepare.
  static void set_place(Model& model, unsigned rank, unsigned ranks) {
    model.rank_ = rank;
    model.ranks_ = ranks;
  }
  /// Names and values that must be equal on all ranks.
  static const auto& equal_on_ranks(const Model& model) { return model.equal_on_ranks_; }
  // Call after Model::prepare: requests of the run beyond the model's declarations.
  static void observe_from(const Metric& metric, Time from) { metric.observed_from_ = from; }
  static void keep_series(const Metric& metric, Duration interval) { metric.set_series(interval); }
  /// `recording`: null, or must live until the results of the run are written.
  static void record_lps(const Metric& metric, const LpRecording* recording) {
    metric.recording_ = recording;
    metric.is_counted_ = metric.keeps(Keep::histogram) || metric.has_series() ||
                         (recording != nullptr && recording->has_series());
  }
};

}  // namespace orrery
