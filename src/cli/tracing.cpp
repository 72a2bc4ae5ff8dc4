// SPDX-License-Identifier: Apache-2.0
#include "cli/tracing.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/duration_text.h"
#include "core/machine.h"
#include "orrery/error.h"
#include "output/number_text.h"
#include "run/containment/faults.h"
#include "run/containment/lp_names.h"
#include "run/options/lp_patterns.h"
#include "run/options/option_forms.h"
#include "trace/lane_exchange.h"

namespace orrery::cli {
namespace {

constexpr std::uint64_t kUsualBytes = std::uint64_t{256} << 20, kLeastBytes = 64 << 10;

std::vector<std::string> parameters_of(const Model& model) {
  std::vector<std::string> parameters;
  for (const ParameterBase* one : model.parameters())
    parameters.push_back(one->name() + "=" + one->value_text());
  return parameters;
}

}  // namespace

void Tracing::declare(OptionTable& options) {
  options.group("Trace, for ui.perfetto.dev and 'orrery trace'");
  options.value("--trace", path_, "FILE",
                "Write committed events with their causes, and the activity of each worker");
  options.value("--trace-lps", lps_, "LPS",
                "Trace events of these LPs only, such as 0..3,7 or 'router*' (all)");
  options.value("--trace-from", from_, "TIME",
                "Trace events from this simulated time on (the start)");
  options.value("--trace-to", to_, "TIME", "Trace events before this simulated time (the end)");
  options.value("--trace-size", size_, "SIZE", "Largest size of the file (256MiB)");
  options.group("");
}

TraceScope Tracing::scope(const Model& model) const {
  TraceScope traced;
  const double tick = model.tick_seconds();
  traced.lps = read_lps("--trace-lps", lps_, named_lps(model));
  traced.from = trace::read_time("--trace-from", from_, tick, Time::zero());
  traced.to = trace::read_time("--trace-to", to_, tick, Time::max());
  if (traced.to <= traced.from)
    throw UsageError(fmt::format("--trace-to is {} and --trace-from {}: nothing lies between them",
                                 time_text(model, traced.to), time_text(model, traced.from)));
  return traced;
}

void Tracing::refuse_without_trace() const {
  for (const auto& [flag, text] :
       {std::pair("--trace-lps", &lps_), std::pair("--trace-from", &from_),
        std::pair("--trace-to", &to_), std::pair("--trace-size", &size_)})
    if (!text->empty())
      throw UsageError(fmt::format("{} needs --trace: the file that is to be written", flag));
}

void Tracing::prepare(RunState& run) {
  if (path_.empty()) return refuse_without_trace();
  const RunOptions& options = run.record.options;
  const Model& model = run.model();
  facts_ = {run.chosen.name,
            parameters_of(model),
            options.seed,
            model.tick_seconds(),
            model.lp_count(),
            scope(model),
            [&model](LpId lp) { return lp_text(model, lp); }};
  most_bytes_ = size_.empty() ? kUsualBytes
                              : option_forms::bytes(kLeastBytes, {}, "such as 64MiB or 1GiB")
                                    .read({"--trace-size", size_});
  const unsigned workers = options.workers > 0 ? options.workers : usable_cores();
  const std::uint64_t life_bytes = most_bytes_ / 2 / options.place.ranks;
  recorder_ =
      std::make_unique<TraceRecorder>(facts_.scope, workers, life_bytes / trace::kRecordBytes);
  if (run.is_first()) file_.emplace(path_);
}

void Tracing::add_facts(RunFacts& facts) const {
  facts.emplace_back("what is traced",
                     !is_on()
                         ? "no trace"
                         : fmt::format("a trace of LPs {} from {} to {}, of {} bytes",
                                       trace::text_of(facts_.scope.lps), facts_.scope.from.ticks(),
                                       facts_.scope.to.ticks(), most_bytes_));
}

void Tracing::begin(RunState& run) {
  run.control.trace = recorder_.get();
  if (is_on()) clock_.emplace();
}

RowWriter* Tracing::rows(RunState&, RowWriter* next) {
  if (!file_) return next;
  return &events_.emplace(facts_, most_bytes_ / 2, *recorder_, next);
}

void Tracing::end(RunState& run) {
  if (!is_on()) return;
  clock_->stop();
  std::vector<trace::Lane> lanes = trace::lanes_of(*recorder_, *clock_);
  recorder_.reset();
  std::vector<std::vector<trace::Lane>> all;
  if (run.ranks == nullptr)
    all.push_back(std::move(lanes));
  else
    all = trace::gather_lanes(*run.ranks, std::move(lanes), clock_->epoch_nanoseconds());
  if (!file_) return;
  file_->write(*events_);
  for (unsigned rank = 0; rank < all.size(); ++rank)
    left_out_ += file_->write(all[rank], rank, facts_.tick_seconds, most_bytes_ / 2 / all.size());
  sentence_ = fmt::format("trace of {} committed events in {} ({})\n", grouped(events_->events()),
                          file_->path(), bytes_text(file_->bytes()));
  if (const std::optional<Time>& full_at = events_->full_at())
    run.add_note(
        fmt::format("the trace holds all committed events before {}, and no more: --trace-size "
                    "gives it more room, --trace-lps, --trace-from and --trace-to less to hold",
                    duration_text(*full_at - Time::zero(), facts_.tick_seconds)));
  if (left_out_ > 0)
    run.add_note(
        fmt::format("{} records of the workers' activity did not fit into the trace: --trace-size "
                    "gives them more room",
                    grouped(left_out_)));
}

void Tracing::failed() {
  events_.reset();
  file_.reset();
}

void Tracing::published(RunState& run) {
  if (!file_) return;
  file_->publish();
  run.farewell += sentence_;
}

}  // namespace orrery::cli
