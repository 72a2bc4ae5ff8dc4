// SPDX-License-Identifier: Apache-2.0
//
// What metrics keep beside their summaries: counts that come out the same in whatever order they
// are made. So they need not be a part of any LP's state, which every rollback, checkpoint and move
// would have to carry: an engine adds an observation to a tally of the worker when the event is
// certain, and tallies are merged when it gives its world back. A world has the tally of what is
// committed (run/world.h), which goes where the world goes: to the next engine, into snapshots.
//
// An engine that never executes what does not commit adds at once, in the handler. After a fault
// nothing of a tally is told, so what was executed behind it does not matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/histogram.h"
#include "core/series.h"
#include "orrery/model.h"
#include "orrery/time.h"

namespace orrery {

/// A value that is recorded of a metric that is tallied, or a level that is set.
struct Observation {
  std::uint32_t metric;
  Time time;
  double value;
  double before;  ///< of a level, the LP's until then
};

class Tally {
 public:
  explicit Tally(const Model& model);

  /// Whether metrics of this kind are counted by tallies.
  static bool counts(const Metric& metric) {
    return metric.keeps(Keep::histogram) || metric.has_series();
  }
  /// No metric of the model is.
  bool is_idle() const { return one_.empty(); }

  /// In the mode of the handler.
  void add(const Observation& observation) {
    One& one = one_[observation.metric];
    if (one.has_histogram) one.histogram.add(observation.value);
    if (one.series.is_kept()) add_to_series(one.series, observation);
  }
  void merge(const Tally& other);

  /// Of a metric that keeps one.
  const Histogram& histogram(const Metric& metric) const { return one_[metric.index()].histogram; }
  const Series& series(const Metric& metric) const { return one_[metric.index()].series; }
  std::size_t bytes() const;

  // For a journey to another process of the same build.
  std::vector<std::uint64_t> words() const;
  /// Adds what was written of the same model. Throws std::logic_error for what was not.
  void merge_words(std::span<const std::uint64_t> words);

 private:
  /// Neighbours may be other workers' tallies.
  struct alignas(64) One {
    explicit One(const Metric& metric)
        : has_histogram(metric.keeps(Keep::histogram)),
          series(metric.interval(), metric.is_level()) {}
    bool has_histogram;
    Histogram histogram;
    Series series;
  };
  static void add_to_series(Series& series, const Observation& observation);

  std::vector<One> one_;  ///< by metric; empty if there is nothing to count
};

}  // namespace orrery
