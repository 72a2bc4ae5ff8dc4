// SPDX-License-Identifier: Apache-2.0
#include "page/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace orrery::page {
namespace {

constexpr double kManyDecades = 2.5;  // above this, only powers of ten are marked
constexpr double kMostDecades = 8;    // above this, not every power of ten is marked
constexpr double kFewDecades = 1;     // below this, 1, 2 and 5 are too few marks

std::vector<double> decades(const Scale& scale) {
  const double span = std::log10(scale.high / scale.low);
  std::vector<double> parts = {1, 2, 5};
  if (span > kManyDecades) parts = {1};
  if (span < kFewDecades) parts = {1, 1.5, 2, 3, 4, 5, 6, 8};
  const double step = std::ceil(span / kMostDecades);
  std::vector<double> all;
  for (double power = std::floor(std::log10(scale.low)); power <= std::log10(scale.high);
       power += step)
    for (const double part : parts)
      if (const double tick = part * std::pow(10, power); tick >= scale.low && tick <= scale.high)
        all.push_back(tick);
  return all;
}

}  // namespace

double Scale::at(double value) const {
  const double share =
      logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return begin + share * (end - begin);
}

double tick_step(double span, double count) {
  const double rough = span / count, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

std::string tick_text(double value, double step) {
  return fmt::format("{:.6g}", std::fabs(value) < step / 2 ? 0.0 : value);
}

Scale scale_of(double low, double high, double begin, double end, double count) {
  if (low > 0 && low < 0.5 * high) low = 0;
  if (high < 0 && high > 0.5 * low) high = 0;
  if (!(high > low)) {
    const double around = low == 0 ? 1 : std::fabs(low) * 0.1;
    low -= around;
    high += around;
  }
  const double step = tick_step(high - low, count);
  return {std::floor(low / step) * step, std::ceil(high / step) * step, begin, end};
}

double step_of(const Scale& scale, double count) {
  const double step = tick_step(scale.high - scale.low, count);
  return scale.whole ? std::max(step, 1.0) : step;
}

std::vector<double> ticks_of(const Scale& scale, double count) {
  if (scale.logarithmic) return decades(scale);
  const double step = step_of(scale, count);
  std::vector<double> all;
  for (double i = std::ceil(scale.low / step - 1e-9); i * step <= scale.high + step * 1e-9; ++i)
    all.push_back(i * step);
  return all;
}

}  // namespace orrery::page
