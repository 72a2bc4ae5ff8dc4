// SPDX-License-Identifier: Apache-2.0
#include "run/results/lp_recordings.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/duration_text.h"
#include "core/text.h"
#include "orrery/error.h"
#include "run/options/lp_patterns.h"
#include "run/options/option_forms.h"
#include "run/results/metric_options.h"

namespace orrery {
namespace {

/// Most intervals of the series of all LPs together, and what each takes (core/series.h).
constexpr double kMostLpIntervals = 10e6, kBytesOfAnInterval = 70;

/// One word of --record.
struct LpRequest {
  std::string lps, metric;
  Duration interval = Duration::zero();  ///< zero: no series
};

LpRequest request_of(const std::string& flag, const std::string& text, double tick_seconds) {
  const std::size_t equals = text.rfind('=');
  const std::string place = text.substr(0, equals);
  const std::size_t dot = place.rfind('.');
  LpRequest request;
  bool is_right = dot != std::string::npos && dot > 0 && dot + 1 < place.size();
  if (is_right) {
    request.lps = place.substr(0, dot);
    request.metric = place.substr(dot + 1);
  }
  if (equals != std::string::npos) {
    const auto interval = parse_duration(std::string_view(text).substr(equals + 1), tick_seconds);
    is_right = is_right && interval && *interval > Duration::zero();
    request.interval = interval.value_or(Duration::zero());
  }
  if (is_right) return request;
  throw UsageError(fmt::format(
      "{} cannot be '{}': LPS.METRIC or LPS.METRIC=TIME is expected, such as '*.wait' or "
      "'router*.wait=10s' (units: {})",
      flag, printable(text), kDurationUnits));
}

/// Adds the request to what is recorded of its metric.
void add(const std::string& flag, const LpRequest& request, const Metric& metric,
         const Model& model, LpRecording& recording) {
  const LpRanges lps = matching_lps(flag, request.lps, named_lps(model));
  const auto add_to = [&lps](LpRanges& to) {
    to.insert(to.end(), lps.begin(), lps.end());
    to = united(std::move(to));
  };
  add_to(recording.lps);
  if (request.interval == Duration::zero()) return;
  if (recording.has_series() && recording.interval != request.interval)
    throw UsageError(fmt::format(
        "{}: the series of metric '{}' have intervals of {} and of {}; give all the same", flag,
        metric.name(), duration_text(recording.interval, model.tick_seconds()),
        duration_text(request.interval, model.tick_seconds())));
  recording.interval = request.interval;
  add_to(recording.series_lps);
}

/// Refuses series that would fill the memory before the run ends.
void check_size(const std::string& flag, const std::vector<LpRecording>& recordings, Time until) {
  std::uint64_t lps = 0;
  double intervals = 0;
  for (const LpRecording& one : recordings) {
    if (!one.has_series()) continue;
    const std::uint64_t count = count_of(one.series_lps);
    lps += count;
    intervals += static_cast<double>(count) * std::ceil(static_cast<double>(until.ticks()) /
                                                        static_cast<double>(one.interval.ticks()));
  }
  if (intervals <= kMostLpIntervals) return;
  throw UsageError(fmt::format(
      "{}: the series of {} LPs would have {:.4g} intervals, {:.3g} GB of memory; at most "
      "{:.0f} million are possible: name fewer LPs, or give longer intervals or a shorter --until",
      flag, lps, intervals, intervals * kBytesOfAnInterval * 1e-9, kMostLpIntervals * 1e-6));
}

}  // namespace

std::vector<LpRecording> read_recordings(const std::string& flag, const std::string& text,
                                         const Model& model, Time until) {
  std::vector<LpRecording> recordings(model.metrics().size());
  for (const std::string& one : option_forms::read_list(flag, text)) {
    const LpRequest request = request_of(flag, one, model.tick_seconds());
    const Metric& metric = find_metric(model, request.metric, flag);
    add(flag, request, metric, model, recordings[metric.index()]);
  }
  check_size(flag, recordings, until);
  return recordings;
}

}  // namespace orrery
