// SPDX-License-Identifier: Apache-2.0
//
// The execution of finish(): the only FinalContext of all engines. Its rows come after those of all
// events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/float_environment.h"
#include "core/mergeable_statistics.h"
#include "core/rows.h"
#include "memory/application_mode.h"
#include "orrery/context.h"
#include "orrery/logical_process.h"
#include "orrery/model.h"
#include "run/containment/activity.h"

namespace orrery {

class FinalExecution final : public FinalContext {
 public:
  /// `hash`: the LP's fingerprint. `rows`, `observations`: receive emitted rows and observations
  /// for the mergeable statistics; nullptr: discarded. `left_out`: receives the indices of metrics
  /// of which a value was not recorded.
  FinalExecution(const Model& model, Time end, LpId id, LogicalProcessBase& lp, std::uint64_t hash,
                 RowBuffer* rows, std::vector<Observation>* observations,
                 std::vector<std::uint32_t>& left_out)
      : rows_(rows), observations_(observations), left_out_(left_out) {
    now_ = end;
    self_ = id;
    lp_count_ = static_cast<LpId>(model.lp_count());
    metric_bytes_ = model.metric_bytes();
    lp_ = &lp;
    hash_ = hash;
  }
  /// Throws the exception of finish().
  void call() {
    const ModelCall running("finish()", self_);
    const FloatGuard floats;
    lp_->finish(*this);
  }
  std::uint64_t hash() const { return hash_; }

 private:
  void leave_out(const Metric& metric) override {
    const memory::PlatformMode platform;
    if (std::find(left_out_.begin(), left_out_.end(), metric.index()) == left_out_.end())
      left_out_.push_back(metric.index());
  }
  void append_row(std::uint32_t table, std::span<const std::uint64_t> cells) override {
    if (rows_ == nullptr) return;
    const memory::PlatformMode platform;  // finish() may run in the LP's application mode
    rows_->append({Key::end_of(now_), ordinal_++, self_, table, cells});
  }
  void observe(const Observation& observation) override {
    if (observations_ == nullptr) return;
    const memory::PlatformMode platform;
    observations_->push_back(observation);
  }

  RowBuffer* const rows_;
  std::vector<Observation>* const observations_;
  std::uint32_t ordinal_ = 0;
  std::vector<std::uint32_t>& left_out_;
};

}  // namespace orrery
