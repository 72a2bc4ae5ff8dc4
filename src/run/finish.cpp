// SPDX-License-Identifier: Apache-2.0
#include "run/finish.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/fingerprint.h"
#include "core/logical_process_access.h"
#include "memory/application_mode.h"
#include "run/faults.h"
#include "run/final_execution.h"
#include "run/guarded_call.h"

namespace orrery {

namespace {
constexpr std::string_view kFinish = "finish()";
}

Finisher::Finisher(const Model& model, Time end, RowSink* rows, Metrics metrics)
    : model_(model),
      end_(end),
      rows_(rows),
      apart_(metrics == Metrics::apart),
      totals_(model.metrics().size()) {}

void Finisher::finish(LpId id, LogicalProcessBase& lp, std::uint64_t hash) {
  const std::size_t rows = buffer_.mark();
  guarded_call([&] { call(id, lp, hash); }, [&] { note_fault(id, rows); });
}

void Finisher::finish(LpId id, LogicalProcessBase& lp, std::uint64_t hash, memory::LpHeap& heap) {
  const std::size_t rows = buffer_.mark();
  guarded_call(
      heap, [&] { call(id, lp, hash); }, [&] { note_fault(id, rows); });
}

void Finisher::call(LpId id, LogicalProcessBase& lp, std::uint64_t hash) {
  FinalExecution execution(model_, end_, id, lp, hash, rows_ == nullptr ? nullptr : &buffer_);
  execution.call();
  heap_misuse().raise();  // before anything of it counts
  hash = execution.hash();
  const memory::PlatformMode platform;
  if (const Summary* metrics = LogicalProcessAccess::metrics(lp)) {
    add_metrics(id, metrics);
    hash = fingerprint::add_bytes(hash, metrics, totals_.size() * sizeof(Summary));
  }
  part_.fingerprint += fingerprint::contribution(id, hash);
}

void Finisher::add_metrics(LpId id, const Summary* metrics) {
  if (apart_) {
    part_.lps.push_back(id);
    part_.metrics.insert(part_.metrics.end(), metrics, metrics + totals_.size());
    return;
  }
  for (std::size_t i = 0; i < totals_.size(); ++i) totals_[i].merge(metrics[i]);
}

void Finisher::note_fault(LpId id, std::size_t rows) {
  buffer_.return_to(rows);  // of what failed, nothing leaves
  if (!part_.fault.empty()) return;
  part_.fault = report_current_exception(model_, id, kFinish, end_);
  part_.fault_lp = id;
}

void Finisher::abandon(LpId id, std::uint64_t hash) {
  part_.fingerprint += fingerprint::contribution(id, hash);
}

void Finisher::hand_rows_over() {
  if (rows_ != nullptr) rows_->commit(0, buffer_);
}

Finisher::Part Finisher::take_part() {
  hand_rows_over();
  return std::move(part_);
}

void Finisher::store(RunResult& result) {
  hand_rows_over();
  result.fingerprint = part_.fingerprint;
  result.metrics = totals_;
  if (part_.fault.empty()) return;
  result.end = RunEnd::fault;
  result.fault = part_.fault;
}

void Finisher::store(const Model& model, std::vector<Part> parts, RunResult& result) {
  const std::size_t metrics = model.metrics().size();
  result.metrics.assign(metrics, Summary());
  result.fingerprint = 0;
  const Part* failed = nullptr;
  std::vector<std::pair<LpId, const Summary*>> all;
  for (const Part& part : parts) {
    result.fingerprint += part.fingerprint;
    if (!part.fault.empty() && (failed == nullptr || part.fault_lp < failed->fault_lp))
      failed = &part;
    for (std::size_t i = 0; i < part.lps.size(); ++i)
      all.emplace_back(part.lps[i], part.metrics.data() + i * metrics);
  }
  std::sort(all.begin(), all.end());
  for (const auto& [id, one] : all)
    for (std::size_t i = 0; i < metrics; ++i) result.metrics[i].merge(one[i]);
  if (failed == nullptr) return;
  result.end = RunEnd::fault;
  result.fault = failed->fault;
}

}  // namespace orrery
