// SPDX-License-Identifier: Apache-2.0
#include "cli/tracing.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/duration_text.h"
#include "core/machine.h"
#include "observe/number_text.h"
#include "orrery/error.h"
#include "run/containment/faults.h"
#include "run/options/option_forms.h"
#include "trace/lane_exchange.h"

namespace orrery::cli {
namespace {

constexpr std::uint64_t kUsualBytes = std::uint64_t{256} << 20, kLeastBytes = 64 << 10;

TraceScope scope_of(const TraceArguments& arguments, const Model& model) {
  TraceScope scope;
  const double tick = model.tick_seconds();
  scope.lps = trace::read_ranges("--trace-lps", arguments.lps);
  if (!scope.lps.empty() && scope.lps.back().second >= model.lp_count())
    throw UsageError(fmt::format("--trace-lps: there is no LP {}; the model has {}, from 0 on",
                                 scope.lps.back().second, model.lp_count()));
  scope.from = trace::read_time("--trace-from", arguments.from, tick, Time::zero());
  scope.to = trace::read_time("--trace-to", arguments.to, tick, Time::max());
  if (scope.to <= scope.from)
    throw UsageError(fmt::format("--trace-to is {} and --trace-from {}: nothing lies between them",
                                 time_text(model, scope.to), time_text(model, scope.from)));
  return scope;
}

std::vector<std::string> parameters_of(const Model& model) {
  std::vector<std::string> parameters;
  for (const ParameterBase* one : model.parameters())
    parameters.push_back(one->name() + "=" + one->value_text());
  return parameters;
}

void refuse_without_trace(const TraceArguments& arguments) {
  for (const auto& [flag, text] :
       {std::pair("--trace-lps", &arguments.lps), std::pair("--trace-from", &arguments.from),
        std::pair("--trace-to", &arguments.to), std::pair("--trace-size", &arguments.size)})
    if (!text->empty())
      throw UsageError(fmt::format("{} needs --trace: the file that is to be written", flag));
}

}  // namespace

void Tracing::prepare(const TraceArguments& arguments, const ChosenModel& chosen,
                      const RunOptions& options, bool is_first) {
  if (arguments.file.empty()) return refuse_without_trace(arguments);
  const Model& model = *chosen.model;
  facts_ = {chosen.name,          parameters_of(model), options.seed,
            model.tick_seconds(), model.lp_count(),     scope_of(arguments, model)};
  most_bytes_ = arguments.size.empty()
                    ? kUsualBytes
                    : option_forms::bytes(kLeastBytes, {}, "such as 64MiB or 1GiB")
                          .read({"--trace-size", arguments.size});
  const unsigned workers = options.workers > 0 ? options.workers : usable_cores();
  const std::uint64_t life_bytes = most_bytes_ / 2 / options.place.ranks;
  recorder_ =
      std::make_unique<TraceRecorder>(facts_.scope, workers, life_bytes / trace::kRecordBytes);
  if (is_first) file_.emplace(arguments.file);
}

std::string Tracing::facts_text() const {
  if (!is_on()) return "no trace";
  return fmt::format("a trace of LPs {} from {} to {}, of {} bytes",
                     trace::text_of(facts_.scope.lps), facts_.scope.from.ticks(),
                     facts_.scope.to.ticks(), most_bytes_);
}

void Tracing::begin(RunControl& control) {
  control.trace = recorder_.get();
  if (is_on()) clock_.emplace();
}

RowWriter* Tracing::before(RowWriter* next) {
  if (!file_) return next;
  return &events_.emplace(facts_, most_bytes_ / 2, *recorder_, next);
}

void Tracing::end(RunRecord& record, transport::RankTransport* ranks) {
  if (!is_on()) return;
  clock_->stop();
  std::vector<trace::Lane> lanes = trace::lanes_of(*recorder_, *clock_);
  recorder_.reset();
  std::vector<std::vector<trace::Lane>> all;
  if (ranks == nullptr)
    all.push_back(std::move(lanes));
  else
    all = trace::gather_lanes(*ranks, std::move(lanes), clock_->epoch_nanoseconds());
  if (!file_) return;
  file_->write(*events_);
  for (unsigned rank = 0; rank < all.size(); ++rank)
    left_out_ += file_->write(all[rank], rank, facts_.tick_seconds, most_bytes_ / 2 / all.size());
  sentence_ = fmt::format("trace of {} committed events in {} ({})\n", grouped(events_->events()),
                          file_->path(), bytes_text(file_->bytes()));
  const auto note = [&](const std::string& text) { record.result.notes.push_back(text); };
  if (const std::optional<Time>& full_at = events_->full_at())
    note(
        fmt::format("the trace holds all committed events before {}, and no more: --trace-size "
                    "gives it more room, --trace-lps, --trace-from and --trace-to less to hold",
                    duration_text(*full_at - Time::zero(), facts_.tick_seconds)));
  if (left_out_ > 0)
    note(
        fmt::format("{} records of what workers did did not fit into the trace: --trace-size "
                    "gives them more room",
                    grouped(left_out_)));
}

void Tracing::publish() {
  if (file_) file_->publish();
}

}  // namespace orrery::cli
