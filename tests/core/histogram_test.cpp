// SPDX-License-Identifier: Apache-2.0
//
// Quantiles of histograms against exact ones, for values of every size and sign. Counts are the
// same in any order of additions and for any number of parts, and in another process.
#include "core/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/mergeable_statistics.h"
#include "core/model_access.h"
#include "orrery/model.h"

namespace orrery {
namespace {

/// The definition, on sorted values: the smallest that at least the share q does not exceed. `q` in
/// thousandths.
double exact_quantile(const std::vector<double>& sorted, std::size_t thousandths) {
  const std::size_t rank = (sorted.size() * thousandths + 999) / 1000;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

Histogram histogram_of(const std::vector<double>& values) {
  Histogram histogram;
  for (const double value : values) histogram.add(value);
  return histogram;
}

void expect_quantiles(std::vector<double> values, const std::string& what) {
  const Histogram histogram = histogram_of(values);
  std::sort(values.begin(), values.end());
  ASSERT_EQ(histogram.count(), values.size()) << what;
  for (std::size_t thousandths = 0; thousandths <= 1000; ++thousandths) {
    const double exact = exact_quantile(values, thousandths);
    const double told = histogram.quantile(static_cast<double>(thousandths) / 1000);
    ASSERT_LE(std::abs(told - exact), Histogram::kRelativeError * std::abs(exact))
        << what << ", quantile " << thousandths << "/1000 of " << values.size();
  }
}

TEST(Histogram, QuantilesAreWithinTheStatedError) {
  std::mt19937_64 random(7);
  const auto uniform = [&random] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  for (const std::size_t count : {1u, 2u, 3u, 10u, 99u, 100u, 1000u, 20011u}) {
    std::vector<double> spread(count), exponential(count), both(count), heavy(count);
    for (std::size_t i = 0; i < count; ++i) {
      spread[i] = uniform();
      exponential[i] = -3e-6 * std::log(uniform());
      both[i] = 2 * uniform() - 1;
      heavy[i] = std::pow(uniform(), -3);
    }
    expect_quantiles(spread, "uniform");
    expect_quantiles(exponential, "exponential");
    expect_quantiles(both, "of both signs");
    expect_quantiles(heavy, "heavy tail");
  }
}

/// The largest error there is: next to the middle between two buckets.
TEST(Histogram, TheErrorIsHalfABucket) {
  double worst = 0;
  for (double value = 1; value < 2; value += 0x1p-13) {
    const double told = histogram_of({value}).quantile(0.5);
    worst = std::max(worst, std::abs(told - value) / value);
  }
  EXPECT_LE(worst, Histogram::kRelativeError);
  EXPECT_GT(worst, 0.98 * Histogram::kRelativeError) << "the stated error could be smaller";
}

TEST(Histogram, WholeNumbersUpTo256AreExact) {
  for (int n = -256; n <= 256; ++n)
    EXPECT_EQ(histogram_of({static_cast<double>(n)}).quantile(0.5), n);
}

TEST(Histogram, TakesWhatDoublesCanBe) {
  constexpr double kMost = std::numeric_limits<double>::max();
  constexpr double kLeast = std::numeric_limits<double>::min();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
  const Histogram histogram =
      histogram_of({kInfinite, -kInfinite, kMost / 2, -kMost / 2, kLeast, 0.0, -0.0,
                    std::numeric_limits<double>::denorm_min(), kNoNumber, kNoNumber});
  EXPECT_EQ(histogram.count(), 8u);
  EXPECT_EQ(histogram.undefined(), 2u);
  std::vector<std::pair<double, std::uint64_t>> seen;
  histogram.for_each([&](double value, std::uint64_t n) { seen.emplace_back(value, n); });
  const std::vector<std::pair<double, std::uint64_t>> expected = {
      {-kInfinite, 1}, {-0x1p1023, 1}, {0.0, 3}, {kLeast, 1}, {0x1p1023, 1}, {kInfinite, 1}};
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(Histogram().quantile(0.5), 0);
}

/// 0.07 * 100 is more than 7 in doubles.
TEST(Histogram, RanksAreThoseOfTheShare) {
  std::vector<double> values;
  for (int n = 1; n <= 100; ++n) values.push_back(n);
  const Histogram histogram = histogram_of(values);
  for (int percent = 1; percent <= 100; ++percent)
    EXPECT_EQ(histogram.quantile(percent / 100.0), percent);
  EXPECT_EQ(histogram.quantile(0), 1);
}

class Counted final : public Model {
 public:
  std::uint64_t lp_count() const override { return 1; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override { return nullptr; }
  Metric plain{*this, "plain", "", ""};
  Metric kept{*this, "kept", "", "", Keep::histogram};
};

TEST(MergeableStatistics, IsTheSameInAnyOrderAndByAnyNumber) {
  std::mt19937_64 random(3);
  std::vector<double> values(5000);
  for (double& value : values)
    value = std::ldexp(1.0 + random() % 97, static_cast<int>(random() % 40) - 20);
  const Counted model;
  const auto statistics_of = [&model](const std::vector<double>& some) {
    MergeableStatistics mergeable_statistics(model);
    for (const double value : some)
      mergeable_statistics.add({model.kept.index(), 0, Time::zero(), value, 0});
    return mergeable_statistics;
  };
  const MergeableStatistics whole = statistics_of(values);
  std::shuffle(values.begin(), values.end(), random);
  MergeableStatistics first(model), second(model);
  for (std::size_t i = 0; i < values.size(); ++i)
    (random() % 3 == 0 ? first : second).add({model.kept.index(), 0, Time::zero(), values[i], 0});
  first.merge(second);
  EXPECT_EQ(first.words(), whole.words());
  EXPECT_EQ(statistics_of(values).words(), whole.words());
  MergeableStatistics travelled(model);
  travelled.merge_words(whole.words());
  EXPECT_EQ(travelled.words(), whole.words());
  std::vector<std::uint64_t> cut_off = whole.words();
  cut_off.pop_back();
  EXPECT_THROW(MergeableStatistics(model).merge_words(cut_off), std::logic_error);
}

/// By LP: count and sum of each interval.
using LpSums = std::map<LpId, std::vector<std::pair<std::uint64_t, double>>>;
LpSums lp_sums(const MergeableStatistics& statistics, const Metric& metric) {
  LpSums sums;
  for (const auto& [lp, series] : statistics.lp_series(metric))
    for (const auto& one : series->intervals(Time::zero(), Time::from_ticks(340)))
      sums[lp].emplace_back(one.count, one.sum);
  return sums;
}

TEST(MergeableStatistics, SeriesOfLpsTravelAndAddUp) {
  const Counted model;
  const LpRecording recording{{{2, 9}}, {{2, 4}, {7, 7}}, Duration::from_ticks(10)};
  ModelAccess::record_lps(model.kept, &recording);
  MergeableStatistics whole(model), first(model), second(model);
  for (int i = 0; i < 1000; ++i) {
    const Observation one{model.kept.index(), static_cast<LpId>(i % 11), Time::from_ticks(i / 3),
                          0.1 * i, 0};
    whole.add(one);
    (i % 3 == 0 ? first : second).add(one);
  }
  const LpSums expected = lp_sums(whole, model.kept);
  EXPECT_EQ(expected.size(), 4u) << "LPs 2, 3, 4 and 7";
  first.merge(second);
  EXPECT_EQ(lp_sums(first, model.kept), expected);
  MergeableStatistics travelled(model);
  travelled.merge_words(whole.words());
  EXPECT_EQ(lp_sums(travelled, model.kept), expected);
  const auto words = whole.words();
  EXPECT_THROW(MergeableStatistics(model).merge_words({words.data(), words.size() - 1}),
               std::logic_error);
  ModelAccess::record_lps(model.kept, nullptr);
  EXPECT_THROW(MergeableStatistics(model).merge_words(words), std::logic_error);
}

TEST(MergeableStatistics, ModelsWithoutHaveNone) {
  class Plain final : public Model {
   public:
    std::uint64_t lp_count() const override { return 1; }
    std::unique_ptr<LogicalProcessBase> create(LpId) const override { return nullptr; }
    Metric plain{*this, "plain", "", ""};
  } model;
  const MergeableStatistics mergeable_statistics(model);
  EXPECT_TRUE(mergeable_statistics.is_idle());
  EXPECT_EQ(mergeable_statistics.bytes(), 0u);
  EXPECT_TRUE(mergeable_statistics.words().empty());
}

}  // namespace
}  // namespace orrery
