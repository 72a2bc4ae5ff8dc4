// SPDX-License-Identifier: Apache-2.0
//
// What an event costs: seconds = fixed + per_event * events, fitted to runs of several lengths from
// one state. The fixed part is what a run pays once: threads, an engine that tries how it is to
// run, caches that fill. In short runs it is a good part of the time, in the full run next to
// nothing, so a rate that was simply divided out of a short run would be too low.
//
// Least squares are of the time of an event and not of the whole time, since a machine that is
// slower for a while is so by a factor: an error grows with the run. The interval is Student's, of
// one more run (N. R. Draper, H. Smith, "Applied Regression Analysis", 3rd ed., 1998, 3.2), and
// not of the line alone, for it is one run whose time is asked for.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace orrery::advise {

/// A run, or what of it was measured.
struct Sample {
  double events = 0, seconds = 0;
};

/// A value that is likely within value +/- half_width; nothing where one sample is all there is.
struct Likely {
  double value = 0;
  std::optional<double> half_width;

  /// half_width / value; infinite where there is no interval.
  double share() const;
};

struct CostFit {
  double fixed = 0, per_event = 0;  ///< seconds
  std::size_t runs = 0;
  double deviation = 0;                          ///< of an event's time about the line, seconds
  double mean_inverse = 0, inverse_squares = 0;  ///< of 1 / events: their mean, squares about it
  std::size_t degrees = 0;                       ///< of freedom; 0: no interval

  /// The time of a run of so many events.
  Likely seconds(double events, double confidence) const;
};

/// Nothing for no samples. Where all runs are of about one length, or what is fixed would come out
/// negative, nothing is taken to be fixed.
std::optional<CostFit> fit_cost(std::span<const Sample> samples);

}  // namespace orrery::advise
