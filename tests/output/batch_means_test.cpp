// SPDX-License-Identifier: Apache-2.0
//
// Batch means of series whose intervals are known.
#include "output/batch_means.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "output/student.h"

namespace orrery {
namespace {

constexpr Duration kSecond = Duration::seconds(1);

/// A value in each second: what it is, and how often.
Series series_of(const std::vector<double>& values, int each = 1) {
  Series series(kSecond, false);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (int k = 0; k < each; ++k)
      series.add(Time::zero() + static_cast<std::int64_t>(i) * kSecond, values[i]);
  return series;
}

std::optional<BatchMeans> means_of(const Series& series, std::size_t seconds) {
  const Time end = Time::zero() + static_cast<std::int64_t>(seconds) * kSecond;
  return batch_means(series.intervals(Time::zero(), end), series.of_level());
}

TEST(BatchMeans, AreStudentsIntervalOfTheBatches) {
  std::vector<double> values;
  for (unsigned i = 0; i < kBatches; ++i) values.push_back(i % 3);
  const auto means = means_of(series_of(values, 5), kBatches);
  ASSERT_TRUE(means);
  EXPECT_EQ(means->batches, kBatches);
  EXPECT_DOUBLE_EQ(means->mean, 1);
  const double deviation = std::sqrt(20 / 29.0);  // ten times -1, 0 and 1
  EXPECT_NEAR(means->half_width, student_quantile(0.95, kBatches - 1) * deviation / std::sqrt(30.0),
              1e-12);
  EXPECT_NEAR(means->precision(), means->half_width, 1e-15);
  EXPECT_EQ(means->batch, kSecond);
}

TEST(BatchMeans, LeaveOverWhatIsAtTheBeginning) {
  std::vector<double> values(3, 1000.0);
  for (unsigned i = 0; i < 4 * kBatches; ++i) values.push_back(i % 2);
  const auto means = means_of(series_of(values), values.size());
  ASSERT_TRUE(means);
  EXPECT_DOUBLE_EQ(means->mean, 0.5);
  EXPECT_EQ(means->half_width, 0);
  EXPECT_TRUE(std::isinf(means->precision()));  // batches that do not differ say nothing of it
  EXPECT_EQ(means->begin, Time::zero() + 3 * kSecond);
  EXPECT_EQ(means->batch, 4 * kSecond);
}

TEST(BatchMeans, OfFewValuesWeighBatchesByTheirCounts) {
  Series series(kSecond, false);
  for (unsigned i = 0; i < kBatches; ++i)
    for (int k = 0; k < (i < 10 ? 1 : 9); ++k)
      series.add(Time::zero() + static_cast<std::int64_t>(i) * kSecond, i < 10 ? 19 : 0);
  const auto means = means_of(series, kBatches);
  ASSERT_TRUE(means);
  EXPECT_DOUBLE_EQ(means->mean, 1);  // of 190 values; and not a third of 19
}

/// A rare value's interval would be too narrow, and that of a single one nothing at all.
TEST(BatchMeans, NeedValuesInMostBatches) {
  const auto why_not = [](unsigned batches, int each) {
    Series series(kSecond, false);
    for (unsigned i = 0; i < batches; ++i)
      for (int k = 0; k < each; ++k)
        series.add(Time::zero() + static_cast<std::int64_t>(i) * kSecond, i % 3);
    std::string why;
    const Time end = Time::zero() + kBatches * kSecond;
    const auto means = batch_means(series.intervals(Time::zero(), end), false, 0.95, &why);
    EXPECT_EQ(means ? means->batches : batches, batches);
    return why;
  };
  EXPECT_EQ(why_not(20, 5), "");
  EXPECT_EQ(why_not(19, 50),
            "it has 950 values, in 19 of 30 batches; an interval needs 100 values or more, in 20 "
            "batches or more");
  EXPECT_NE(why_not(30, 3), "");
  EXPECT_NE(why_not(1, 1), "");
}

TEST(BatchMeans, TellWhetherBatchesDependOnEachOther) {
  std::vector<double> slow, quick;
  for (unsigned i = 0; i < kBatches; ++i) {
    slow.push_back(i < kBatches / 2 ? 1 : 2);
    quick.push_back(i % 2);
  }
  const auto dependent = means_of(series_of(slow, 5), kBatches);
  EXPECT_GT(dependent->correlation, 0.8);
  EXPECT_FALSE(dependent->are_independent());
  const auto alternating = means_of(series_of(quick, 5), kBatches);
  EXPECT_LT(alternating->correlation, -0.8);
  EXPECT_TRUE(alternating->are_independent());
}

TEST(BatchMeans, OfALevelAreMeansOverTime) {
  Series series(kSecond, true);
  series.change(Time::zero(), 4, 0);
  series.change(Time::zero() + 15 * kSecond, 2, 4);
  const auto means = means_of(series, kBatches);
  ASSERT_TRUE(means);
  EXPECT_DOUBLE_EQ(means->mean, 3);
}

TEST(BatchMeans, AreNotMadeOfTooLittle) {
  EXPECT_FALSE(means_of(series_of({1, 2, 3}), kBatches - 1));
  EXPECT_FALSE(means_of(Series(kSecond, false), kBatches));
}

TEST(BatchMeans, ThatAreZeroHaveNoPrecision) {
  std::vector<double> values;
  for (unsigned i = 0; i < kBatches; ++i) values.push_back(i % 2 == 0 ? 1 : -1);
  EXPECT_TRUE(std::isinf(means_of(series_of(values, 5), kBatches)->precision()));
}

}  // namespace
}  // namespace orrery
