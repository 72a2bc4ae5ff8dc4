// SPDX-License-Identifier: Apache-2.0
#include "run/results/finish.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/fingerprint.h"
#include "core/logical_process_access.h"
#include "memory/application_mode.h"
#include "run/containment/faults.h"
#include "run/containment/guarded_call.h"
#include "run/execution/final_execution.h"
#include "run/options/option.h"

namespace orrery {

namespace {
constexpr std::string_view kFinish = "finish()";
}

Finisher::Finisher(const Model& model, Time end, RowSink* rows, Metrics metrics)
    : model_(model),
      end_(end),
      rows_(rows),
      apart_(metrics == Metrics::apart),
      mergeable_statistics_(model),
      totals_(model, end) {}

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
  observations_.clear();
  FinalExecution execution(model_, end_, id, lp, hash, rows_ == nullptr ? nullptr : &buffer_,
                           &observations_, part_.left_out);
  execution.call();
  heap_misuse().raise();  // before any of its results count
  hash = execution.hash();
  const memory::PlatformMode platform;
  for (const Observation& one : observations_) add_at_end(one);
  if (const std::byte* metrics = LogicalProcessAccess::metrics(lp)) {
    add_metrics(id, metrics);
    hash = fingerprint::add_bytes(hash, metrics, model_.metric_bytes());
  }
  part_.fingerprint += fingerprint::contribution(id, hash);
}

/// Observations at the end of the run belong to the last interval of a series. A level that is set
/// there has no duration.
void Finisher::add_at_end(Observation one) {
  if (model_.metrics()[one.metric]->is_level()) return;
  one.time = std::max(Time::zero(), end_ - Duration::from_ticks(1));
  mergeable_statistics_.add(one);
}

void Finisher::add_metrics(LpId id, const std::byte* metrics) {
  if (!apart_) return totals_.add(id, metrics);
  part_.lps.push_back(id);
  part_.metrics.insert(part_.metrics.end(), metrics, metrics + model_.metric_bytes());
}

void Finisher::note_fault(LpId id, std::size_t rows) {
  buffer_.return_to(rows);  // rows of a failed finish() are dropped
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
  part_.mergeable_statistics = mergeable_statistics_.words();
  return std::move(part_);
}

/// Values counted from the beginning must not be reported after a warm-up.
void Finisher::note_left_out(const Model& model, std::vector<std::uint32_t> metrics,
                             RunResult& result) {
  if (metrics.empty()) return;
  std::sort(metrics.begin(), metrics.end());
  metrics.erase(std::unique(metrics.begin(), metrics.end()), metrics.end());
  std::vector<std::string> names;
  for (const std::uint32_t metric : metrics) names.push_back(model.metrics()[metric]->name());
  result.notes.push_back(
      "the warm-up cannot be left out of what finish() recorded of the whole run, so it was not "
      "recorded: " +
      listed(names, ", ") + " (docs/studies.md, 'Leaving the beginning out')");
}

void Finisher::store(RunResult& result) {
  hand_rows_over();
  note_left_out(model_, part_.left_out, result);
  result.fingerprint = part_.fingerprint;
  totals_.store(result);
  result.mergeable_statistics = std::move(mergeable_statistics_);
  if (part_.fault.empty()) return;
  result.end = RunEnd::fault;
  result.fault = part_.fault;
}

void Finisher::store(const Model& model, Time end, std::vector<Part> parts, RunResult& result) {
  result.fingerprint = 0;
  result.mergeable_statistics.emplace(model);
  const Part* failed = nullptr;
  std::vector<std::uint32_t> left_out;
  std::vector<std::pair<LpId, const std::byte*>> all;
  for (const Part& part : parts) {
    result.fingerprint += part.fingerprint;
    result.mergeable_statistics->merge_words(part.mergeable_statistics);
    left_out.insert(left_out.end(), part.left_out.begin(), part.left_out.end());
    if (!part.fault.empty() && (failed == nullptr || part.fault_lp < failed->fault_lp))
      failed = &part;
    for (std::size_t i = 0; i < part.lps.size(); ++i)
      all.emplace_back(part.lps[i], part.metrics.data() + i * model.metric_bytes());
  }
  std::sort(all.begin(), all.end());
  MetricTotals totals(model, end);
  for (const auto& [id, one] : all) totals.add(id, one);
  totals.store(result);
  note_left_out(model, std::move(left_out), result);
  if (failed == nullptr) return;
  result.end = RunEnd::fault;
  result.fault = failed->fault;
}

}  // namespace orrery
