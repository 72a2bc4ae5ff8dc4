// SPDX-License-Identifier: Apache-2.0
//
// A confidence interval from one long run: its observations are divided into batches of the same
// simulated time, and the means of batches are taken as a sample (R. W. Conway, "Some tactical
// problems in digital simulation", Management Science 10(1), 1963; B. Schmeiser, "Batch size
// effects in the analysis of simulation output", Operations Research 30(3), 1982, who shows that 10
// to 30 batches are enough for any length of the run). Batches follow each other, so their means
// are independent and identically distributed only if a batch is long against the correlation time
// of the model. The correlation of each batch with the next shows whether this is so.
//
// For values, a batch has a sum and a count, and the mean is the ratio of both: its interval is
// that of a ratio estimator (W. G. Cochran, "Sampling Techniques", 3rd ed., 1977, 6.4). For a
// level, the mean is the mean over time, of all LPs together.
//
// Few values give intervals that are too narrow: intervals from 10 exponential values in 30 batches
// cover the mean in 86 % of cases instead of 95, from 20 in 91 %, from 100 in 94 %. So there is no
// interval from fewer than kLeastValues values or kLeastBatches batches with values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/series.h"
#include "output/student.h"
#include "run/engine.h"

namespace orrery {

inline constexpr unsigned kBatches = 30, kLeastBatches = 20;
inline constexpr std::uint64_t kLeastValues = 100;
/// Above this value, a correlation of neighbours among kBatches batches is significant: 1.645
/// standard deviations of 1 / sqrt(30), which independent batches exceed once in twenty runs (J.
/// von Neumann, "Distribution of the ratio of the mean square successive difference to the
/// variance", Annals of Mathematical Statistics 12(4), 1941).
inline constexpr double kMostCorrelation = 0.3;
/// The sentence for such batches.
inline constexpr std::string_view kDependentBatches =
    "the batches depend on each other, so the interval is too narrow; run longer";

/// The sentence for a metric whose values are all in the last of many intervals.
inline constexpr std::string_view kRecordedAtEnd =
    "all its values are of the end of the run, as those that finish() records; name a metric that "
    "handlers record";

struct BatchMeans {
  std::uint64_t batches = 0;  ///< batches with values
  double mean = 0;
  double half_width = 0;   ///< the interval is mean +/- half_width
  double correlation = 0;  ///< of a batch with the next
  double confidence = 0.95;
  Duration batch{};  ///< simulated time of each batch
  Time begin{};      ///< of the first batch; intervals that fill no batch are left out at the
                     ///< beginning

  bool are_independent() const { return correlation <= kMostCorrelation; }
  double precision() const { return relative_precision(half_width, mean); }
};

/// Whether all values are in the last of several intervals. `count`: the member of an interval that
/// is above 0 if the interval has values.
template <class Interval, class Count>
bool are_at_end_only(std::span<const Interval> intervals, Count Interval::*count) {
  const auto first = std::find_if(intervals.begin(), intervals.end(),
                                  [&](const Interval& one) { return one.*count > 0; });
  return intervals.size() > 1 && first == intervals.end() - 1;
}

/// From intervals that were observed completely, in order. Returns nothing if there are too few
/// intervals or values, and then writes the reason to `why`, if not null: "it has 12 values in 9 of
/// 30 batches; ...".
std::optional<BatchMeans> batch_means(std::span<const Series::Interval> intervals, bool of_level,
                                      double confidence = 0.95, std::string* why = nullptr);
/// For a metric with a series, up to the time that the run has reached.
std::optional<BatchMeans> batch_means(const Metric& metric, const RunResult& result,
                                      double confidence = 0.95, std::string* why = nullptr);

}  // namespace orrery
