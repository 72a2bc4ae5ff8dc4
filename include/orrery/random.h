// SPDX-License-Identifier: Apache-2.0
//
// Random streams, one for each LP, that cost a rollback nothing.
//
// The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
// 1, 2, 3", SC'11): a keyed bijection applied to a counter. The key is the run's seed; the counter
// is (block number, LP, domain), so streams of different LPs cannot overlap and the whole state of
// a stream is one 64-bit block number. An engine keeps that number with the LP, calls `begin`
// before an event and keeps `position` after it. Every event starts at a fresh block of two draws;
// half a block left over at its end is dropped, so nothing else has to be saved. Nothing is
// computed before the first draw. (Computing two blocks at once, interleaved, was measured: it
// makes events of three or four draws some 10 % faster and events of one or two draws, which are
// common, 30 % slower.)
//
// The same seed gives the same values with every compiler, optimisation level and libm: what is not
// integer arithmetic is made of correctly rounded operations in a fixed order and of the functions
// of orrery/math.h. For the same reason do not use <random>'s distributions with these bits: their
// algorithms differ between standard libraries.
//
// orrery/random_stream.h has further streams by name; orrery/empirical.h draws from measured data.
//
// In f(r.uniform(), r.uniform()) the compiler chooses the order of the two draws: C++ leaves it
// open. Give each draw a statement of its own.
//
// Parameters out of range throw std::invalid_argument with a sentence that names the method, the
// range and the value; the stream has then not moved.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "orrery/math.h"  // refuses -ffast-math
#include "orrery/time.h"

namespace orrery {

class Discrete;
class RandomStream;

namespace detail {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// Ten rounds of Philox-4x32: the random block that belongs to a counter and a key.
constexpr PhiloxCounter philox4x32_10(PhiloxCounter counter, PhiloxKey key) {
  // Unrolled, since a loop's overhead is large next to a round of two multiplications.
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t odd = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(odd >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(odd),
               static_cast<std::uint32_t>(even >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(even)};
    key[0] += 0x9E3779B9;  // a Weyl sequence from the golden ratio ...
    key[1] += 0xBB67AE85;  // ... and one from the root of three
  }
  return counter;
}

/// One horizontal layer of a ziggurat: a draw of 53 bits below `accept_below` lies under the curve
/// for certain, and stands for the abscissa draw * `width` (already scaled by 2^-53).
struct ZigguratLayer {
  std::uint64_t accept_below;
  double width;
};
using ZigguratLayers = std::array<ZigguratLayer, 256>;
extern const ZigguratLayers exponential_layers;
extern const ZigguratLayers normal_layers;

__extension__ using Wide = unsigned __int128;

/// Throws std::invalid_argument: "Random::<rule>, but it is <value>."
[[noreturn]] void refuse(const char* rule, double value);
[[noreturn]] void refuse(const char* rule, std::int64_t value);

/// False for NaN too.
constexpr bool is_finite_and_not_negative(double x) {
  return x >= 0 && x <= std::numeric_limits<double>::max();
}

}  // namespace detail

/// The random stream of one LP. Copyable; small; not shared between threads.
class Random {
 public:
  /// Largest mean that `poisson` takes: above it a double has no spare bits to tell neighbouring
  /// integers apart.
  static constexpr double kPoissonMeanMax = 0x1p50;
  /// Most trials that `binomial` takes, for the same reason.
  static constexpr std::uint64_t kTrialsMax = std::uint64_t{1} << 50;
  /// Smallest probability that `geometric` takes: its mean is 2^50.
  static constexpr double kGeometricProbabilityMin = 0x1p-50;
  /// Largest mean of `negative_binomial`. It is below kPoissonMeanMax, since the mean of the
  /// underlying Poisson count is itself drawn and may be larger.
  static constexpr double kNegativeBinomialMeanMax = 0x1p44;
  /// Shapes of gamma, beta, Weibull and Pareto variates lie between these: beyond them the parts of
  /// the methods leave the range of doubles.
  static constexpr double kShapeMin = 1e-300, kShapeMax = 1e300;

  constexpr Random() = default;
  constexpr Random(std::uint64_t key, std::uint32_t lp, std::uint64_t block = 0,
                   std::uint32_t domain = 0)
      : key_(key), block_(block), lp_(lp), domain_(domain) {}

  /// For engines: the next draw is the first of block `block` of the stream (`key`, `lp`,
  /// `domain`). `key` is the run's seed. Domain 0 is the LPs' own; others are for streams beside it
  /// that must not disturb it (partitioning, fault injection).
  void begin(std::uint64_t key, std::uint32_t lp, std::uint64_t block, std::uint32_t domain = 0) {
    key_ = key;
    block_ = block;
    lp_ = lp;
    domain_ = domain;
    has_spare_ = false;
  }

  /// For engines: the first block that no draw has touched, to be kept for the next `begin`.
  std::uint64_t position() const { return block_; }

  /// 64 random bits.
  std::uint64_t next() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    return next_of_new_block();
  }

  /// A real in [0, 1), a multiple of 2^-53. One draw.
  double uniform() {
    return static_cast<double>(static_cast<std::int64_t>(next() >> 11)) * 0x1p-53;
  }

  /// A real in [a, b), in the unit of a and b; a where a = b. One draw. Throws unless a <= b and
  /// b - a is finite.
  double uniform(double a, double b) {
    const double width = b - a;
    if (!detail::is_finite_and_not_negative(width)) [[unlikely]]
      refuse_interval(a, b);
    const double value = a + math::product(width, uniform());
    return value < b ? value : largest_below(a, b);
  }

  /// An integer in [0, n), each exactly as likely as any other. One draw, rarely more. Throws for
  /// n = 0. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019: the
  /// upper half of a 64 x 64 bit product, with the few draws rejected that would make it uneven.
  std::uint64_t below(std::uint64_t n) {
    const detail::Wide scaled = static_cast<detail::Wide>(next_for(n)) * n;
    if (static_cast<std::uint64_t>(scaled) < n) [[unlikely]]
      return below_edge(scaled, n);
    return static_cast<std::uint64_t>(scaled >> 64);
  }

  /// An integer in [lo, hi], both included, each exactly as likely as any other. Throws for lo >
  /// hi.
  std::int64_t integer(std::int64_t lo, std::int64_t hi) {
    if (lo > hi) [[unlikely]]
      refuse_integers(lo, hi);
    const std::uint64_t count = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo) + 1;
    const std::uint64_t offset = count == 0 ? next() : below(count);  // 0: all 2^64 integers
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(lo) + offset);
  }

  /// True with probability p, to a resolution of 2^-53; never for p = 0, always for p = 1. One
  /// draw, whatever p is. Throws unless 0 <= p <= 1.
  bool bernoulli(double p) {
    if (!(p >= 0 && p <= 1)) [[unlikely]] {
      detail::refuse("bernoulli: the probability must be from 0 to 1", p);
    }
    return uniform() < p;
  }

  /// An exponentially distributed real, at least 0, in the unit of `mean` (not a rate). Throws
  /// unless the mean is finite and at least 0. Ziggurat: Marsaglia and Tsang, "The ziggurat method
  /// for generating random variables", J. Stat. Software 5(8), 2000. One draw in 99 of 100 cases.
  double exponential(double mean) {
    if (!detail::is_finite_and_not_negative(mean)) [[unlikely]] {
      detail::refuse("exponential: the mean must be finite and at least 0", mean);
    }
    return math::product(mean, unit_exponential());  // the caller may add to it
  }

  /// The same as a number of ticks, rounded to the nearest and at most Duration::max(). Rounding
  /// changes a mean of few ticks (a mean of 1 tick becomes 0.96): choose a finer tick.
  Duration exponential(Duration mean) {
    if (mean.ticks() < 0) [[unlikely]] {
      detail::refuse("exponential: the mean must be at least 0 ticks", mean.ticks());
    }
    const double ticks = math::product(static_cast<double>(mean.ticks()), unit_exponential());
    if (!(ticks < 0x1p63)) [[unlikely]]
      return Duration::max();
    return Duration::from_ticks(static_cast<std::int64_t>(ticks + 0.5));
  }

  /// A normally distributed real, in the unit of `mean` and `sigma` (the standard deviation).
  /// Throws unless both are finite and sigma is at least 0. Ziggurat as above; after Doornik, "An
  /// improved ziggurat method to generate normal random samples" (2005), the layer, the sign and
  /// the abscissa are taken from different bits of the draw. One draw in 99 of 100 cases.
  double normal(double mean, double sigma) {
    if (!detail::is_finite_and_not_negative(sigma)) [[unlikely]] {
      detail::refuse("normal: sigma must be finite and at least 0", sigma);
    }
    if (!detail::is_finite_and_not_negative(mean < 0 ? -mean : mean)) [[unlikely]] {
      detail::refuse("normal: the mean must be finite", mean);
    }
    return mean + math::product(sigma, unit_normal());
  }

  /// A Poisson-distributed count. Throws unless the mean is in [0, kPoissonMeanMax]. Means below
  /// 10: inversion of one uniform draw. Above: the transformed rejection PTRS of Hörmann, "The
  /// transformed rejection method for generating Poisson random variables", Insurance: Mathematics
  /// and Economics 12(1), 1993; 2.7 draws on average at a mean of 10, 2.2 for the largest.
  std::uint64_t poisson(double mean);

  // Real distributions with a scale or a mean have its unit; a scale of 0 gives 0. Values beyond
  // the range of doubles become infinity, which Duration::from_seconds takes for "never". Shapes
  // are from kShapeMin to kShapeMax, scales and means finite and at least 0: other arguments throw.
  // "Draws" is the average number of uniform numbers taken; an exponential or normal variate counts
  // as one, though one in a hundred needs another.

  /// A gamma-distributed real, at least 0; its mean is shape * scale, its variance shape * scale^2.
  /// Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3), 2000;
  /// for shapes below 1, as in that paper, the variate of shape + 1 times u^(1 / shape). 2.0 to 2.1
  /// draws, for shapes below 1 one more. Below a shape of 0.01 some values underflow to 0.
  double gamma(double shape, double scale);

  /// The sum of `stages` exponentially distributed reals whose means add up to `mean`: a gamma
  /// variate of a whole shape. Its variance is mean^2 / stages. Up to 3 draws. Throws for 0 stages.
  double erlang(std::uint64_t stages, double mean);

  /// A Weibull-distributed real, at least 0: above x with probability exp(-(x / scale)^shape), so
  /// the mean is scale * Gamma(1 + 1 / shape). Inversion (W. Weibull, "A statistical distribution
  /// function of wide applicability", J. Applied Mechanics 18, 1951). 1 draw.
  double weibull(double shape, double scale);

  /// A Pareto-distributed real (of type I), at least `minimum`: above x >= minimum with probability
  /// (minimum / x)^shape. The mean is minimum * shape / (shape - 1), infinite for shapes up to 1;
  /// the variance is infinite for shapes up to 2. Inversion. 1 draw.
  double pareto(double shape, double minimum);

  /// e to the power of a normally distributed real with mean `mu` and standard deviation `sigma`,
  /// which are thus those of the logarithm; the median is e^mu, the mean e^(mu + sigma^2 / 2). 1
  /// draw. Throws unless mu is finite and sigma finite and at least 0.
  double lognormal(double mu, double sigma);

  /// A real in [low, high] whose density is a triangle with its top at `mode`; the mean is the mean
  /// of the three. Inversion, 1 draw. Throws unless low <= mode <= high and high - low is finite.
  double triangular(double low, double mode, double high);

  /// A beta-distributed real in [0, 1] with the mean a / (a + b). The share x / (x + y) of gamma
  /// variates x and y of these shapes (Devroye, "Non-Uniform Random Variate Generation", 1986,
  /// IX.4), by their logarithms where a shape is below 1. 4.0 to 4.2 draws, one more for each such
  /// shape.
  /// A value nearer to 1 than 2^-54 becomes 1.
  double beta(double a, double b);

  /// Failures before the first success of trials that succeed with probability p: k with
  /// probability p (1 - p)^k, so its mean is (1 - p) / p. The whole part of an exponential variate
  /// (Devroye, X.2). 1 draw. Throws unless kGeometricProbabilityMin <= p <= 1.
  std::uint64_t geometric(double p);

  /// Successes of `trials` independent trials that succeed with probability p. Throws unless there
  /// are at most kTrialsMax trials and 0 <= p <= 1. Where fewer than 10 successes (or failures) are
  /// expected: inversion of one draw. Else the transformed rejection BTRS of Hörmann, "The
  /// generation of binomial random variates", J. Statistical Computation and Simulation 46, 1993;
  /// 2.3 to 2.8 draws, whatever the number of trials.
  std::uint64_t binomial(std::uint64_t trials, double p);

  /// Failures before the success number `successes` of such trials; `successes` need not be whole.
  /// The count has mean m = successes (1 - p) / p and variance m / p. A Poisson count whose mean is
  /// a gamma variate (Greenwood and Yule, J. Royal Statistical Society 83, 1920; Devroye, X.4). 3
  /// to 5 draws. Throws unless `successes` is a shape (see above), 0 < p <= 1, and both m and (1 -
  /// p) / p are at most kNegativeBinomialMeanMax.
  std::uint64_t negative_binomial(double successes, double p);

  /// An index in [0, weights.size()), with probability weights[index] / sum. One draw and a pass
  /// over the weights: for repeated use make a `Discrete`. Throws unless there is a weight, all are
  /// finite and at least 0, and their sum is finite and positive.
  std::size_t discrete(std::span<const double> weights);

  /// The same from a prepared table. One draw, and a time that does not depend on the table's size.
  std::size_t discrete(const Discrete& table);

  /// Puts the elements in a random order, each of the n! equally likely (Fisher and Yates, as in
  /// Knuth, TAOCP 2, 3.4.2, algorithm P). n - 1 draws. `range`: an array, vector or span.
  template <class Range>
  void shuffle(Range&& range) {
    const std::span elements(range);
    using std::swap;
    for (std::size_t count = elements.size(); count > 1; --count) {
      swap(elements[count - 1], elements[below(count)]);
    }
  }

 private:
  std::uint64_t next_of_new_block();

  std::uint64_t next_for(std::uint64_t n) {
    if (n == 0) [[unlikely]] {
      detail::refuse("below: n must be at least 1, since no integer is in [0, 0)", std::int64_t{0});
    }
    return next();
  }
  std::uint64_t below_edge(detail::Wide scaled, std::uint64_t n);

  double unit_exponential() {
    const std::uint64_t bits = next();
    const detail::ZigguratLayer& layer = detail::exponential_layers[bits & 0xFF];
    const std::uint64_t abscissa = bits >> 11;
    if (abscissa >= layer.accept_below) [[unlikely]]
      return exponential_edge(bits);
    return math::product(static_cast<double>(static_cast<std::int64_t>(abscissa)), layer.width);
  }
  double exponential_edge(std::uint64_t bits);

  double unit_normal() {
    const std::uint64_t bits = next();
    const detail::ZigguratLayer& layer = detail::normal_layers[bits & 0xFF];
    const std::uint64_t abscissa = bits >> 11;
    if (abscissa >= layer.accept_below) [[unlikely]]
      return normal_edge(bits);
    const double size = static_cast<double>(static_cast<std::int64_t>(abscissa)) * layer.width;
    return with_sign(size, bits);
  }
  double normal_edge(std::uint64_t bits);

  /// `size` with bit 8 of a draw as its sign.
  static double with_sign(double size, std::uint64_t bits) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) | (bits & 0x100) << 55);
  }

  static double largest_below(double a, double b);
  [[noreturn]] static void refuse_interval(double a, double b);
  [[noreturn]] static void refuse_integers(std::int64_t lo, std::int64_t hi);
  [[noreturn]] static void refuse_triangle(double low, double mode, double high);
  std::uint64_t poisson_by_inversion(double mean);
  std::uint64_t poisson_by_rejection(double mean);
  double unit_gamma(double shape);
  double log_unit_gamma(double shape);
  std::uint64_t rare_successes(double trials, double p);
  std::uint64_t frequent_successes(double trials, double p);

  friend class RandomStream;

  std::uint64_t key_ = 0;
  std::uint64_t block_ = 0;  // the next block to compute
  std::uint64_t spare_ = 0;  // the second draw of the previous block
  std::uint32_t lp_ = 0;
  std::uint32_t domain_ = 0;
  bool has_spare_ = false;
};

/// A discrete distribution prepared for many draws: the alias table of Walker, "An efficient method
/// for generating discrete random variables with general distributions", ACM TOMS 3(3), 1977, built
/// in linear time as in Vose, IEEE Trans. Software Eng. 17(9), 1991. Immutable; 16 bytes an index.
/// Probabilities are kept to about 2^-53 relative to 1 / size.
class Discrete {
 public:
  /// Throws std::invalid_argument as Random::discrete does, and for 2^32 weights or more.
  explicit Discrete(std::span<const double> weights);

  std::size_t size() const { return columns_.size(); }

  /// An index in [0, size()). One draw: the upper half of its product with the size chooses the
  /// column, the lower half, evenly spread within it, between the column's index and its alias.
  std::size_t operator()(Random& random) const {
    const detail::Wide scaled = static_cast<detail::Wide>(random.next()) * columns_.size();
    const auto index = static_cast<std::size_t>(scaled >> 64);
    const Column& column = columns_[index];
    return static_cast<std::uint64_t>(scaled) < column.keep_below ? index : column.alias;
  }

 private:
  struct Column {
    std::uint64_t keep_below;
    std::uint32_t alias;
  };
  std::vector<Column> columns_;
};

inline std::size_t Random::discrete(const Discrete& table) {
  return table(*this);
}

}  // namespace orrery
