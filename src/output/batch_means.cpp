// SPDX-License-Identifier: Apache-2.0
#include "output/batch_means.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "output/student.h"

namespace orrery {
namespace {

/// The parts of a batch in the two sums whose ratio is the mean.
struct Batch {
  double amount = 0, weight = 0;
  std::uint64_t values = 0;
};

Batch batch_of(std::span<const Series::Interval> intervals, bool of_level) {
  Batch batch;
  for (const Series::Interval& one : intervals) {
    batch.amount += of_level ? one.mean : one.sum;
    batch.weight += of_level ? 1.0 : static_cast<double>(one.count);
    batch.values += one.count;
  }
  return batch;
}

/// The correlation of each value with the next, about 0.
double correlation_of(const std::vector<double>& rests) {
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < rests.size(); ++i) {
    squares += rests[i] * rests[i];
    if (i > 0) products += rests[i] * rests[i - 1];
  }
  return squares > 0 ? products / squares : 0;
}

/// The deviations of batches: zero if every observation had the mean.
std::vector<double> rests_of(const std::vector<Batch>& batches, double mean) {
  std::vector<double> rests;
  for (const Batch& one : batches) rests.push_back(one.amount - mean * one.weight);
  return rests;
}

}  // namespace

std::optional<BatchMeans> batch_means(std::span<const Series::Interval> intervals, bool of_level,
                                      double confidence, std::string* why) {
  const std::size_t length = intervals.size() / kBatches;
  if (length == 0) {
    if (why != nullptr)
      *why = fmt::format("the run has {} intervals of time, too few for {} batches; run longer",
                         intervals.size(), kBatches);
    return {};
  }
  const auto used = intervals.subspan(intervals.size() - length * kBatches);
  std::vector<Batch> batches;
  Batch all;
  for (unsigned i = 0; i < kBatches; ++i) {
    const Batch& one = batches.emplace_back(batch_of(used.subspan(i * length, length), of_level));
    all.amount += one.amount;
    all.weight += one.weight;
    all.values += one.values;
  }
  const auto with_values = static_cast<std::uint64_t>(std::count_if(
      batches.begin(), batches.end(), [](const Batch& one) { return one.weight > 0; }));
  if (with_values < kLeastBatches || (!of_level && all.values < kLeastValues)) {
    if (why != nullptr)
      *why = fmt::format(
          "it has {} values, in {} of {} batches; an interval needs {} values or more, in {} "
          "batches "
          "or more",
          all.values, with_values, kBatches, kLeastValues, kLeastBatches);
    return {};
  }
  BatchMeans means{
      .batches = with_values, .mean = all.amount / all.weight, .confidence = confidence};
  const std::vector<double> rests = rests_of(batches, means.mean);
  double squares = 0;
  for (const double rest : rests) squares += rest * rest;
  const auto count = static_cast<double>(with_values);
  means.half_width = student_quantile(confidence, with_values - 1) *
                     std::sqrt(squares / (count - 1) * count) / all.weight;
  means.correlation = correlation_of(rests);
  means.begin = used.front().begin;
  means.batch = used[length - 1].end - used.front().begin;
  return means;
}

std::optional<BatchMeans> batch_means(const Metric& metric, const RunResult& result,
                                      double confidence, std::string* why) {
  if (why != nullptr) *why = "the run has no metrics";
  if (!metric.has_series() || !result.mergeable_statistics) return {};
  std::vector<Series::Interval> intervals =
      result.mergeable_statistics->series(metric).intervals(metric.observed_from(), result.reached);
  if (are_at_end_only<Series::Interval>(intervals, &Series::Interval::count)) {
    if (why != nullptr) *why = kRecordedAtEnd;
    return {};
  }
  std::erase_if(intervals, [&](const Series::Interval& one) {
    return one.begin < metric.observed_from() || one.end - one.begin < metric.interval();
  });
  return batch_means(intervals, metric.is_level(), confidence, why);
}

}  // namespace orrery
