// SPDX-License-Identifier: Apache-2.0
#include "run/results/metric_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/duration_text.h"
#include "core/model_access.h"
#include "core/model_registry.h"
#include "core/text.h"
#include "orrery/error.h"
#include "run/containment/faults.h"
#include "run/options/option_forms.h"
#include "run/results/lp_recordings.h"

namespace orrery {
namespace {

/// Enough for thirty batches of any length that is a small part of a run.
constexpr std::int64_t kBatchIntervals = 1200;
/// Most intervals of a series (orrery/results.h).
constexpr std::int64_t kMostIntervals = std::int64_t{1} << 20;

OptionForm<std::int64_t> simulated_time() {
  return {.read =
              [](const OptionText& given) {
                const bool is_auto = given.text.starts_with("auto");
                return option_forms::read_simulated_time(
                           given, is_auto ? " ('orrery sweep' finds one)" : "")
                    .ticks();
              },
          .write = [](std::int64_t ticks) { return std::to_string(ticks) + " ticks"; }};
}

// One group, in one file, so that the help shows the options in this order.
constexpr OptionGroup kObservations{0, "Observation, and when it is enough"};

const Option<std::int64_t> kWarmUp{{.name = "warm-up",
                                    .type = "TIME",
                                    .help = "Metrics count nothing before this simulated time",
                                    .group = kObservations,
                                    .field = "warm_up_ticks",
                                    .default_words = "as the model says",
                                    .universal = true},
                                   0,
                                   simulated_time()};
const Option<std::string> kSeries{
    {.name = "series",
     .type = "METRIC=TIME,...",
     .help = "Keep time series of metrics, with intervals of this simulated time",
     .group = kObservations,
     .field = "series",
     .default_words = "the series that the model declares",
     .universal = true},
    "",
    option_forms::any_text()};
const Option<std::string> kRecord{
    {.name = "record",
     .type = "LPS.METRIC[=TIME],...",
     .help = "Keep a metric's figures of each of these LPs, such as 'router*.queue'; with a time, "
             "also a series with such intervals",
     .group = kObservations,
     .field = "record",
     .default_words = "figures of all LPs together",
     .universal = true},
    "",
    option_forms::any_text()};
const Option<std::string> kBatchMeans{
    {.name = "batch-means",
     .type = "METRIC,...",
     .help = "Compute confidence intervals from batches of this one run",
     .group = kObservations,
     .field = "batch_means",
     .default_words = "none",
     .universal = true},
    "",
    option_forms::any_text()};
const Option<std::string> kStopWhen{
    {.name = "stop-when",
     .type = "CONDITION",
     .help = "End the run when this is true, such as 'wait.count >= 100000' or "
             "'infected.current_total == 0'; 'and' joins conditions",
     .group = kObservations,
     .field = "stop_when",
     .default_words = "at --until only",
     .universal = true},
    "",
    option_forms::any_text()};
const Option<std::int64_t> kStopCheck{
    {.name = "stop-check",
     .type = "TIME",
     .help = "Simulated time between two checks of the condition of --stop-when",
     .group = kObservations,
     .field = "stop_check_ticks",
     .default_words = "a hundredth of --until",
     .universal = true},
    0,
    simulated_time()};

struct SeriesRequest {
  std::string metric;
  Duration interval;
};

std::vector<SeriesRequest> requests_of(const std::string& text, double tick_seconds) {
  std::vector<SeriesRequest> requests;
  for (const std::string& one : option_forms::read_list("--series", text)) {
    const std::size_t equals = one.find('=');
    const auto interval =
        equals == std::string::npos || equals == 0
            ? std::nullopt
            : parse_duration(std::string_view(one).substr(equals + 1), tick_seconds);
    if (!interval || *interval <= Duration::zero())
      throw UsageError(fmt::format(
          "--series cannot be '{}': METRIC=TIME is expected, such as wait=10s (units: {})", one,
          kDurationUnits));
    requests.push_back({one.substr(0, equals), *interval});
  }
  return requests;
}

void check_intervals(const std::string& flag, const Metric& metric, Duration interval,
                     const Model& model, Time until) {
  if (until.ticks() / interval.ticks() < kMostIntervals) return;
  throw UsageError(fmt::format(
      "{}: up to {} there are more than {} intervals of {} for metric '{}'; give it longer ones, "
      "or a shorter --until",
      flag, time_text(model, until), kMostIntervals, duration_text(interval, model.tick_seconds()),
      metric.name()));
}

void keep_series(const Model& model, const RunOptions& options) {
  for (const SeriesRequest& one : requests_of(options.get(kSeries), model.tick_seconds())) {
    const Metric& metric = find_metric(model, one.metric, kSeries.flag());
    check_intervals(kSeries.flag(), metric, one.interval, model, options.until);
    ModelAccess::keep_series(metric, one.interval);
  }
}

void record_lps(const Model& model, RunOptions& options) {
  options.recordings = std::make_shared<const std::vector<LpRecording>>(
      read_recordings(kRecord.flag(), options.get(kRecord), model, options.until));
  for (const Metric* metric : model.metrics()) {
    const LpRecording& recording = (*options.recordings)[metric->index()];
    ModelAccess::record_lps(*metric, recording.lps.empty() ? nullptr : &recording);
  }
}

/// Uses a series that the metric already has, if any.
void keep_batches(const Model& model, const RunOptions& options) {
  for (const Metric* metric : batched_metrics(model, options)) {
    if (metric->has_series()) continue;
    const std::int64_t ticks = (options.until - metric->observed_from()).ticks();
    const auto interval = Duration::from_ticks(std::max<std::int64_t>(1, ticks / kBatchIntervals));
    check_intervals(kBatchMeans.flag(), *metric, interval, model, options.until);
    ModelAccess::keep_series(*metric, interval);
  }
}

void begin_after(const Model& model, Time warm_up, Time until) {
  if (warm_up == Time::zero()) return;
  if (warm_up >= until)
    throw UsageError(fmt::format(
        "--warm-up leaves nothing to observe: it ends at {}, and the run at {}; give it "
        "less time or --until more",
        time_text(model, warm_up), time_text(model, until)));
  for (const Metric* metric : model.metrics())
    ModelAccess::observe_from(*metric, std::max(metric->observed_from(), warm_up));
}

}  // namespace

const Option<std::int64_t>& warm_up_option() {
  return kWarmUp;
}
const Option<std::string>& series_option() {
  return kSeries;
}
const Option<std::string>& record_option() {
  return kRecord;
}
const Option<std::string>& batch_means_option() {
  return kBatchMeans;
}
const Option<std::string>& stop_when_option() {
  return kStopWhen;
}
const Option<std::int64_t>& stop_check_option() {
  return kStopCheck;
}

OptionList lasting_metric_options() {
  return {&kWarmUp, &kSeries, &kRecord, &kBatchMeans};
}
OptionList metric_options() {
  return {&kWarmUp, &kSeries, &kRecord, &kBatchMeans, &kStopWhen, &kStopCheck};
}

void apply_metric_options(const Model& model, RunOptions& options) {
  begin_after(model, Time::from_ticks(options.get(kWarmUp)), options.until);
  keep_series(model, options);
  record_lps(model, options);
  keep_batches(model, options);
}

const Metric& find_metric(const Model& model, const std::string& name, const std::string& flag) {
  std::vector<std::string> names;
  for (const Metric* metric : model.metrics()) {
    if (metric->name() == name) return *metric;
    names.push_back(metric->name());
  }
  throw UsageError(names.empty() ? fmt::format("{}: the model has no metrics", flag)
                                 : fmt::format("{}: the model has no metric '{}'{} (metrics: {})",
                                               flag, printable(name), near_matches(name, names),
                                               fmt::join(names, ", ")));
}

std::vector<const Metric*> batched_metrics(const Model& model, const RunOptions& options) {
  std::vector<const Metric*> metrics;
  for (const std::string& name :
       option_forms::read_list(kBatchMeans.flag(), options.get(kBatchMeans)))
    metrics.push_back(&find_metric(model, name, kBatchMeans.flag()));
  return metrics;
}

}  // namespace orrery
