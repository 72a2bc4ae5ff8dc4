// SPDX-License-Identifier: Apache-2.0
//
// A metric interval by interval: of values their count, sum and extremes; of a level its mean over
// time, summed over all LPs. Counts are integers and sums exact (exact_sums.h), so that a series is
// the same in whatever order it is made.
//
// Of a level each change is kept where it happens: how much, and how much times how late in its
// interval. From these sums follow the mean of the interval and the value that the next begins
// with, so a change costs the same however long the level lasts.
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
  /// `interval`: of no ticks: there is no series.
  Series(Duration interval, bool of_level) : interval_(interval), of_level_(of_level) {}

  bool is_kept() const { return interval_ > Duration::zero(); }
  Duration interval() const { return interval_; }
  bool of_level() const { return of_level_; }

  void add(Time time, double value);
  /// Of one LP's level that was `before`.
  void change(Time time, double value, double before);
  void merge(const Series& other);

  /// An interval, the last one up to the end of the run.
  struct Interval {
    Time begin, end;
    std::uint64_t count;      ///< of values, or of changes
    double sum;               ///< of values; of a level 0
    double mean;              ///< of values; of a level over time, of all LPs together
    double minimum, maximum;  ///< of values that are numbers; else 0
  };
  /// Those from the one that `from` lies in up to `end`.
  std::vector<Interval> intervals(Time from, Time end) const;
  std::size_t bytes() const {
    return places_.capacity() * sizeof(Place) + sums_.bytes() + moments_.bytes();
  }

  // For a journey to another process of the same build.
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
