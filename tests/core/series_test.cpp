// SPDX-License-Identifier: Apache-2.0
//
// Sums against integers of any length, which are exact, in every order; and series against sums by
// hand.
#include "core/series.h"

#include <gtest/gtest.h>

#include <cfenv>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "instant.h"
#include "orrery/error.h"
#include "orrery/model.h"

namespace orrery {
namespace {

double sum_of(const std::vector<double>& values) {
  ExactSums sums;
  for (const double value : values) sums.add(0, value);
  return sums.value(0);
}

TEST(ExactSums, AreExact) {
  EXPECT_EQ(sum_of({}), 0);
  EXPECT_EQ(sum_of({1e300, 1, -1e300}), 1);
  EXPECT_EQ(sum_of({1e16, 1, 1, -1e16}), 2);
  EXPECT_EQ(sum_of({0.1, 0.2, 0.3, -0.6}), 0x1p-55) << "of the doubles, not decimals";
  EXPECT_EQ(sum_of({-3.5, 1.25}), -2.25);
  EXPECT_EQ(sum_of({5e-324, 5e-324, -1.5e-323}), -5e-324);
  constexpr double kMost = std::numeric_limits<double>::max();
  EXPECT_EQ(sum_of({kMost, kMost, -kMost}), kMost);
  EXPECT_EQ(sum_of({kMost, kMost}), std::numeric_limits<double>::infinity());
}

/// Ties go to the even neighbour, as everywhere; less or more than half does not.
TEST(ExactSums, AreRoundedOnce) {
  EXPECT_EQ(sum_of({1, 0x1p-53}), 1);
  EXPECT_EQ(sum_of({1, 0x1p-53, 0x1p-300}), 1 + 0x1p-52);
  EXPECT_EQ(sum_of({1, 0x1p-53, -0x1p-300}), 1);
  EXPECT_EQ(sum_of({1 + 0x1p-52, 0x1p-53}), 1 + 0x1p-51);
  EXPECT_EQ(sum_of({-1, -0x1p-53, -0x1p-300}), -1 - 0x1p-52);
}

TEST(ExactSums, KnowWhatIsNoNumber) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(sum_of({kInfinite, 1}), kInfinite);
  EXPECT_EQ(sum_of({1, -kInfinite}), -kInfinite);
  EXPECT_TRUE(std::isnan(sum_of({kInfinite, -kInfinite})));
  EXPECT_TRUE(std::isnan(sum_of({std::nan(""), 1})));
}

double random_value(std::mt19937_64& random, int spread) {
  const double fraction = static_cast<double>(random() >> 11) * 0x1p-53 - 0.5;
  return std::ldexp(fraction,
                    static_cast<int>(random() % static_cast<unsigned>(spread)) - spread / 2);
}

/// With values of a range of 120 bits 128-bit integers are exact, too.
TEST(ExactSums, AgreeWithWideIntegers) {
  __extension__ using Integer = __int128;
  std::mt19937_64 random(11);
  for (int turn = 0; turn < 300; ++turn) {
    ExactSums sums;
    Integer exact = 0;
    for (int i = 0; i < 40; ++i) {
      const auto whole = static_cast<std::int64_t>(random() >> 12) - (std::int64_t{1} << 51);
      const int shift = static_cast<int>(random() % 60);
      exact += static_cast<Integer>(whole) << shift;
      sums.add(0, std::ldexp(static_cast<double>(whole), shift - 30));
    }
    EXPECT_EQ(sums.value(0), std::ldexp(static_cast<double>(exact), -30));
  }
}

TEST(ExactSums, DoNotDependOnOrderOrPartition) {
  std::mt19937_64 random(2);
  for (const int spread : {4, 100, 2000}) {
    std::vector<std::pair<std::size_t, double>> terms(3000);
    for (auto& [place, value] : terms) {
      place = random() % 7;
      value = random_value(random, spread);
    }
    const auto values_of = [](const ExactSums& sums) {
      std::vector<std::uint64_t> bits;
      for (std::size_t i = 0; i < 7; ++i)
        bits.push_back(std::bit_cast<std::uint64_t>(sums.value(i)));
      return bits;
    };
    ExactSums whole;
    for (const auto& [place, value] : terms) whole.add(place, value);
    for (int turn = 0; turn < 5; ++turn) {
      std::shuffle(terms.begin(), terms.end(), random);
      std::vector<ExactSums> parts(3);
      for (const auto& [place, value] : terms) parts[random() % 3].add(place, value);
      ExactSums merged;
      for (const ExactSums& part : parts) {
        std::vector<std::uint64_t> words;
        part.write(words);
        turn % 2 == 0 ? merged.merge(part) : void(merged.merge_words(words));
      }
      EXPECT_EQ(values_of(merged), values_of(whole)) << spread;
    }
  }
}

// ---- Series ------------------------------------------------------------------------------------

using testing::at;

TEST(Series, OfValues) {
  Series series(Duration::from_ticks(10), false);
  series.add(at(0), 4);
  series.add(at(9), -2);
  series.add(at(30), 7);
  const auto all = series.intervals(at(0), at(35));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].count, 2u);
  EXPECT_EQ(all[0].mean, 1);
  EXPECT_EQ(all[0].minimum, -2);
  EXPECT_EQ(all[0].maximum, 4);
  EXPECT_EQ(all[1].count, 0u);
  EXPECT_EQ(all[1].maximum, 0);
  EXPECT_EQ(all[3].begin, at(30));
  EXPECT_EQ(all[3].end, at(35));
  EXPECT_EQ(all[3].sum, 7);
  EXPECT_EQ(series.intervals(at(12), at(35)).front().begin, at(10));
}

TEST(Series, OfALevel) {
  Series series(Duration::from_ticks(10), true);
  series.change(at(4), 3, 0);    // one LP
  series.change(at(15), 2, 0);   // another
  series.change(at(15), 0, 3);   // the first
  series.change(at(42), 12, 2);  // the other
  const auto all = series.intervals(at(0), at(44));
  ASSERT_EQ(all.size(), 5u);
  EXPECT_DOUBLE_EQ(all[0].mean, 1.8);
  EXPECT_DOUBLE_EQ(all[1].mean, 2.5);
  EXPECT_DOUBLE_EQ(all[2].mean, 2);
  EXPECT_DOUBLE_EQ(all[3].mean, 2);
  EXPECT_DOUBLE_EQ(all[4].mean, 7) << "of four ticks";
  EXPECT_EQ(all[1].count, 2u);
}

/// Whether a handler's rounding mode still holds when its observations are added depends on the
/// engine.
TEST(Series, OfALevelDoesNotDependOnTheRoundingMode) {
  const auto moments = [](int mode) {
    Series series(Duration::from_ticks(11), true);
    std::vector<double> levels;
    for (int i = 0; i <= 10; ++i) levels.push_back(i / 3.0);
    std::fesetround(mode);
    for (std::size_t i = 1; i < levels.size(); ++i)
      series.change(at(static_cast<std::int64_t>(i)), levels[i], levels[i - 1]);
    EXPECT_EQ(std::fegetround(), mode);
    std::fesetround(FE_TONEAREST);
    return series.intervals(at(0), at(11))[0].mean;
  };
  EXPECT_EQ(moments(FE_UPWARD), moments(FE_TONEAREST));
  EXPECT_EQ(moments(FE_TOWARDZERO), moments(FE_TONEAREST));
}

TEST(Series, RefusesIntervalsOfNoLength) {
  class Plain final : public Model {
   public:
    std::uint64_t lp_count() const override { return 1; }
    std::unique_ptr<LogicalProcessBase> create(LpId) const override { return nullptr; }
    Metric metric{*this, "metric", "", ""};
  } model;
  EXPECT_THROW(model.metric.series(Duration::zero()), UsageError);
  model.metric.series(Duration::from_ticks(3));
  EXPECT_EQ(model.metric.series_end(), at(3 << 20));
  model.metric.series(Duration::hours(24 * 365));
  EXPECT_EQ(model.metric.series_end(), Time::max());
}

}  // namespace
}  // namespace orrery
