// SPDX-License-Identifier: Apache-2.0
#include "advise/cost_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace orrery::advise {
namespace {

TEST(CostFit, FindsWhatIsFixedAndWhatAnEventCosts) {
  const std::vector<Sample> samples = {{1e6, 0.5 + 0.2}, {2e6, 0.5 + 0.4}, {4e6, 0.5 + 0.8}};
  const auto fit = fit_cost(samples);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->fixed, 0.5, 1e-9);
  EXPECT_NEAR(fit->per_event, 2e-7, 1e-15);
  EXPECT_NEAR(fit->seconds(1e8, 0.95).value, 20.5, 1e-6);
}

TEST(CostFit, HasNoIntervalFromOneRun) {
  const auto fit = fit_cost(std::vector<Sample>{{1e6, 0.5}});
  ASSERT_TRUE(fit);
  EXPECT_DOUBLE_EQ(fit->fixed, 0);
  EXPECT_DOUBLE_EQ(fit->per_event, 5e-7);
  EXPECT_FALSE(fit->seconds(1e8, 0.95).half_width);
  EXPECT_TRUE(std::isinf(fit->seconds(1e8, 0.95).share()));
}

TEST(CostFit, IsNothingWithoutRuns) {
  EXPECT_FALSE(fit_cost({}));
}

TEST(CostFit, TakesNothingAsFixedWhereRunsAreOfOneLength) {
  const std::vector<Sample> samples = {{1e6, 0.5}, {1e6, 0.6}, {1.01e6, 0.4}};
  const auto fit = fit_cost(samples);
  ASSERT_TRUE(fit);
  EXPECT_DOUBLE_EQ(fit->fixed, 0);
  EXPECT_EQ(fit->degrees, 2U);
}

TEST(CostFit, TakesNothingAsFixedWhereItWouldBeNegative) {
  const std::vector<Sample> samples = {{1e6, 0.1}, {2e6, 0.4}, {4e6, 1.2}};
  const auto fit = fit_cost(samples);
  ASSERT_TRUE(fit);
  EXPECT_DOUBLE_EQ(fit->fixed, 0);
  EXPECT_GT(fit->per_event, 0);
}

TEST(CostFit, KeepsThePriceOfAnEventAboveNothing) {
  // All of it is start-up: a line would make events cost less than nothing.
  const std::vector<Sample> samples = {{1e6, 3}, {2e6, 2.5}, {4e6, 2}};
  const auto fit = fit_cost(samples);
  ASSERT_TRUE(fit);
  EXPECT_GT(fit->per_event, 0);
  EXPECT_GE(fit->fixed, 0);
}

/// Of runs whose errors are by a factor, as those of a machine are, 95 % must lie within.
TEST(CostFit, CoversAsOftenAsItSays) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> error(1, 0.05);
  unsigned covered = 0;
  constexpr unsigned kStudies = 4000;
  for (unsigned i = 0; i < kStudies; ++i) {
    std::vector<Sample> samples;
    for (const double events : {1e6, 2e6, 4e6, 1e6, 2e6, 4e6})
      samples.push_back({events, (0.2 + 2e-7 * events) * error(random)});
    const double real = (0.2 + 2e-7 * 1e8) * error(random);
    const Likely told = fit_cost(samples)->seconds(1e8, 0.95);
    ASSERT_TRUE(told.half_width);
    covered += std::fabs(real - told.value) <= *told.half_width;
  }
  // A little too often, since nothing is taken as fixed where it cannot be told from nothing.
  EXPECT_GT(covered / double{kStudies}, 0.93);
  EXPECT_LT(covered / double{kStudies}, 0.99);
}

}  // namespace
}  // namespace orrery::advise
