// SPDX-License-Identifier: Apache-2.0
#include "core/mergeable_statistics.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "memory/application_mode.h"

namespace orrery {

MergeableStatistics::MergeableStatistics(const Model& model) {
  const auto& metrics = model.metrics();
  if (std::any_of(metrics.begin(), metrics.end(), [](const Metric* m) { return m->is_counted(); }))
    for (const Metric* metric : metrics) one_.emplace_back(*metric);
}

void MergeableStatistics::add_to_series(Series& series, const Observation& observation) {
  if (series.of_level()) {
    series.change(observation.time, observation.value, observation.before);
  } else {
    series.add(observation.time, observation.value);
  }
}

Series& MergeableStatistics::One::series_of(LpId lp) {
  const auto found = lp_series.find(lp);
  if (found != lp_series.end()) [[likely]]
    return found->second;
  const memory::PlatformMode platform;
  return lp_series.emplace(lp, Series(recording->interval, series.of_level())).first->second;
}

void MergeableStatistics::One::add_of_lp(const Observation& observation) {
  if (contains(recording->series_lps, observation.lp))
    add_to_series(series_of(observation.lp), observation);
}

/// Reads the number of series, and number and series of each LP.
std::span<const std::uint64_t> MergeableStatistics::One::merge_lp_words(
    std::span<const std::uint64_t> words) {
  if (words.empty()) throw std::logic_error("the series of LPs are missing");
  const std::uint64_t count = words[0];
  words = words.subspan(1);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (words.empty() || recording == nullptr)
      throw std::logic_error("the series of LPs are of another run");
    words = series_of(static_cast<LpId>(words[0])).merge_words(words.subspan(1));
  }
  return words;
}

std::map<LpId, const Series*> MergeableStatistics::One::sorted_lp_series() const {
  std::map<LpId, const Series*> all;
  for (const auto& [lp, own] : lp_series) all.emplace(lp, &own);
  return all;
}

std::map<LpId, const Series*> MergeableStatistics::lp_series(const Metric& metric) const {
  return one_[metric.index()].sorted_lp_series();
}

void MergeableStatistics::merge(const MergeableStatistics& other) {
  for (std::size_t i = 0; i < other.one_.size(); ++i) {
    one_[i].histogram.merge(other.one_[i].histogram);
    one_[i].series.merge(other.one_[i].series);
    for (const auto& [lp, series] : other.one_[i].lp_series) one_[i].series_of(lp).merge(series);
  }
}

std::size_t MergeableStatistics::bytes() const {
  std::size_t sum = one_.size() * sizeof(One);
  for (const One& one : one_) {
    sum += one.histogram.bytes() + one.series.bytes();
    for (const auto& [lp, series] : one.lp_series) sum += sizeof(series) + series.bytes();
  }
  return sum;
}

std::vector<std::uint64_t> MergeableStatistics::words() const {
  std::vector<std::uint64_t> words;
  for (const One& one : one_) {
    one.histogram.write(words);
    one.series.write(words);
    words.push_back(one.lp_series.size());
    for (const auto& [lp, series] : one.sorted_lp_series()) {
      words.push_back(lp);
      series->write(words);
    }
  }
  return words;
}

void MergeableStatistics::merge_words(std::span<const std::uint64_t> words) {
  for (One& one : one_) {
    words = one.histogram.merge_words(words);
    words = one.series.merge_words(words);
    words = one.merge_lp_words(words);
  }
  if (!words.empty()) throw std::logic_error("the statistics of metrics are of another model");
}

}  // namespace orrery
