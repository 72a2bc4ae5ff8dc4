// SPDX-License-Identifier: Apache-2.0
//
// The time series of a metric: count, sum and extremes of values for each interval, or the mean of
// a level over time, summed over all LPs. Counts are integers and sums exact (exact_sums.h), so
// that a series does not depend on the order of additions.
//
// Each change of a level is added to its own interval: the change, and the change times its ticks
// since the interval began. These sums give the mean of the interval and the initial value of the
// next, so the cost of a change does not depend on how long the level lasts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/exact_sums.h"
#include "orrery/time.h"

namespace orrery {

class Series {
 public:
  /// `interval` of 0 ticks: no series is kept.
  Series(Duration interval, bool of_level) : interval_(interval), of_level_(of_level) {}

  bool is_kept() const { return interval_ > Duration::zero(); }
  Duration interval() const { return interval_; }
  bool of_level() const { return of_level_; }

  void add(Time time, double value);
  /// Adds a change of one LP's level from `before` to `value`.
  void change(Time time, double value, double before);
  void merge(const Series& other);

  /// An interval; the last one ends with the run.
  struct Interval {
    Time begin, end;
    std::uint64_t count;      ///< of values, or of changes
    double sum;               ///< of values; of a level 0
    double mean;              ///< of values; or of the level over time, summed over the LPs
    double minimum, maximum;  ///< of values without NaN; else 0
  };
  /// The intervals from that of `from` up to `end`.
  std::vector<Interval> intervals(Time from, Time end) const;
  std::size_t bytes() const {
    return places_.capacity() * sizeof(Place) + sums_.bytes() + moments_.bytes();
  }

  // For transfer to another process of the same build.
  void write(std::vector<std::uint64_t>& words) const;
  std::span<const std::uint64_t> merge_words(std::span<const std::uint64_t> words);

 private:
  struct Place {
    std::uint64_t count = 0;
    double minimum = std::numeric_limits<double>::infinity();
    double maximum = -std::numeric_limits<double>::infinity();
    void merge(const Place& other);
  };
  std::size_t place_of(Time time);
  void reach(std::size_t place);

  Duration interval_;
  bool of_level_;
  std::vector<Place> places_;
  ExactSums sums_;     ///< of values, or of changes
  ExactSums moments_;  ///< of changes * ticks since the interval began
};

}  // namespace orrery
