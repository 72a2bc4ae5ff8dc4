// SPDX-License-Identifier: Apache-2.0
#include "advise/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "output/number_text.h"
#include "output/student.h"
#include "study/estimate.h"

namespace orrery::advise {
namespace {

constexpr std::size_t kMostParts = 48, kLeastParts = 6;  // of the counted time
constexpr std::size_t kBatches = 8;  // of the settled part: the fewer, the less they depend on each
                                     // other
constexpr double kWhole = 1 - 1e-9;
constexpr double kSteadyShare = 0.01;  // a smaller trend over the counted time is ignored

/// The cut for which the mean of the rest has the smallest estimated error; at most at the half,
/// since a minimum behind the half means that there are too few rates.
std::size_t settled_part(std::span<const double> rates) {
  std::size_t best = 0;
  double least = -1;
  for (std::size_t cut = 0; cut <= rates.size() / 2; ++cut) {
    const study::Estimate rest = study::estimate(rates.subspan(cut), 0.95);
    const double error = rest.deviation * rest.deviation / static_cast<double>(rates.size() - cut);
    if (least >= 0 && error >= least) continue;
    least = error;
    best = cut;
  }
  return best;
}

std::vector<double> rates_of(const Curve& curve, double from, double to, std::size_t parts) {
  std::vector<double> rates;
  const double length = (to - from) / static_cast<double>(parts);
  double before = curve.events_by(from);
  for (std::size_t i = 1; i <= parts; ++i) {
    const double now = curve.events_by(from + length * static_cast<double>(i));
    rates.push_back((now - before) / length);
    before = now;
  }
  return rates;
}

struct Trend {
  double per_part = 0;
  bool is_certain = false;
};

/// Whether the rates grow or fall, by the slope of the regression line.
Trend trend_of(std::span<const double> rates, double confidence) {
  if (rates.size() < 4) return {};
  const double count = static_cast<double>(rates.size()), middle = (count - 1) / 2;
  const double mean = study::estimate(rates, confidence).mean;
  double xx = 0, xy = 0, squares = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    xx += x * x;
    xy += x * (rates[i] - mean);
  }
  Trend trend{xy / xx, false};
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double error = rates[i] - mean - trend.per_part * (static_cast<double>(i) - middle);
    squares += error * error;
  }
  const double error = std::sqrt(squares / (count - 2) / xx);
  trend.is_certain =
      std::fabs(trend.per_part) > student_quantile(confidence, rates.size() - 2) * error &&
      std::fabs(trend.per_part) * count > kSteadyShare * mean;
  return trend;
}

/// The interval between two cases: the rate stays as in the last part, or the trend goes on for as
/// long as it has been observed (not longer), but not below a rate of 0.
Likely events_of_a_trend(std::span<const double> rates, double per_part, double parts_left,
                         double part_seconds) {
  const double last = rates.back();
  double going = std::min(parts_left, static_cast<double>(rates.size()));
  if (per_part < 0) going = std::min(going, last / -per_part);
  const double reached = last + per_part * going;
  const double stays = last * parts_left * part_seconds;
  const double goes_on =
      ((last + reached) / 2 * going + reached * (parts_left - going)) * part_seconds;
  return {(stays + goes_on) / 2, std::fabs(stays - goes_on) / 2};
}

std::string interval_text(const Likely& events) {
  return events.half_width ? fmt::format(" +/- {}", percent_text(events.share())) : "";
}

}  // namespace

Curve::Curve(std::span<const CurvePoint> points) {
  for (const CurvePoint& one : points)
    if (points_.empty() ||
        (one.seconds > points_.back().seconds && one.events >= points_.back().events))
      points_.push_back(one);
}

double Curve::events_by(double seconds) const {
  if (points_.empty() || seconds <= points_.front().seconds) return 0;
  const auto after =
      std::lower_bound(points_.begin(), points_.end(), seconds,
                       [](const CurvePoint& point, double time) { return point.seconds < time; });
  if (after == points_.end()) return events();
  const CurvePoint &b = *after, &a = *(after - 1);
  return a.events + (b.events - a.events) * (seconds - a.seconds) / (b.seconds - a.seconds);
}

double Curve::time_of(double events) const {
  const auto after =
      std::lower_bound(points_.begin(), points_.end(), events,
                       [](const CurvePoint& point, double count) { return point.events < count; });
  if (after == points_.end()) return end();
  if (after == points_.begin()) return points_.front().seconds;
  const CurvePoint &b = *after, &a = *(after - 1);
  return a.seconds + (b.seconds - a.seconds) * (events - a.events) / (b.events - a.events);
}

Forecast forecast_events(const Curve& curve, double until, double confidence) {
  Forecast forecast;
  forecast.until = until;
  forecast.counted = curve.events();
  forecast.counted_to = curve.end();
  if (curve.end() >= until * kWhole) {
    forecast.basis = Basis::counted;
    forecast.events = {curve.events(), 0};
    forecast.rate = curve.events() / until;
    return forecast;
  }
  const std::size_t parts = std::clamp(curve.size() / 2, kLeastParts, kMostParts);
  const std::vector<double> all = rates_of(curve, 0, curve.end(), parts);
  const std::size_t cut = settled_part(all);
  const double part = curve.end() / static_cast<double>(parts);
  forecast.settled_from = part * static_cast<double>(cut);
  const std::size_t batches = std::min(kBatches, parts - cut);
  const std::vector<double> rates = rates_of(curve, forecast.settled_from, curve.end(), batches);
  const double batch = (curve.end() - forecast.settled_from) / static_cast<double>(batches);
  const double left = until - curve.end();
  const Trend trend = trend_of(rates, confidence);
  Likely rest;
  if (trend.is_certain) {
    forecast.basis = Basis::unsettled;
    forecast.rate = rates.back();
    rest = events_of_a_trend(rates, trend.per_part, left / batch, batch);
  } else {
    const study::Estimate rate = study::estimate(rates, confidence);
    forecast.rate = rate.mean;
    const double count = static_cast<double>(batches);
    rest = {rate.mean * left, left * student_quantile(confidence, batches - 1) * rate.deviation *
                                  std::sqrt(1 / count + batch / left)};
  }
  forecast.events = {forecast.counted + rest.value, rest.half_width};
  return forecast;
}

Forecast forecast_by_pilot(const Curve& curve, const Curve& pilot, double until) {
  constexpr int kLooks = 9;  // times in the second half of the counted part
  Forecast forecast;
  forecast.basis = Basis::pilot;
  forecast.until = until;
  forecast.counted = curve.events();
  forecast.counted_to = curve.end();
  forecast.rate = (curve.events() - curve.events_by(curve.end() * 0.9)) / (curve.end() * 0.1);
  // Each of these times gives an estimate of all events; the estimates are equal if the shapes are.
  double lowest = 0, highest = 0, last = 0;
  for (int i = 0; i < kLooks; ++i) {
    const double time = curve.end() * (0.5 + 0.5 * i / (kLooks - 1));
    const double share = pilot.events_by(time) / pilot.events();
    if (share <= 0) continue;
    last = curve.events_by(time) / share;
    lowest = lowest == 0 ? last : std::min(lowest, last);
    highest = std::max(highest, last);
  }
  forecast.events = {last, std::max(last - lowest, highest - last)};
  return forecast;
}

std::string Forecast::text() const {
  const std::string all = short_number(events.value);
  if (basis == Basis::counted)
    return fmt::format("{} events, counted: the whole run was made on the way", all);
  std::string text = fmt::format("{}{} events: {} counted up to {} ({} of the simulated time), ",
                                 all, interval_text(events), short_number(counted),
                                 rounded_time_text(counted_to), percent_text(counted_to / until));
  switch (basis) {
    case Basis::settled:
      return text + fmt::format(
                        "the rest by their rate since {}. A load that changes later is not "
                        "included; --pilot shows one",
                        rounded_time_text(settled_from));
    case Basis::unsettled:
      return text +
             "the rest between a constant rate and one that keeps changing, because the rate has "
             "not settled. A longer --budget, or --pilot, gives a better forecast";
    default:
      return text + "the rest by the shape of the pilot";
  }
}

}  // namespace orrery::advise
