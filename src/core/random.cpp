// SPDX-License-Identifier: Apache-2.0
//
// The parts of the random streams that are not on the fast path: a new block, the ziggurats' tables
// and edges, Poisson, discrete distributions, and errors for wrong parameters; distributions.cpp
// has the other variates. The declarations cite the methods and papers.
//
// A product that meets an addition is written `product(a, b)`, which keeps a compiler from fusing
// the two (see orrery/math.h), since results must not depend on whether the machine has such an
// instruction. Products with a power of two are exact and need no such care.
#include "orrery/random.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/count_probability.h"
#include "core/stable_math.h"
#include "orrery/math.h"
#include "orrery/random_stream.h"

namespace orrery {

using math::product;

// ---- Refusals ----------------------------------------------------------------------------------

namespace {

std::string text_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

[[noreturn]] void refuse_with(const std::string& sentence) {
  throw std::invalid_argument("Random::" + sentence);
}

}  // namespace

void detail::refuse(const char* rule, double value) {
  refuse_with(std::string(rule) + ", but it is " + text_of(value) + ".");
}

void detail::refuse(const char* rule, std::int64_t value) {
  refuse_with(std::string(rule) + ", but it is " + std::to_string(value) + ".");
}

void Random::refuse_interval(double a, double b) {
  refuse_with("uniform: the interval [a, b) must have a <= b and a finite width, but a is " +
              text_of(a) + " and b is " + text_of(b) + ".");
}

void Random::refuse_integers(std::int64_t lo, std::int64_t hi) {
  refuse_with("integer: lo must not exceed hi, but lo is " + std::to_string(lo) + " and hi is " +
              std::to_string(hi) + ".");
}

void Random::refuse_triangle(double low, double mode, double high) {
  refuse_with("triangular: it must have low <= mode <= high and a finite width, but low is " +
              text_of(low) + ", mode is " + text_of(mode) + " and high is " + text_of(high) + ".");
}

void RandomStream::refuse_item(std::uint64_t number) {
  throw std::invalid_argument("RandomStream: an item's number must be below 2^36, but it is " +
                              std::to_string(number) + ".");
}

// ---- Blocks, uniform reals and integers --------------------------------------------------------

std::uint64_t Random::next_of_new_block() {
  const detail::PhiloxCounter block = detail::philox4x32_10(
      {static_cast<std::uint32_t>(block_), static_cast<std::uint32_t>(block_ >> 32), lp_, domain_},
      {static_cast<std::uint32_t>(key_), static_cast<std::uint32_t>(key_ >> 32)});
  ++block_;
  spare_ = block[2] | std::uint64_t{block[3]} << 32;
  has_spare_ = true;
  return block[0] | std::uint64_t{block[1]} << 32;
}

/// Called if a + (b - a) u was rounded up to b: returns the largest double below b, the result of
/// rounding down. Also handles a = b.
double Random::largest_below(double a, double b) {
  if (a == b) return a;
  return std::nextafter(b, a);  // exact by definition, hence the same in every libm
}

std::uint64_t Random::below_edge(detail::Wide scaled, std::uint64_t n) {
  const std::uint64_t surplus = (0 - n) % n;  // 2^64 mod n draws too many for some integers
  while (static_cast<std::uint64_t>(scaled) < surplus) {
    scaled = static_cast<detail::Wide>(next()) * n;
  }
  return static_cast<std::uint64_t>(scaled >> 64);
}

// ---- Ziggurats ---------------------------------------------------------------------------------
//
// The area under a decreasing density f (not normalised) is cut into 256 layers of equal area v:
// layer 0 is the rectangle up to `tail` under f(tail), together with the tail itself; layer i >= 1
// reaches from x = 0 to x_i and from f(x_i) up to f(x_i+1). `tail` and `v` solve the equation that
// the topmost layer ends at f(0) = 1; they were computed to 35 digits by bisection.

namespace {

struct Ziggurat {
  detail::ZigguratLayers layers;
  std::array<double, 257> heights;  // f(x_i)
};

template <class Density, class Inverse>
constexpr Ziggurat build_ziggurat(double tail, double area, Density density, Inverse inverse) {
  std::array<double, 257> x{};
  x[0] = area / density(tail);  // treats layer 0 as a rectangle
  x[1] = tail;
  for (std::size_t i = 1; i < 255; ++i) x[i + 1] = inverse(area / x[i] + density(x[i]));
  x[256] = 0;
  Ziggurat result{};
  for (std::size_t i = 0; i < 256; ++i) {
    result.layers[i] = {static_cast<std::uint64_t>(x[i + 1] / x[i] * 0x1p53), x[i] * 0x1p-53};
    result.heights[i] = density(x[i]);
  }
  result.heights[256] = 1;
  return result;
}

/// Newton's iteration, to within an ulp: std::sqrt is not constexpr. Used only for the tables.
constexpr double table_sqrt(double x) {
  double root = x > 1 ? x : 1;
  for (int step = 0; step < 12; ++step) root = (root + x / root) / 2;
  return root;
}

constexpr double kExponentialTail = 7.6971174701310497140;
constexpr double kExponentialArea = 0.0039496598225815572200;
constexpr double kNormalTail = 3.6541528853610087716;
constexpr double kNormalArea = 0.0049286732339746553474;

double normal_density(double x) {
  return math::exp(-0.5 * x * x);
}

constexpr Ziggurat kExponential = build_ziggurat(
    kExponentialTail, kExponentialArea,  //
    [](double x) { return math::kernel::exp_of_sum(-x, 0); },
    [](double y) { return -math::kernel::log_of_positive(y); });

constexpr Ziggurat kNormal = build_ziggurat(
    kNormalTail, kNormalArea,  //
    [](double x) { return math::kernel::exp_of_sum(-0.5 * x * x, 0); },
    [](double y) { return table_sqrt(-2 * math::kernel::log_of_positive(y)); });

double abscissa_of(std::uint64_t bits) {
  return static_cast<double>(static_cast<std::int64_t>(bits >> 11));
}

/// A uniform height within layer i.
double height_in(const Ziggurat& ziggurat, std::size_t i, double uniform) {
  const double low = ziggurat.heights[i];
  return low + product(ziggurat.heights[i + 1] - low, uniform);
}

}  // namespace

constinit const detail::ZigguratLayers detail::exponential_layers = kExponential.layers;
constinit const detail::ZigguratLayers detail::normal_layers = kNormal.layers;

/// Continues with a draw that was not accepted at once. The tail of the distribution has the same
/// shape as the whole, so a draw from the tail is a new draw, shifted.
double Random::exponential_edge(std::uint64_t bits) {
  double shift = 0;
  for (;; bits = next()) {
    const std::size_t i = bits & 0xFF;
    const double x = product(abscissa_of(bits), kExponential.layers[i].width);
    if (bits >> 11 < kExponential.layers[i].accept_below) return shift + x;
    if (i == 0) {
      shift += kExponentialTail;
    } else if (height_in(kExponential, i, uniform()) < math::exp(-x)) {
      return shift + x;
    }
  }
}

/// As above; the tail after Marsaglia, "Generating a variable from the tail of the normal
/// distribution", Technometrics 6(1), 1964.
double Random::normal_edge(std::uint64_t bits) {
  for (;; bits = next()) {
    const std::size_t i = bits & 0xFF;
    const double x = product(abscissa_of(bits), kNormal.layers[i].width);
    if (bits >> 11 < kNormal.layers[i].accept_below) return with_sign(x, bits);
    if (i == 0) break;
    if (height_in(kNormal, i, uniform()) < normal_density(x)) return with_sign(x, bits);
  }
  for (;;) {  // 1 - uniform() is in (0, 1]: the logarithm is finite
    const double beyond = -math::log(1 - uniform()) / kNormalTail;
    const double height = -math::log(1 - uniform());
    if (2 * height >= product(beyond, beyond)) return with_sign(kNormalTail + beyond, bits);
  }
}

// ---- Poisson -----------------------------------------------------------------------------------

std::uint64_t Random::poisson(double mean) {
  if (!(mean >= 0 && mean <= kPoissonMeanMax)) {
    detail::refuse("poisson: the mean must be from 0 to 2^50", mean);
  }
  return mean < 10 ? poisson_by_inversion(mean) : poisson_by_rejection(mean);
}

/// Subtracts the probabilities of 0, 1, 2, ... from a uniform draw until it is used up. The bound
/// ends the search if rounding has left a remainder; a larger count has probability 1e-60.
std::uint64_t Random::poisson_by_inversion(double mean) {
  constexpr std::uint64_t kCountMax = 100;
  double rest = uniform();
  double probability = math::exp(-mean);
  std::uint64_t count = 0;
  while (rest >= probability && count < kCountMax) {
    rest -= probability;
    ++count;
    probability = probability * mean / static_cast<double>(count);
  }
  return count;
}

/// Hörmann's algorithm PTRS with his constants; names follow his paper.
std::uint64_t Random::poisson_by_rejection(double mean) {
  const double b = 0.931 + product(2.53, math::sqrt(mean));
  const double a = -0.059 + product(0.02483, b);
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = uniform() - 0.5;
    const double v = 1 - uniform();  // in (0, 1]
    const double us = 0.5 - std::abs(u);
    const double k = std::floor(product(2 * a / us + b, u) + mean + 0.43);
    if (us >= 0.07 && v <= v_r) return static_cast<std::uint64_t>(k);
    if (!(k >= 0) || (us < 0.013 && v > us)) continue;  // k is -infinity for us = 0
    const double hat = a / product(us, us) + b;
    if (math::log(v * inverse_alpha / hat) <= probability::log_poisson(k, mean)) {
      return static_cast<std::uint64_t>(k);
    }
  }
}

// ---- Discrete distributions --------------------------------------------------------------------

namespace {

/// The sum in index order, after a check of each weight.
double checked_sum(std::span<const double> weights) {
  if (weights.empty()) refuse_with("discrete: there must be at least one weight.");
  double sum = 0;
  for (const double weight : weights) {
    if (!detail::is_finite_and_not_negative(weight)) {
      detail::refuse("discrete: a weight must be finite and at least 0", weight);
    }
    sum += weight;
  }
  if (!(sum > 0 && sum <= std::numeric_limits<double>::max())) {
    detail::refuse("discrete: the weights' sum must be finite and above 0", sum);
  }
  return sum;
}

}  // namespace

std::size_t Random::discrete(std::span<const double> weights) {
  const double sum = checked_sum(weights);
  double rest = product(sum, uniform());
  std::size_t last = 0;  // for a remainder of rounding: the last index that can occur
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    if (rest < weights[i]) return i;
    rest -= weights[i];
    last = i;
  }
  return last;
}

/// A column holds 1 / size of the probability. Each step completes one column: an index with less
/// than that is filled up from an index that has more, until all columns are full.
Discrete::Discrete(std::span<const double> weights) {
  const double sum = checked_sum(weights);
  if (weights.size() > std::numeric_limits<std::uint32_t>::max()) {
    refuse_with("discrete: a table takes fewer than 2^32 weights.");
  }
  const auto size = static_cast<std::uint32_t>(weights.size());
  std::vector<double> share(size);  // in columns
  std::vector<std::uint32_t> poor, rich;
  for (std::uint32_t i = 0; i < size; ++i) {
    share[i] = weights[i] / sum * size;
    (share[i] < 1 ? poor : rich).push_back(i);
  }
  columns_.resize(size);
  while (!poor.empty() && !rich.empty()) {
    const std::uint32_t taker = poor.back(), giver = rich.back();
    poor.pop_back();
    columns_[taker] = {static_cast<std::uint64_t>(share[taker] * 0x1p64), giver};
    share[giver] -= 1 - share[taker];
    if (share[giver] >= 1) continue;
    rich.pop_back();
    poor.push_back(giver);
  }
  // The remaining columns are full except for rounding (an index of weight zero lacks a whole
  // column, so it cannot remain). Their alias is their own index, since even the largest threshold
  // leaves one draw to the alias.
  const auto fill = [this](const std::vector<std::uint32_t>& full) {
    for (const std::uint32_t i : full) {
      columns_[i] = {std::numeric_limits<std::uint64_t>::max(), i};
    }
  };
  fill(poor);
  fill(rich);
}

}  // namespace orrery
