// SPDX-License-Identifier: Apache-2.0
//
// The log of a run's progress is bounded whatever the run's length, and loses neither ends nor
// peaks of memory.
#include "output/progress_log.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery {
namespace {

ProgressPoint point(double seconds, std::uint64_t memory = 0) {
  const auto events = static_cast<std::uint64_t>(seconds * 1000);
  return {seconds, seconds * 10, events, events + 1, memory, nullptr, 0};
}

TEST(ProgressLog, KeepsAllThatFits) {
  ProgressLog log;
  for (std::size_t i = 1; i <= ProgressLog::kMost; ++i) log.add(point(static_cast<double>(i)));
  EXPECT_EQ(log.points().size(), ProgressLog::kMost);
  EXPECT_EQ(log.interval(), ProgressLog::kFirstInterval);
}

TEST(ProgressLog, MergesNeighboursWhenItIsFull) {
  ProgressLog log;
  for (std::size_t i = 1; i <= ProgressLog::kMost + 1; ++i)
    log.add(point(static_cast<double>(i), i == 3 ? 100 : 10));
  EXPECT_EQ(log.points().size(), ProgressLog::kMost / 2 + 1);
  EXPECT_EQ(log.interval(), 2 * ProgressLog::kFirstInterval);
  EXPECT_EQ(log.points()[1].wall_seconds, 4);  // the later one's counters
  EXPECT_EQ(log.points()[1].committed, 4000U);
  EXPECT_EQ(log.points()[1].memory_bytes, 100U);  // the larger one's memory
  EXPECT_EQ(log.points()[2].memory_bytes, 10U);
}

TEST(ProgressLog, IsBoundedAndInOrderHoweverLongTheRun) {
  ProgressLog log;
  for (double now = 0; now < 24 * 3600; now += log.interval())
    log.add(point(now, now > 1000 && now < 1100 ? 7 : 1));
  EXPECT_LE(log.points().size(), ProgressLog::kMost);
  EXPECT_GE(log.points().size(), ProgressLog::kMost / 2);
  const auto points = log.points();
  EXPECT_TRUE(std::is_sorted(points.begin(), points.end(), [](const auto& a, const auto& b) {
    return a.wall_seconds < b.wall_seconds;
  }));
  EXPECT_TRUE(std::any_of(points.begin(), points.end(),
                          [](const ProgressPoint& one) { return one.memory_bytes == 7; }));
}

TEST(ProgressLog, OfAShortRunHasBeginAndEnd) {
  const auto all = ProgressLog().between(point(0), point(0.001));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].committed, 1U);
}

TEST(ProgressLog, LeavesOutWhatIsNotBetweenTheEnds) {
  ProgressLog log;
  ProgressPoint before = point(0.5);
  before.committed = 3;  // the counters of a run that goes on, before it did
  log.add(before);
  for (const double seconds : {2.0, 3.0, 9.0}) log.add(point(seconds));
  ProgressPoint begin = point(0);
  begin.committed = 1500;
  const auto all = log.between(begin, point(4));
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[1].wall_seconds, 2);
  EXPECT_EQ(all[2].wall_seconds, 3);
}

TEST(ProgressLog, TellsTheEngineBeforeWhereThereIsNone) {
  ProgressLog log;
  ProgressPoint begin = point(0), end = point(4), other = point(2);
  begin.engine = end.engine = "sequential";
  other.engine = "timewarp";
  other.workers = 2;
  for (const ProgressPoint& one : {point(1), other, point(3)}) log.add(one);
  const auto all = log.between(begin, end);
  ASSERT_EQ(all.size(), 5U);
  EXPECT_STREQ(all[1].engine, "sequential");
  EXPECT_STREQ(all[3].engine, "timewarp");
  EXPECT_EQ(all[3].workers, 2U);
}

}  // namespace
}  // namespace orrery
