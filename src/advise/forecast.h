// SPDX-License-Identifier: Apache-2.0
//
// Forecasts the number of events of the whole run. All engines commit the same events, so one run
// up to a simulated time gives the number up to there, and the rest is a forecast from the event
// rate over simulated time. MSER removes the initial transient (K. P. White, "An effective
// truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997). Parts of
// equal length of the rest are the sample, and the future consists of as many more such parts as
// fit into it. If the rate still grows or falls, the interval spans two cases: the rate stays as it
// is, and the trend continues for as long again.
//
// The first tenth of a run cannot show that the load falls after the half. A *pilot*, a smaller
// setting of the same model that is run to its end, can: its events over simulated time have the
// same shape as those of the whole run. So each forecast has its basis in it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "advise/cost_fit.h"

namespace orrery::advise {

/// The number of events that are committed by a simulated time.
struct CurvePoint {
  double seconds = 0, events = 0;
};

/// Events over simulated time, from the start of the run; linear between points.
class Curve {
 public:
  /// Skips points that are not later than the one before, or have fewer events.
  explicit Curve(std::span<const CurvePoint> points);
  bool empty() const { return points_.size() < 2; }
  double end() const { return points_.empty() ? 0 : points_.back().seconds; }
  double events() const { return points_.empty() ? 0 : points_.back().events; }
  std::size_t size() const { return points_.size(); }

  double events_by(double seconds) const;
  /// The time by which `events` are committed; at most end().
  double time_of(double events) const;

 private:
  std::vector<CurvePoint> points_;
};

enum class Basis : std::uint8_t {
  counted,    ///< the whole run was executed
  settled,    ///< the event rate, which does not change any more
  unsettled,  ///< the event rate, which still changes
  pilot,      ///< the shape of a smaller run
};

struct Forecast {
  Basis basis = Basis::settled;
  Likely events;          ///< of the whole run
  double counted = 0;     ///< events that were counted
  double counted_to = 0;  ///< simulated seconds that were counted
  double until = 0;       ///< simulated seconds of the whole run
  double settled_from = 0;
  double rate = 0;  ///< events per simulated second at the end of the counted part

  /// One or more sentences: "164 M, of which 25.1 M ...".
  std::string text() const;
};

/// `confidence`: of the interval. The curve must have events after its first point.
Forecast forecast_events(const Curve& curve, double until, double confidence);

/// A forecast by the shape of `pilot`, which must reach `until`.
Forecast forecast_by_pilot(const Curve& curve, const Curve& pilot, double until);

}  // namespace orrery::advise
