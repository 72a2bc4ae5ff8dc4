// SPDX-License-Identifier: Apache-2.0
//
// Histograms and series of metrics, which do not depend on the order of additions. So they need not
// be part of an LP's state, which every rollback, checkpoint and move would have to carry: an
// engine adds an observation to the worker's mergeable statistics when the event is certain to
// commit, and merges those of all workers when it returns its world. The statistics of all
// committed events belong to the world (run/world/world.h), and go with it to the next engine and
// into snapshots.
//
// An engine that executes only events that commit adds at once, in the handler. After a fault these
// statistics are not reported, so events executed after the fault do not matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/histogram.h"
#include "core/lp_recording.h"
#include "core/series.h"
#include "orrery/model.h"
#include "orrery/time.h"

namespace orrery {

/// A recorded value of a metric with a histogram or a series, or a change of a level.
struct Observation {
  std::uint32_t metric;
  LpId lp;
  Time time;
  double value;
  double before;  ///< the LP's previous level
};

class MergeableStatistics {
 public:
  explicit MergeableStatistics(const Model& model);

  /// Whether no metric of the model has a histogram or a series.
  bool is_idle() const { return one_.empty(); }

  /// In the mode of the handler.
  void add(const Observation& observation) {
    One& one = one_[observation.metric];
    if (one.has_histogram) one.histogram.add(observation.value);
    if (one.series.is_kept()) add_to_series(one.series, observation);
    if (one.recording != nullptr) [[unlikely]]
      one.add_of_lp(observation);
  }
  void merge(const MergeableStatistics& other);

  /// Of a metric that keeps a histogram, or a series.
  const Histogram& histogram(const Metric& metric) const { return one_[metric.index()].histogram; }
  const Series& series(const Metric& metric) const { return one_[metric.index()].series; }
  /// Of a metric with a recording that has series: those of the LPs that have recorded the metric.
  std::map<LpId, const Series*> lp_series(const Metric& metric) const;
  std::size_t bytes() const;

  // For transfer to another process of the same build.
  std::vector<std::uint64_t> words() const;
  /// Adds the words() of another object for the same model. Throws std::logic_error if the words
  /// are malformed.
  void merge_words(std::span<const std::uint64_t> words);

 private:
  /// Aligned, since neighbours in memory may belong to other workers.
  struct alignas(64) One {
    explicit One(const Metric& metric)
        : has_histogram(metric.keeps(Keep::histogram)),
          series(metric.interval(), metric.is_level()),
          recording(has_series_of_lps(metric) ? metric.recording() : nullptr) {}
    static bool has_series_of_lps(const Metric& metric) {
      return metric.recording() != nullptr && metric.recording()->has_series();
    }
    void add_of_lp(const Observation& observation);
    Series& series_of(LpId lp);
    std::map<LpId, const Series*> sorted_lp_series() const;
    std::span<const std::uint64_t> merge_lp_words(std::span<const std::uint64_t> words);

    bool has_histogram;
    Histogram histogram;
    Series series;
    const LpRecording* recording;  ///< null: no LP has a series of its own
    std::unordered_map<LpId, Series> lp_series;
  };
  static void add_to_series(Series& series, const Observation& observation);

  std::vector<One> one_;  ///< by metric; empty if there is nothing to count
};

}  // namespace orrery
