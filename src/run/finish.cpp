// SPDX-License-Identifier: Apache-2.0
#include "run/finish.h"

#include <string_view>

#include "core/fingerprint.h"
#include "core/logical_process_access.h"
#include "memory/application_mode.h"
#include "run/faults.h"

namespace orrery {

namespace {
constexpr std::string_view kFinish = "finish()";
}

class Finisher::FinishContext final : public FinalContext {
 public:
  FinishContext(Finisher& finisher, LpId id, LogicalProcessBase& lp, std::uint64_t hash)
      : finisher_(finisher) {
    now_ = finisher.end_;
    self_ = id;
    metric_count_ = static_cast<std::uint32_t>(finisher.model_.metrics().size());
    lp_count_ = static_cast<LpId>(finisher.model_.lp_count());
    lp_ = &lp;
    hash_ = hash;
  }
  std::uint64_t hash() const { return hash_; }

 private:
  void append_row(const Table& table, std::span<const std::uint64_t> cells) override {
    if (finisher_.rows_ == nullptr) return;
    const memory::PlatformMode platform;  // finish() may run in the LP's application mode
    finisher_.buffer_.append(
        {Key::end_of(finisher_.end_), ordinal_++, self_, table.index(), cells});
  }
  Finisher& finisher_;
  std::uint32_t ordinal_ = 0;
};

Finisher::Finisher(const Model& model, Time end, RowSink* rows)
    : model_(model), end_(end), rows_(rows), totals_(model.metrics().size()) {}

void Finisher::finish(LpId id, LogicalProcessBase& lp, std::uint64_t hash) {
  FinishContext context(*this, id, lp, hash);
  try {
    lp.finish(context);
  } catch (...) {
    const memory::PlatformMode platform;  // the exception itself may lie in the LP's heap
    if (fault_.empty()) fault_ = describe_current_exception(model_, id, kFinish, end_);
    return;
  }
  hash = context.hash();
  if (const Summary* metrics = LogicalProcessAccess::metrics(lp)) {
    for (std::size_t i = 0; i < totals_.size(); ++i) totals_[i].merge(metrics[i]);
    hash = fingerprint::add_bytes(hash, metrics, totals_.size() * sizeof(Summary));
  }
  fingerprint_ += fingerprint::contribution(id, hash);
}

void Finisher::fail(LpId id, const std::string& what) {
  const memory::PlatformMode platform;
  if (fault_.empty())
    fault_ = "model fault in " + describe_event(model_, id, kFinish, end_) + ": " + what;
}

void Finisher::abandon(LpId id, std::uint64_t hash) {
  fingerprint_ += fingerprint::contribution(id, hash);
}

void Finisher::store(RunResult& result) {
  if (rows_ != nullptr) rows_->commit(0, buffer_);
  result.fingerprint = fingerprint_;
  result.metrics = totals_;
  if (fault_.empty()) return;
  result.end = RunEnd::fault;
  result.fault = fault_;
}

}  // namespace orrery
