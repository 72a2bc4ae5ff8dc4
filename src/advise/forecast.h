// SPDX-License-Identifier: Apache-2.0
//
// How many events the whole run has. They are the same on every engine, so one run up to some
// simulated time tells them up to there, and the rest is a forecast from their rate over simulated
// time. The beginning is left out by MSER (K. P. White, "An effective truncation heuristic for bias
// reduction in simulation output", Simulation 69(6), 1997); of the rest parts of equal length are
// taken as a sample, of which the future has as many more as fit into it. Where the rate still
// grows or falls, both are told: it stays as it is, and it goes on like that for as long again.
//
// Nothing can tell from the first tenth of a run that its load falls after the half. A *pilot*, a
// smaller setting of the same model that is run to its end, can: its events over simulated time
// have the shape of the whole. So a forecast says what it rests on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "advise/cost_fit.h"

namespace orrery::advise {

/// Events committed by a simulated time.
struct CurvePoint {
  double seconds = 0, events = 0;
};

/// By time, from the start of the run; between points it is straight.
class Curve {
 public:
  /// Points that do not go on in time are left out.
  explicit Curve(std::span<const CurvePoint> points);
  bool empty() const { return points_.size() < 2; }
  double end() const { return points_.empty() ? 0 : points_.back().seconds; }
  double events() const { return points_.empty() ? 0 : points_.back().events; }
  std::size_t size() const { return points_.size(); }

  double events_by(double seconds) const;
  /// When so many are committed; the end if that is later.
  double time_of(double events) const;

 private:
  std::vector<CurvePoint> points_;
};

enum class Basis : std::uint8_t {
  counted,    ///< the whole run was made
  settled,    ///< their rate, which stays
  unsettled,  ///< their rate, which still changes
  pilot,      ///< the shape of a smaller run
};

struct Forecast {
  Basis basis = Basis::settled;
  Likely events;          ///< of the whole run
  double counted = 0;     ///< of these
  double counted_to = 0;  ///< simulated seconds
  double until = 0;       ///< the same, the whole
  double settled_from = 0;
  double rate = 0;  ///< events in a simulated second where it was counted last

  /// "164 M, of which 25.1 M ...", one or more sentences.
  std::string text() const;
};

/// `confidence`: of the interval. The curve must reach beyond its first point.
Forecast forecast_events(const Curve& curve, double until, double confidence);

/// By the shape of `pilot`, which reaches to `until`.
Forecast forecast_by_pilot(const Curve& curve, const Curve& pilot, double until);

}  // namespace orrery::advise
