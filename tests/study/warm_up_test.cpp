// SPDX-License-Identifier: Apache-2.0
//
// Where the beginning of a run ends.
#include "study/warm_up.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace orrery::study {
namespace {

/// So many values about 1, behind some that are larger.
std::vector<double> settling(std::size_t beginning, std::size_t count) {
  std::mt19937_64 generator(7);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double noise = static_cast<double>(generator() >> 11) * 0x1p-53 - 0.5;
    values.push_back(1 + noise + (i < beginning ? 5 : 0));
  }
  return values;
}

std::vector<PilotInterval> intervals(const std::vector<double>& values) {
  std::vector<PilotInterval> sums;
  for (const double value : values)
    sums.push_back({static_cast<std::int64_t>(sums.size() + 1) * 100, 3 * value, 3});
  return sums;
}

TEST(WarmUp, IsWhatMakesTheMeanWorse) {
  EXPECT_EQ(mser5(settling(0, 500)), 0u);
  EXPECT_EQ(mser5(settling(100, 500)), 100u);
  EXPECT_EQ(mser5(settling(102, 500)), 105u);  // whole batches of five
}

TEST(WarmUp, OfValuesThatAreAllTheSameIsNothing) {
  EXPECT_EQ(mser5(std::vector<double>(100, 3.0)), 0u);
}

TEST(WarmUp, IsNotTheSmallestErrorOfFewBatches) {
  std::vector<double> values = settling(0, 200);
  for (std::size_t i = 185; i < 200; ++i) values[i] = 1;  // three batches without any error
  EXPECT_EQ(mser5(values), 0u);
}

TEST(WarmUp, NeedsTenBatches) {
  EXPECT_FALSE(mser5(settling(0, 49)));
  EXPECT_TRUE(mser5(settling(0, 50)));
  EXPECT_TRUE(warm_up_of(intervals(settling(0, 49))).too_short);
}

TEST(WarmUp, EndsWithAnInterval) {
  const WarmUp found = warm_up_of(intervals(settling(100, 500)));
  EXPECT_EQ(found.ticks, 100 * 100);
  EXPECT_FALSE(found.too_short);
  EXPECT_EQ(warm_up_of(intervals(settling(0, 500))).ticks, 0);
}

TEST(WarmUp, LeavesOutIntervalsWithoutValues) {
  std::vector<PilotInterval> sums = intervals(settling(100, 500));
  for (std::size_t i = 0; i < 50; ++i) sums[i] = {sums[i].end_ticks, 0, 0};
  EXPECT_EQ(warm_up_of(sums).ticks, 100 * 100);
}

TEST(WarmUp, InTheSecondHalfSaysThatTheRunIsTooShort) {
  EXPECT_TRUE(warm_up_of(intervals(settling(300, 500))).too_short);
  EXPECT_FALSE(warm_up_of(intervals(settling(250, 500))).too_short);
}

TEST(WarmUp, OfValuesOfTheEndAloneCannotBeTold) {
  std::vector<PilotInterval> sums = intervals(settling(100, 500));
  for (PilotInterval& one : sums) one = {one.end_ticks, 0, 0};
  EXPECT_FALSE(warm_up_of(sums).at_end_only);
  EXPECT_TRUE(warm_up_of(sums).no_values);
  sums.back() = {sums.back().end_ticks, 7, 9};
  EXPECT_TRUE(warm_up_of(sums).at_end_only);
}

TEST(WarmUp, IsRoundedUpToTwoDigits) {
  constexpr double kNano = 1e-9;
  const auto rounded = [](double seconds) {
    return static_cast<double>(
               rounded_up(static_cast<std::int64_t>(std::llround(seconds / kNano)), kNano)) *
           kNano;
  };
  EXPECT_DOUBLE_EQ(rounded(341.2), 350);
  EXPECT_DOUBLE_EQ(rounded(350), 350);
  EXPECT_DOUBLE_EQ(rounded(99.5), 100);
  EXPECT_DOUBLE_EQ(rounded(0.00123), 0.0013);
  EXPECT_EQ(rounded_up(0, kNano), 0);
  EXPECT_EQ(rounded_up(1, 1), 1);
  EXPECT_EQ(rounded_up(123, 1), 130);
}

TEST(WarmUp, OfAFileWithoutSeriesIsRefused) {
  std::vector<PilotInterval> sums;
  EXPECT_ANY_THROW(add_pilot("/nowhere/results.sqlite", "wait", sums));
}

}  // namespace
}  // namespace orrery::study
