// SPDX-License-Identifier: Apache-2.0
//
// The random streams and the stable elementary functions: known answers of the generator, replay as
// an engine does it, the shape of each distribution, refusals, and golden bit patterns.
//
// Statistical tests have fixed seeds and a significance of 1e-4 each: they were passed once and do
// so for ever. A golden value that changes means that every recorded fingerprint changes with it.
#include "orrery/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "core/random_statistics.h"
#include "orrery/math.h"

namespace orrery {
namespace {

using namespace testing;

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();

// ---- The generator -----------------------------------------------------------------------------

using Words4 = std::array<std::uint32_t, 4>;

// The published test vectors of Random123 for philox4x32, 10 rounds.
static_assert(detail::philox4x32_10({0, 0, 0, 0}, {0, 0}) ==
              Words4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(detail::philox4x32_10({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) ==
              Words4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(detail::philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                                    {0xa4093822, 0x299f31d0}) ==
              Words4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
static_assert(std::is_trivially_copyable_v<Random>);

TEST(Philox, KnownAnswersAtRunTime) {
  // Out of the optimiser's sight, so that the code under test is what a run executes.
  volatile std::uint32_t first = 0x243f6a88;
  const Words4 block =
      detail::philox4x32_10({first, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
  EXPECT_EQ(block, (Words4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, DrawsAreTheWordsOfTheBlockInOrder) {
  // Counter (block low, block high, LP, domain) and key (seed low, seed high) of the third vector.
  Random random(0x299f31d0'a4093822, 0x13198a2e, 0x85a308d3'243f6a88, 0x03707344);
  EXPECT_EQ(random.next(), 0x94fdcceb'd16cfe09u);
  EXPECT_EQ(random.next(), 0x24126ea1'5001e420u);
}

// ---- Position and replay -----------------------------------------------------------------------

TEST(RandomPosition, CountsTouchedBlocks) {
  Random random(kKey, 7, 100);
  EXPECT_EQ(random.position(), 100u);
  for (std::uint64_t draws = 1; draws <= 9; ++draws) {
    random.next();
    EXPECT_EQ(random.position(), 100 + (draws + 1) / 2);
  }
}

TEST(RandomPosition, BeginDropsTheUnusedHalfBlock) {
  Random random(kKey, 7);
  random.next();
  random.begin(kKey, 7, random.position());
  Random fresh(kKey, 7, 1);
  EXPECT_EQ(random.next(), fresh.next());
}

TEST(RandomPosition, BlockNumberWrapsAndCarriesIntoTheHighWord) {
  Random random(kKey, 7, 0xffffffff);
  random.next(), random.next();
  EXPECT_EQ(random.position(), 0x100000000u);
  EXPECT_EQ(random.next(), Random(kKey, 7, 0x100000000).next());
}

std::vector<std::uint64_t> draw_of_everything(Random& random) {
  const std::vector<double> weights{1, 2, 3};
  std::vector<std::uint64_t> bits{random.next(), random.below(1000), random.poisson(3),
                                  random.poisson(300), random.discrete(weights)};
  for (int i = 0; i < 200; ++i) {
    bits.push_back(std::bit_cast<std::uint64_t>(random.exponential(2.0)));
    bits.push_back(std::bit_cast<std::uint64_t>(random.normal(1, 3)));
  }
  return bits;
}

TEST(RandomPosition, ReplayFromAKeptPositionGivesTheSameDraws) {
  Random random(kKey, 3);
  draw_of_everything(random);
  const std::uint64_t kept = random.position();
  random.begin(kKey, 3, kept);
  const auto first = draw_of_everything(random);
  const std::uint64_t after = random.position();
  random.begin(kKey, 4, 17);  // another LP's event in between
  draw_of_everything(random);
  random.begin(kKey, 3, kept);
  EXPECT_EQ(draw_of_everything(random), first);
  EXPECT_EQ(random.position(), after);
}

TEST(RandomStreams, KeysLpsDomainsAndBlocksDiffer) {
  std::set<std::uint64_t> seen;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    seen.insert(Random(kKey + i, 0).next());
    seen.insert(Random(kKey, i + 1).next());
    seen.insert(Random(kKey, 0, i + 1).next());
    seen.insert(Random(kKey, 0, 0, i + 1).next());
  }
  EXPECT_EQ(seen.size(), 4000u);
}

// ---- Statistics --------------------------------------------------------------------------------

TEST(RandomDistribution, BitsOfNextAreFair) {
  Random random(kKey, 1);
  std::array<int, 64> ones{};
  constexpr int kDraws = 40000;
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t bits = random.next();
    for (std::size_t b = 0; b < 64; ++b) ones[b] += static_cast<int>(bits >> b & 1);
  }
  for (const int count : ones) EXPECT_NEAR(count, kDraws / 2, 4.9 * 100);  // sigma is 100
}

TEST(RandomDistribution, NeighbouringStreamsAreIndependent) {
  std::vector<double> counts(32 * 32), expected(32 * 32, 200000.0 / 1024);
  for (std::uint32_t lp = 0; lp < 200000; ++lp) {
    const std::uint64_t row = Random(kKey, lp).below(32), column = Random(kKey, lp + 1).below(32);
    counts[row * 32 + column] += 1;
  }
  expect_counts(counts, expected);
}

TEST(RandomDistribution, Uniform) {
  const auto unit = sample_of(2, 200000, [](Random& r) { return r.uniform(); });
  expect_distribution(unit, [](double x) { return x; });
  const auto shifted = sample_of(3, 200000, [](Random& r) { return r.uniform(-3, 5); });
  expect_distribution(shifted, [](double x) { return (x + 3) / 8; });
  EXPECT_GE(*std::min_element(shifted.begin(), shifted.end()), -3);
  EXPECT_LT(*std::max_element(shifted.begin(), shifted.end()), 5);
}

TEST(RandomDistribution, BelowAndInteger) {
  for (const std::size_t n : {2u, 3u, 10u, 1000u}) {
    const auto counts = counts_of(4, 200000, n, [n](Random& r) { return r.below(n); });
    expect_counts(counts, std::vector<double>(n, 200000.0 / static_cast<double>(n)));
  }
  const auto dice = counts_of(5, 200000, 6, [](Random& r) { return r.integer(-2, 3) + 2; });
  expect_counts(dice, std::vector<double>(6, 200000.0 / 6));
}

TEST(RandomDistribution, BelowRejectsWhatWouldFavourSomeIntegers) {
  // Of n = 3 * 2^62 integers, a method without rejection makes every third twice as likely.
  constexpr std::uint64_t n = std::uint64_t{3} << 62;
  const auto counts = counts_of(6, 90000, 3, [](Random& r) { return r.below(n) % 3; });
  expect_counts(counts, std::vector<double>(3, 30000));
}

TEST(RandomDistribution, Bernoulli) {
  const auto counts = counts_of(7, 200000, 2, [](Random& r) { return r.bernoulli(0.3); });
  expect_counts(counts, {140000, 60000});
}

TEST(RandomDistribution, Exponential) {
  const auto sample = sample_of(8, 500000, [](Random& r) { return r.exponential(4.0); });
  expect_distribution(sample, [](double x) { return -std::expm1(-x / 4); });
}

TEST(RandomDistribution, Normal) {
  const auto sample = sample_of(9, 500000, [](Random& r) { return r.normal(10, 3); });
  expect_distribution(sample, [](double x) { return normal_cdf((x - 10) / 3); });
}

TEST(RandomDistribution, ExponentialTailInCells) {  // the ziggurat's tail starts at 7.697
  constexpr std::size_t kDraws = 1000000, kCells = 48;
  const auto counts =
      counts_of(10, kDraws, kCells, [](Random& r) { return 4 * r.exponential(1.0); });
  std::vector<double> expected(kCells);
  for (std::size_t i = 0; i < kCells; ++i) {
    const double from = static_cast<double>(i) / 4;
    expected[i] = kDraws * (std::exp(-from) - (i + 1 < kCells ? std::exp(-from - 0.25) : 0));
  }
  expect_counts(counts, expected);
}

TEST(RandomDistribution, NormalTailsInCells) {  // the ziggurat's tails start at 3.654
  constexpr std::size_t kDraws = 1000000, kCells = 80;
  const auto counts = counts_of(11, kDraws, kCells, [](Random& r) {
    return std::clamp(8 * (r.normal(0, 1) + 5), 0.0, 79.5);
  });
  std::vector<double> expected(kCells);
  for (std::size_t i = 0; i < kCells; ++i) {
    const double from = static_cast<double>(i) / 8 - 5;
    expected[i] =
        kDraws * ((i + 1 < kCells ? normal_cdf(from + 0.125) : 1) - (i > 0 ? normal_cdf(from) : 0));
  }
  expect_counts(counts, expected);
}

TEST(RandomDistribution, Poisson) {
  constexpr std::size_t kDraws = 200000;
  for (const double mean : {0.1, 1.0, 5.5, 9.99, 10.0, 30.0, 250.5}) {
    const auto cells = static_cast<std::size_t>(mean + 10 * std::sqrt(mean) + 10);
    const auto counts = counts_of(12, kDraws, cells, [=](Random& r) { return r.poisson(mean); });
    std::vector<double> expected(cells);
    for (std::size_t k = 0; k < cells; ++k) {
      const double x = static_cast<double>(k);
      expected[k] = kDraws * std::exp(x * std::log(mean) - mean - std::lgamma(x + 1));
    }
    SCOPED_TRACE(mean);
    expect_counts(counts, expected);
  }
}

TEST(RandomDistribution, PoissonOfALargeMeanIsNearlyNormal) {
  for (const double mean : {1e8, 1e12, Random::kPoissonMeanMax}) {
    const auto sample = sample_of(13, 100000, [=](Random& r) {
      return (static_cast<double>(r.poisson(mean)) + 0.5 - mean) / std::sqrt(mean);
    });
    SCOPED_TRACE(mean);
    expect_distribution(sample, normal_cdf);
  }
}

TEST(RandomDistribution, DiscreteByPassAndByTable) {
  const std::vector<double> weights{0, 1, 0, 7, 2.5, 0.001, 9.499, 0};
  std::vector<double> expected;
  for (const double weight : weights) expected.push_back(200000 * weight / 20);
  const Discrete table(weights);
  EXPECT_EQ(table.size(), 8u);
  const auto passed = counts_of(14, 200000, 8, [&](Random& r) { return r.discrete(weights); });
  const auto looked = counts_of(15, 200000, 8, [&](Random& r) { return r.discrete(table); });
  expect_counts(passed, expected);
  expect_counts(looked, expected);
  for (const std::size_t never : {0u, 2u, 7u}) {
    EXPECT_EQ(passed[never], 0);
    EXPECT_EQ(looked[never], 0);
  }
}

TEST(RandomDistribution, ShuffleReachesEveryPermutationAlike) {
  const auto counts = counts_of(16, 120000, 24, [](Random& r) {
    std::array<int, 4> order{0, 1, 2, 3}, rank{0, 1, 2, 3};
    r.shuffle(order);
    std::size_t index = 0;
    while (rank != order && std::next_permutation(rank.begin(), rank.end())) ++index;
    return index;
  });
  expect_counts(counts, std::vector<double>(24, 5000));
}

// ---- Edges -------------------------------------------------------------------------------------

TEST(RandomEdge, IntegerRanges) {
  Random random(kKey, 20);
  bool high = false, negative = false;
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(random.below(1), 0u);
    EXPECT_LT(random.below(~std::uint64_t{0}), ~std::uint64_t{0});
    EXPECT_EQ(random.integer(-5, -5), -5);
    EXPECT_EQ(random.integer(kInt64Max, kInt64Max), kInt64Max);
    high |= random.below((std::uint64_t{1} << 63) + 1) >> 62 != 0;
    negative |= random.integer(kInt64Min, kInt64Max) < 0;
  }
  EXPECT_TRUE(high);
  EXPECT_TRUE(negative);
}

TEST(RandomEdge, UniformStaysBelowItsEnd) {
  Random random(kKey, 21);
  const double next_to_one = std::nextafter(1.0, 2.0);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(random.uniform(1, next_to_one), 1);  // half of the sums are rounded up to the end
    EXPECT_LT(random.uniform(-1e308, 0.5e308), 0.5e308);
  }
  EXPECT_EQ(random.uniform(3, 3), 3);
}

TEST(RandomEdge, CertainOutcomes) {
  Random random(kKey, 22);
  const std::vector<double> single{0.25};
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(random.bernoulli(1));
    EXPECT_FALSE(random.bernoulli(0));
    EXPECT_EQ(random.exponential(0.0), 0);
    EXPECT_EQ(random.exponential(Duration::zero()), Duration::zero());
    EXPECT_EQ(random.normal(-3, 0), -3);
    EXPECT_EQ(random.poisson(0), 0u);
    EXPECT_EQ(random.discrete(single), 0u);
    EXPECT_EQ(Discrete(single)(random), 0u);
  }
}

TEST(RandomEdge, EveryKindOfDrawMovesTheStreamWhateverItsParameters) {
  Random random(kKey, 23);
  random.bernoulli(1), random.next();
  EXPECT_EQ(random.position(), 1u);
  random.below(1), random.next();
  EXPECT_EQ(random.position(), 2u);
}

TEST(RandomEdge, DurationsAreRoundedAndClamped) {
  Random random(kKey, 24);
  double sum = 0;
  std::int64_t clamped = 0;
  for (int i = 0; i < 100000; ++i) {
    sum += static_cast<double>(random.exponential(Duration::from_ticks(1000)).ticks());
    const Duration huge = random.exponential(Duration::max());
    EXPECT_GE(huge, Duration::zero());
    clamped += huge == Duration::max();
  }
  EXPECT_NEAR(sum / 100000, 1000, 4 * 1000 / std::sqrt(100000.0));
  EXPECT_NEAR(static_cast<double>(clamped) / 100000, std::exp(-1.0), 0.007);
  Random real(kKey, 25), ticks(kKey, 25);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(ticks.exponential(Duration::from_ticks(50)).ticks(),
              std::llround(real.exponential(50.0)));
  }
}

TEST(RandomEdge, ShuffleOfNothingAndOfOne) {
  Random random(kKey, 26);
  std::vector<std::string> none, one{"a"};
  random.shuffle(none);
  random.shuffle(std::span(one));
  EXPECT_EQ(random.position(), 0u);
}

// ---- Refusals ----------------------------------------------------------------------------------

TEST(RandomRefusal, SentencesNameMethodRangeAndValue) {
  EXPECT_EQ(refusal_of([](Random& r) { r.exponential(-1.5); }),
            "Random::exponential: the mean must be finite and at least 0, but it is -1.5.");
  EXPECT_EQ(refusal_of([](Random& r) { r.exponential(Duration::from_ticks(-2)); }),
            "Random::exponential: the mean must be at least 0 ticks, but it is -2.");
  EXPECT_EQ(refusal_of([](Random& r) { r.below(0); }),
            "Random::below: n must be at least 1, since no integer is in [0, 0), but it is 0.");
  EXPECT_EQ(refusal_of([](Random& r) { r.integer(2, 1); }),
            "Random::integer: lo must not exceed hi, but lo is 2 and hi is 1.");
  EXPECT_EQ(refusal_of([](Random& r) { r.uniform(2, 1); }),
            "Random::uniform: the interval [a, b) must have a <= b and a finite width, but a is 2 "
            "and b is 1.");
}

TEST(RandomRefusal, EveryParameterOutOfRange) {
  for (const double bad : {-1.0, -1e-300, kInfinity, -kInfinity, kNaN}) {
    SCOPED_TRACE(bad);
    EXPECT_NE(refusal_of([=](Random& r) { r.exponential(bad); }), "accepted");
    EXPECT_NE(refusal_of([=](Random& r) { r.poisson(bad); }), "accepted");
    EXPECT_NE(refusal_of([=](Random& r) { r.normal(0, bad); }), "accepted");
    EXPECT_NE(refusal_of([=](Random& r) { r.bernoulli(bad); }), "accepted");
    const std::vector<double> weights{1, bad};
    EXPECT_NE(refusal_of([&](Random& r) { r.discrete(weights); }), "accepted");
    EXPECT_THROW(Discrete{weights}, std::invalid_argument);
  }
  for (const double bad : {kInfinity, -kInfinity, kNaN}) {
    EXPECT_NE(refusal_of([=](Random& r) { r.normal(bad, 1); }), "accepted");
    EXPECT_NE(refusal_of([=](Random& r) { r.uniform(0, bad); }), "accepted");
    EXPECT_NE(refusal_of([=](Random& r) { r.uniform(bad, 0); }), "accepted");
  }
  EXPECT_NE(refusal_of([](Random& r) { r.uniform(-1e308, 1e308); }), "accepted");
  EXPECT_NE(refusal_of([](Random& r) { r.bernoulli(1.0000001); }), "accepted");
  EXPECT_NE(refusal_of([](Random& r) { r.poisson(1.2e15); }), "accepted");
  for (const std::vector<double>& bad :
       {std::vector<double>{}, std::vector<double>{0, 0}, std::vector<double>{1e308, 1e308}}) {
    EXPECT_NE(refusal_of([&](Random& r) { r.discrete(bad); }), "accepted");
    EXPECT_THROW(Discrete{bad}, std::invalid_argument);
  }
}

// ---- Golden values -----------------------------------------------------------------------------

TEST(RandomGolden, Next) {
  EXPECT_EQ(
      golden_of(50, [](Random& r) { return r.next(); }),
      (Golden{{0xc2c9e47f124703cc, 0x1ffa6de3874ed161, 0xad59e7dee357d1ca}, 0x5e34de51ed4444d}));
}
TEST(RandomGolden, Uniform) {
  EXPECT_EQ(
      golden_of(51, [](Random& r) { return r.uniform(); }),
      (Golden{{0x3fcd4d88085c9cac, 0x3fe99de39e69fcd5, 0x3fa1d78579dff3f0}, 0xf5601e59fdf01ed7}));
}
TEST(RandomGolden, UniformInterval) {
  EXPECT_EQ(
      golden_of(52, [](Random& r) { return r.uniform(-1.7, 12.3); }),
      (Golden{{0x4008c8554b779750, 0x3fea2fabd1576d32, 0x40137bd246137d13}, 0xbad196180b0bf919}));
}
TEST(RandomGolden, Below) {
  EXPECT_EQ(golden_of(53, [](Random& r) { return r.below(1000003); }),
            (Golden{{0xadf49, 0xe5ddb, 0x69c1f}, 0x83fdbc95f1fdff1d}));
}
TEST(RandomGolden, BelowWithRejection) {
  EXPECT_EQ(
      golden_of(54, [](Random& r) { return r.below(std::uint64_t{3} << 62); }),
      (Golden{{0x2c4785861757a572, 0x84f5a5997dd4dfbe, 0x4603d19248898d30}, 0x6d5094d0c0494be3}));
}
TEST(RandomGolden, Integer) {
  EXPECT_EQ(golden_of(55, [](Random& r) { return r.integer(-1000, 1000000); }),
            (Golden{{0xebc30, 0x3b09b, 0xaa68d}, 0x227752d103ac30df}));
}
TEST(RandomGolden, Bernoulli) {
  EXPECT_EQ(golden_of(56, [](Random& r) { return std::uint64_t{r.bernoulli(0.3)}; }),
            (Golden{{0x0, 0x0, 0x1}, 0x962cd103100a595f}));
}
TEST(RandomGolden, ExponentialReal) {
  EXPECT_EQ(
      golden_of(57, [](Random& r) { return r.exponential(1.7); }),
      (Golden{{0x3f935446f0b97c25, 0x3fd09667bfef710a, 0x3fe02c779ed71d50}, 0x469bebd13d5e0a02}));
}
TEST(RandomGolden, ExponentialDuration) {
  EXPECT_EQ(golden_of(58, [](Random& r) { return r.exponential(Duration::from_ticks(1234567)); }),
            (Golden{{0x1489e8, 0xc12dd, 0xf46f7}, 0x8b0bb841b271b3f9}));
}
TEST(RandomGolden, Normal) {
  EXPECT_EQ(
      golden_of(59, [](Random& r) { return r.normal(5.3, 1.7); }),
      (Golden{{0x401021390f2ac6a2, 0x401604d794a08b13, 0x400a4934fe7183f1}, 0x496a3d47376c3581}));
}
TEST(RandomGolden, PoissonSmallMean) {
  EXPECT_EQ(golden_of(60, [](Random& r) { return r.poisson(4.2); }),
            (Golden{{0x3, 0x6, 0x1}, 0xb3d8f90047efe91a}));
}
TEST(RandomGolden, PoissonLargeMean) {
  EXPECT_EQ(golden_of(61, [](Random& r) { return r.poisson(1234.5); }),
            (Golden{{0x4cc, 0x4b1, 0x4e1}, 0x20dfeb5ff2a05228}));
}
TEST(RandomGolden, Discrete) {
  EXPECT_EQ(golden_of(62,
                      [](Random& r) {
                        return std::uint64_t{r.discrete(std::array{1.5, 0.2, 7.3, 4.4})};
                      }),
            (Golden{{0x2, 0x2, 0x2}, 0x5fc24ce1f45ea4ed}));
}
TEST(RandomGolden, MathExp) {
  EXPECT_EQ(
      golden_of(63, [](Random& r) { return math::exp(r.uniform(-745, 709)); }),
      (Golden{{0x13f370d033c6ef6b, 0x5efc44b673622cbf, 0x69e79faa98aaf5e8}, 0xd7a9fcfcbcc65768}));
}
TEST(RandomGolden, MathLog) {
  EXPECT_EQ(
      golden_of(64, [](Random& r) { return math::log(r.exponential(1.0) + 1e-9); }),
      (Golden{{0x3fe42312e59b8145, 0xbfdc4b4cfddffeec, 0xbfb4db9c83b47f10}, 0xf42455afba3cf9a6}));
}
TEST(RandomGolden, MathPow) {
  EXPECT_EQ(
      golden_of(65,
                [](Random& r) {
                  return math::pow(1.5 + r.uniform(), static_cast<double>(r.integer(-99, 99)) / 7);
                }),
      (Golden{{0x3efe56b624ce9133, 0x4065df8bffeccdff, 0x405192870dfa341e}, 0x79aeaea2695243e7}));
}
TEST(RandomGolden, MathLog10) {
  EXPECT_EQ(
      golden_of(66, [](Random& r) { return math::log10(r.uniform(1e-9, 30)); }),
      (Golden{{0x3ff5bcc3294e2231, 0x3ff6f8be45ebeb82, 0x3fde7eaac0e39e4e}, 0xa2ec5ae3f10b5ee0}));
}

// ---- orrery/math.h -----------------------------------------------------------------------------

/// |result - truth| in units of the last place of a double of the truth's size.
double error_ulp(double result, long double truth) {
  const auto nearest = static_cast<double>(truth);
  if (!std::isfinite(nearest) || nearest == 0) return result == nearest ? 0 : kInfinity;
  int exponent = 0;
  std::frexp(nearest, &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent - 53, -1074));
  return static_cast<double>(std::abs((static_cast<long double>(result) - truth) / ulp));
}

class StableMath : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::numeric_limits<long double>::digits < 64) GTEST_SKIP() << "no wider reference type";
  }
  Random random{kKey, 40};
};

TEST_F(StableMath, LogarithmsOverAllMagnitudes) {
  double worst = 0, worst_other_base = 0;
  for (int i = 0; i < 200000; ++i) {
    const double any = std::bit_cast<double>(random.below(0x7ff0000000000000));
    const double near_one = 1 + std::ldexp(random.uniform(-0.5, 0.5), -static_cast<int>(i % 50));
    for (const double x : {any, random.uniform(0.1, 8), near_one}) {
      if (x == 0) continue;
      const long double wide = x;
      worst = std::max(worst, error_ulp(math::log(x), std::log(wide)));
      worst_other_base = std::max({worst_other_base, error_ulp(math::log2(x), std::log2(wide)),
                                   error_ulp(math::log10(x), std::log10(wide))});
    }
  }
  EXPECT_LT(worst, 1.0);
  EXPECT_LT(worst_other_base, 0.6);
}

TEST_F(StableMath, ExponentialIncludingSubnormalResults) {
  double worst = 0;
  for (int i = 0; i < 300000; ++i) {
    for (const double x : {random.uniform(-750, 715), random.uniform(-1, 1)}) {
      worst = std::max(worst, error_ulp(math::exp(x), std::exp(static_cast<long double>(x))));
    }
  }
  EXPECT_LT(worst, 1.0);
}

TEST_F(StableMath, Power) {
  double worst = 0;
  const auto check = [&](double x, double y) {
    worst = std::max(worst, error_ulp(math::pow(x, y), std::pow(static_cast<long double>(x),
                                                                static_cast<long double>(y))));
  };
  for (int i = 0; i < 100000; ++i) {
    check(math::exp(random.uniform(-10, 10)), random.uniform(-70, 70));
    check(math::exp(random.uniform(-700, 700)), random.uniform(-1, 1));
    check(1 + random.uniform(-5e-7, 5e-7), random.uniform(-1e9, 1e9));
  }
  EXPECT_LT(worst, 1.0);
}

TEST(StableMathSpecial, ExactPowersHaveExactLogarithms) {
  for (int k = -1074; k < 1024; ++k) EXPECT_EQ(math::log2(std::ldexp(1.0, k)), k);
  double power = 1;
  for (int k = 0; k <= 22; ++k, power *= 10) {
    EXPECT_EQ(math::log10(power), k);
    EXPECT_EQ(math::pow(10, k), power);
  }
  EXPECT_EQ(math::exp(0), 1);
  EXPECT_EQ(math::log(1), 0);
}

bool same_value(double a, double b) {
  if (a != a || b != b) return a != a && b != b;
  return a == b && std::signbit(a) == std::signbit(b);
}

TEST(StableMathSpecial, OutsideTheDomainAsInAnnexF) {
  const std::vector<double> special{0.0,         -0.0,      1,          -1,    0.5,    -0.5,
                                    3,           kInfinity, -kInfinity, kNaN,  0x1p53, 0x1p52 + 1,
                                    -0x1p52 - 1, 4,         -2,         5e300, -5e300};
  for (const double x : special) {
    SCOPED_TRACE(x);
    if (!(x > 0 && x < kInfinity)) {
      EXPECT_TRUE(same_value(math::log(x), std::log(x)));
      EXPECT_TRUE(same_value(math::log2(x), std::log2(x)));
      EXPECT_TRUE(same_value(math::log10(x), std::log10(x)));
    }
    if (!(std::abs(x) < 700)) {
      EXPECT_TRUE(same_value(math::exp(x), std::exp(x)));
    }
    for (const double y : special) {
      SCOPED_TRACE(y);
      const double stable = math::pow(x, y), library = std::pow(x, y);
      EXPECT_TRUE(same_value(stable, library) || error_ulp(stable, library) <= 1.5) << stable;
    }
  }
}

TEST(StableMathSpecial, ProductIsRoundedBeforeTheSum) {
  // (1 + 2^-52)^2 = 1 + 2^-51 + 2^-104: a fused sum would keep the last term.
  volatile double a = 1 + 0x1p-52;
  EXPECT_EQ(math::product(a, a) - (1 + 0x1p-51), 0);
}

}  // namespace
}  // namespace orrery
