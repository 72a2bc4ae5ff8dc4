// SPDX-License-Identifier: Apache-2.0
#include "advise/cost_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "output/student.h"

namespace orrery::advise {
namespace {

constexpr double kLeastSpread = 1.2;  // least ratio of longest to shortest run for a line

struct Sums {
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
};

/// x: 1 / events, y: the time per event. Two passes: sums of differences from the mean.
Sums sums_of(std::span<const Sample> samples) {
  Sums sums;
  const double count = static_cast<double>(samples.size());
  for (const Sample& one : samples) {
    sums.mean_x += 1 / one.events / count;
    sums.mean_y += one.seconds / one.events / count;
  }
  for (const Sample& one : samples) {
    const double x = 1 / one.events - sums.mean_x, y = one.seconds / one.events - sums.mean_y;
    sums.xx += x * x;
    sums.xy += x * y;
  }
  return sums;
}

bool have_several_lengths(std::span<const Sample> samples) {
  const auto [shortest, longest] =
      std::minmax_element(samples.begin(), samples.end(),
                          [](const Sample& a, const Sample& b) { return a.events < b.events; });
  return samples.size() > 2 && longest->events > kLeastSpread * shortest->events;
}

}  // namespace

double Likely::share() const {
  return half_width && value > 0 ? *half_width / value : std::numeric_limits<double>::infinity();
}

Likely CostFit::seconds(double events, double confidence) const {
  Likely time{fixed + per_event * events, {}};
  if (degrees == 0) return time;
  double variance = 1 + 1 / static_cast<double>(runs);
  if (inverse_squares > 0) {
    const double x = 1 / events - mean_inverse;
    variance += x * x / inverse_squares;
  }
  time.half_width =
      events * student_quantile(confidence, degrees) * deviation * std::sqrt(variance);
  return time;
}

std::optional<CostFit> fit_cost(std::span<const Sample> samples) {
  if (samples.empty()) return std::nullopt;
  const Sums sums = sums_of(samples);
  CostFit fit;
  fit.runs = samples.size();
  fit.per_event = sums.mean_y;
  std::size_t parameters = 1;
  if (have_several_lengths(samples) && sums.xy > 0) {
    fit.fixed = sums.xy / sums.xx;
    fit.per_event = sums.mean_y - fit.fixed * sums.mean_x;
    fit.mean_inverse = sums.mean_x;
    fit.inverse_squares = sums.xx;
    parameters = 2;
  }
  if (fit.per_event <= 0) {  // the fit says that all time is start-up; the mean is an upper bound
    fit = CostFit{.fixed = 0, .per_event = sums.mean_y, .runs = samples.size()};
    parameters = 1;
  }
  if (samples.size() <= parameters) return fit;
  fit.degrees = samples.size() - parameters;
  double squares = 0;
  for (const Sample& one : samples) {
    const double error = one.seconds / one.events - fit.per_event - fit.fixed / one.events;
    squares += error * error;
  }
  fit.deviation = std::sqrt(squares / static_cast<double>(fit.degrees));
  return fit;
}

}  // namespace orrery::advise
