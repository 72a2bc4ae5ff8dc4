// SPDX-License-Identifier: Apache-2.0
//
// The random variates that need more than a table: gamma and its relatives, reals by inversion, and
// counts of trials. The declarations cite the methods and papers (orrery/random.h).
//
// Every draw has a statement of its own, so that the order of draws is the same with every
// compiler, and a product that meets an addition is written `product(a, b)` (see orrery/math.h).
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/count_probability.h"
#include "orrery/math.h"
#include "orrery/random.h"

namespace orrery {

using math::product;

namespace {

void check_shape(const char* rule, double shape) {
  if (!(shape >= Random::kShapeMin && shape <= Random::kShapeMax)) [[unlikely]]
    detail::refuse(rule, shape);
}

void check_not_negative(const char* rule, double value) {
  if (!detail::is_finite_and_not_negative(value)) [[unlikely]]
    detail::refuse(rule, value);
}

/// 0 times infinity is 0 here: with a scale of 0 every value is 0.
double scaled(double unit, double scale) {
  return scale == 0 ? 0 : product(unit, scale);
}

/// ln(1 + x) for x >= -1. The ratio corrects the rounding of 1 + x (W. Kahan; see Goldberg, "What
/// every computer scientist should know about floating-point arithmetic", ACM Computing Surveys
/// 23(1), 1991, theorem 4).
double log_of_one_plus(double x) {
  const double sum = 1 + x;
  return sum == 1 ? x : math::log(sum) * x / (sum - 1);
}

}  // namespace

// ---- Gamma and its relatives -------------------------------------------------------------------

/// Scale 1, for shapes of at least 1. Names follow the paper.
double Random::unit_gamma(double shape) {
  const double d = shape - 1.0 / 3;
  const double c = 1 / math::sqrt(9 * d);
  for (;;) {
    const double x = unit_normal();
    const double root = 1 + product(c, x);
    if (root <= 0) continue;
    const double v = product(product(root, root), root);
    const double u = 1 - uniform();  // in (0, 1]
    const double square = product(x, x);
    if (u < 1 - product(0.0331, product(square, square))) return product(d, v);
    if (math::log(u) < 0.5 * square + product(d, 1 - v + math::log(v))) return product(d, v);
  }
}

/// The logarithm of unit_gamma, for any shape: below 1 the variate may be smaller than any double.
double Random::log_unit_gamma(double shape) {
  if (shape >= 1) return math::log(unit_gamma(shape));
  const double larger = math::log(unit_gamma(shape + 1));
  return larger - unit_exponential() / shape;
}

double Random::gamma(double shape, double scale) {
  check_shape("gamma: the shape must be from 1e-300 to 1e300", shape);
  check_not_negative("gamma: the scale must be finite and at least 0", scale);
  if (shape >= 1) return scaled(unit_gamma(shape), scale);
  const double larger = unit_gamma(shape + 1);
  return scaled(larger * math::exp(-unit_exponential() / shape), scale);
}

double Random::erlang(std::uint64_t stages, double mean) {
  if (stages == 0) detail::refuse("erlang: there must be at least 1 stage", std::int64_t{0});
  check_not_negative("erlang: the mean must be finite and at least 0", mean);
  const auto count = static_cast<double>(stages);
  if (stages > 3) return scaled(unit_gamma(count), mean / count);
  double sum = unit_exponential();
  for (std::uint64_t i = 1; i < stages; ++i) sum += unit_exponential();
  return product(sum, mean / count);
}

double Random::beta(double a, double b) {
  check_shape("beta: the shape a must be from 1e-300 to 1e300", a);
  check_shape("beta: the shape b must be from 1e-300 to 1e300", b);
  if (a >= 1 && b >= 1) {
    const double x = unit_gamma(a);
    const double y = unit_gamma(b);
    return 1 / (1 + y / x);
  }
  const double x = log_unit_gamma(a);
  const double y = log_unit_gamma(b);
  return 1 / (1 + math::exp(y - x));
}

// ---- Reals by inversion ------------------------------------------------------------------------

double Random::weibull(double shape, double scale) {
  check_shape("weibull: the shape must be from 1e-300 to 1e300", shape);
  check_not_negative("weibull: the scale must be finite and at least 0", scale);
  return scaled(math::pow(unit_exponential(), 1 / shape), scale);
}

double Random::pareto(double shape, double minimum) {
  check_shape("pareto: the shape must be from 1e-300 to 1e300", shape);
  check_not_negative("pareto: the minimum must be finite and at least 0", minimum);
  return scaled(math::exp(unit_exponential() / shape), minimum);
}

double Random::lognormal(double mu, double sigma) {
  check_not_negative("lognormal: sigma must be finite and at least 0", sigma);
  if (!(std::abs(mu) <= std::numeric_limits<double>::max())) [[unlikely]]
    detail::refuse("lognormal: mu must be finite", mu);
  return math::exp(mu + product(sigma, unit_normal()));
}

double Random::triangular(double low, double mode, double high) {
  const double width = high - low;
  if (!(low <= mode && mode <= high && width <= std::numeric_limits<double>::max())) [[unlikely]]
    refuse_triangle(low, mode, high);
  const double u = uniform();
  if (width == 0) return low;
  const double rise = (mode - low) / width, fall = (high - mode) / width;
  const double value = u < rise ? low + product(width, math::sqrt(product(u, rise)))
                                : high - product(width, math::sqrt(product(1 - u, fall)));
  return value < low ? low : value > high ? high : value;
}

// ---- Counts of trials --------------------------------------------------------------------------

/// With p = 1 the rate is infinite, and the count 0.
std::uint64_t Random::geometric(double p) {
  if (!(p >= kGeometricProbabilityMin && p <= 1)) [[unlikely]]
    detail::refuse("geometric: the probability must be from 2^-50 to 1", p);
  const double rate = -log_of_one_plus(-p);
  return static_cast<std::uint64_t>(unit_exponential() / rate);
}

/// Counts failures if they are the rarer, since the methods need p <= 1/2. 1 - p is exact then.
std::uint64_t Random::binomial(std::uint64_t trials, double p) {
  if (trials > kTrialsMax) [[unlikely]]
    detail::refuse("binomial: there may be at most 2^50 trials", static_cast<double>(trials));
  if (!(p >= 0 && p <= 1)) [[unlikely]]
    detail::refuse("binomial: the probability must be from 0 to 1", p);
  const auto count = static_cast<double>(trials);
  const double rarer = p > 0.5 ? 1 - p : p;
  const std::uint64_t hits =
      count * rarer < 10 ? rare_successes(count, rarer) : frequent_successes(count, rarer);
  return p > 0.5 ? trials - hits : hits;
}

/// Subtracts the probabilities of 0, 1, 2, ... from a uniform draw until it is used up. The bound
/// ends the search if rounding has left a remainder; a larger count has probability 1e-60.
std::uint64_t Random::rare_successes(double trials, double p) {
  constexpr double kCountMax = 100;
  const double odds = p / (1 - p), most = trials < kCountMax ? trials : kCountMax;
  double rest = uniform();
  double probability = math::exp(product(trials, log_of_one_plus(-p)));
  double count = 0;
  while (rest >= probability && count < most) {
    rest -= probability;
    probability = probability * odds * (trials - count) / (count + 1);
    ++count;
  }
  return static_cast<std::uint64_t>(count);
}

/// Hörmann's algorithm BTRS with his constants; names follow his paper.
std::uint64_t Random::frequent_successes(double trials, double p) {
  const double mean = product(trials, p);
  const double spread = math::sqrt(product(mean, 1 - p));
  const double b = 1.15 + product(2.53, spread);
  const double a = -0.0873 + product(0.0248, b) + product(0.01, p);
  const double v_r = 0.92 - 4.2 / b;
  const double alpha = product(2.83 + 5.1 / b, spread);
  const double at_mode = probability::log_binomial(std::floor(mean + p), trials, p);
  for (;;) {
    const double u = uniform() - 0.5;
    const double v = 1 - uniform();  // in (0, 1]
    const double us = 0.5 - std::abs(u);
    const double k = std::floor(product(2 * a / us + b, u) + (mean + 0.5));
    if (us >= 0.07 && v <= v_r) return static_cast<std::uint64_t>(k);
    if (!(k >= 0 && k <= trials)) continue;  // k is -infinity for us = 0
    const double hat = a / product(us, us) + b;
    if (math::log(v * alpha / hat) <= probability::log_binomial(k, trials, p) - at_mode)
      return static_cast<std::uint64_t>(k);
  }
}

std::uint64_t Random::negative_binomial(double successes, double p) {
  check_shape("negative_binomial: the number of successes must be from 1e-300 to 1e300", successes);
  if (!(p > 0 && p <= 1)) [[unlikely]]
    detail::refuse("negative_binomial: the probability must be above 0 and at most 1", p);
  const double scale = (1 - p) / p;
  if (!(scale <= kNegativeBinomialMeanMax)) [[unlikely]]
    detail::refuse("negative_binomial: (1 - p) / p must be at most 2^44", scale);
  if (!(product(successes, scale) <= kNegativeBinomialMeanMax)) [[unlikely]]
    detail::refuse("negative_binomial: the mean must be at most 2^44", product(successes, scale));
  const double mean = gamma(successes, scale);
  return poisson(mean < kPoissonMeanMax ? mean : kPoissonMeanMax);
}

}  // namespace orrery
