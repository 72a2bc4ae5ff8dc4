// SPDX-License-Identifier: Apache-2.0
//
// A level over time against sums by hand, and several LPs' against one that had all of it.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "core/level_state.h"
#include "instant.h"
#include "orrery/error.h"
#include "orrery/model.h"

namespace orrery {
namespace {

using testing::at;

TEST(Level, IsWeightedByTime) {
  LevelState level;
  level.set(2, at(10), at(0));
  level.set(5, at(14), at(0));  // 2 for 4 ticks
  level.set(9, at(14), at(0));  // 5 for none
  level.set(1, at(16), at(0));  // 9 for 2 ticks
  level.advance(at(26));        // 1 for 10 ticks
  const LevelSummary summary = level.summary();
  EXPECT_EQ(summary.lps, 1u);
  EXPECT_EQ(summary.changes, 4u);
  EXPECT_EQ(summary.ticks, 16);
  EXPECT_EQ(summary.area, 36);
  EXPECT_EQ(summary.mean(), 2.25);
  EXPECT_EQ(summary.total, 2.25);
  EXPECT_EQ(summary.minimum, 1);
  EXPECT_EQ(summary.maximum, 9) << "what lasted for no time is no extreme, or the last is missing";
  EXPECT_DOUBLE_EQ(summary.deviation(), std::sqrt((4 * 4 + 2 * 81 + 10 * 1) / 16.0 - 2.25 * 2.25));
}

/// The value that it has by then is kept.
TEST(Level, BeginsWhereItIsObserved) {
  LevelState level;
  level.set(7, at(1), at(20));
  level.set(3, at(15), at(20));
  level.set(4, at(30), at(20));  // 3 for 10 ticks
  level.advance(at(40));         // 4 for 10 ticks
  EXPECT_EQ(level.summary().ticks, 20);
  EXPECT_EQ(level.summary().mean(), 3.5);
  EXPECT_EQ(level.summary().maximum, 4);
}

TEST(Level, WithoutTimeThereIsNoMean) {
  LevelState level;
  level.set(7, at(5), at(0));
  level.advance(at(5));
  EXPECT_EQ(level.summary().ticks, 0);
  EXPECT_TRUE(std::isnan(level.summary().mean()));
  EXPECT_EQ(level.summary().deviation(), 0);
}

TEST(Level, MergesToWhatOneWouldHave) {
  std::mt19937_64 random(5);
  double area = 0, squares = 0, ticks = 0, total = 0;
  LevelSummary all;
  for (int lp = 0; lp < 20; ++lp) {
    LevelState level;
    std::int64_t now = static_cast<std::int64_t>(random() % 100);
    double own_area = 0, own_ticks = 0;
    for (int i = 0; i < 50; ++i) {
      const auto value = static_cast<double>(random() % 1000);
      const auto lasts = static_cast<std::int64_t>(random() % 100);
      level.set(value, at(now), at(0));
      now += lasts;
      own_area += value * static_cast<double>(lasts);
      squares += value * value * static_cast<double>(lasts);
      own_ticks += static_cast<double>(lasts);
    }
    level.advance(at(now));
    all.merge(level.summary());
    area += own_area;
    ticks += own_ticks;
    total += own_area / own_ticks;
  }
  const double mean = area / ticks;
  EXPECT_EQ(all.lps, 20u);
  EXPECT_EQ(all.area, area) << "whole numbers";
  EXPECT_EQ(all.ticks, ticks);
  EXPECT_NEAR(all.deviation(), std::sqrt(squares / ticks - mean * mean), 1e-9 * mean);
  EXPECT_NEAR(all.total, total, 1e-9 * total);
}

/// An LP without the level has no current value; a value of the last moment counts.
TEST(Level, HasCurrentValues) {
  LevelSummary all;
  EXPECT_TRUE(std::isnan(all.current_mean()));
  all.merge(LevelState().summary());
  for (const double last : {-2.0, 5.0, -9.0}) {
    LevelState level;
    level.set(100, at(3), at(0));
    level.set(last, at(20), at(0));
    level.advance(at(20));
    all.merge(level.summary());
  }
  all.merge(LevelState().summary());
  EXPECT_EQ(all.current_total, -6);
  EXPECT_EQ(all.current_mean(), -2);
  EXPECT_EQ(all.current_minimum, -9);
  EXPECT_EQ(all.current_maximum, 5);
  EXPECT_EQ(all.maximum, 100);
}

TEST(Level, KeepsNothingOfValues) {
  class Wrong final : public Model {
   public:
    std::uint64_t lp_count() const override { return 1; }
    std::unique_ptr<LogicalProcessBase> create(LpId) const override { return nullptr; }
    Metric both{*this, "both", "", "", Keep::level | Keep::histogram};
  };
  EXPECT_THROW(Wrong(), UsageError);
}

}  // namespace
}  // namespace orrery
