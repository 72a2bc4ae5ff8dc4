// SPDX-License-Identifier: Apache-2.0
//
// The cost of an event: seconds = fixed + per_event * events, fitted to runs of several lengths
// from one state. A run has the fixed cost once: for starting threads, for an engine that tries
// other engines, for filling caches. In short runs this cost is a large part of the time, in the
// full run a very small one, so seconds / events of a short run would be too high.
//
// Least squares are of the time per event and not of the whole time, since a machine that is slower
// for a while is slower by a factor: the error grows with the run. The interval is Student's for
// one more run (N. R. Draper, H. Smith, "Applied Regression Analysis", 3rd ed., 1998, 3.2), and not
// that of the line alone, since the question is the time of one run.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace orrery::advise {

/// The measurement of one run.
struct Sample {
  double events = 0, seconds = 0;
};

/// A value with its confidence interval value +/- half_width; half_width is nothing for a single
/// sample.
struct Likely {
  double value = 0;
  std::optional<double> half_width;

  /// half_width / value; infinite without an interval.
  double share() const;
};

struct CostFit {
  double fixed = 0, per_event = 0;  ///< seconds
  std::size_t runs = 0;
  double deviation = 0;                          ///< of events' times from the line, seconds
  double mean_inverse = 0, inverse_squares = 0;  ///< of 1 / events: mean, squares about it
  std::size_t degrees = 0;                       ///< of freedom; 0: no interval

  /// The time of a run of `events`.
  Likely seconds(double events, double confidence) const;
};

/// Nothing for no samples. The fixed cost is 0 if all runs have about the same length, or if the
/// fit would give a negative cost.
std::optional<CostFit> fit_cost(std::span<const Sample> samples);

}  // namespace orrery::advise
