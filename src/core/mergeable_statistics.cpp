// SPDX-License-Identifier: Apache-2.0
#include "core/mergeable_statistics.h"

#include <algorithm>
#include <stdexcept>

namespace orrery {

MergeableStatistics::MergeableStatistics(const Model& model) {
  const auto& metrics = model.metrics();
  if (std::any_of(metrics.begin(), metrics.end(), [](const Metric* m) { return counts(*m); }))
    for (const Metric* metric : metrics) one_.emplace_back(*metric);
}

void MergeableStatistics::add_to_series(Series& series, const Observation& observation) {
  if (series.of_level()) {
    series.change(observation.time, observation.value, observation.before);
  } else {
    series.add(observation.time, observation.value);
  }
}

void MergeableStatistics::merge(const MergeableStatistics& other) {
  for (std::size_t i = 0; i < other.one_.size(); ++i) {
    one_[i].histogram.merge(other.one_[i].histogram);
    one_[i].series.merge(other.one_[i].series);
  }
}

std::size_t MergeableStatistics::bytes() const {
  std::size_t sum = one_.size() * sizeof(One);
  for (const One& one : one_) sum += one.histogram.bytes() + one.series.bytes();
  return sum;
}

std::vector<std::uint64_t> MergeableStatistics::words() const {
  std::vector<std::uint64_t> words;
  for (const One& one : one_) {
    one.histogram.write(words);
    one.series.write(words);
  }
  return words;
}

void MergeableStatistics::merge_words(std::span<const std::uint64_t> words) {
  for (One& one : one_) {
    words = one.histogram.merge_words(words);
    words = one.series.merge_words(words);
  }
  if (!words.empty()) throw std::logic_error("the statistics of metrics are of another model");
}

}  // namespace orrery
