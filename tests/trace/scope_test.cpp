// SPDX-License-Identifier: Apache-2.0
//
// Which events a trace is of, how that is written, and what a lane does when it is full.
#include <gtest/gtest.h>

#include "orrery/error.h"
#include "run/execution/trace_recorder.h"
#include "run/options/lp_patterns.h"
#include "trace/format.h"

namespace orrery::trace {
namespace {

TEST(TraceScope, EmptyHoldsAllLpsAndTimes) {
  const TraceScope scope;
  EXPECT_TRUE(scope.contains(0, Time::zero()));
  EXPECT_TRUE(scope.contains(4'000'000'000, Time::from_ticks(1) + Duration::seconds(1)));
}

TEST(TraceScope, HoldsTheEndsOfRangesAndIsOpenAtItsLastTime) {
  TraceScope scope;
  scope.lps = {{2, 4}, {9, 9}};
  scope.from = Time::from_ticks(10);
  scope.to = Time::from_ticks(20);
  for (LpId lp = 0; lp < 12; ++lp)
    EXPECT_EQ(scope.contains(lp, Time::from_ticks(10)), (lp >= 2 && lp <= 4) || lp == 9) << lp;
  EXPECT_FALSE(scope.contains(3, Time::from_ticks(9)));
  EXPECT_TRUE(scope.contains(3, Time::from_ticks(19)));
  EXPECT_FALSE(scope.contains(3, Time::from_ticks(20)));
}

TEST(TraceScope, RangesAreSortedAndJoined) {
  using Ranges = LpRanges;
  EXPECT_EQ(read_ranges("--lps", "7,0..3"), (Ranges{{0, 3}, {7, 7}}));
  EXPECT_EQ(read_ranges("--lps", "0..3,4,2..5"), (Ranges{{0, 5}}));
  EXPECT_EQ(read_ranges("--lps", ""), Ranges{});
  EXPECT_EQ(text_of(read_ranges("--lps", "9,0..3")), "0..3,9");
  for (const char* text : {"3..1", "a", "1..", "..1", "1,,2", "-1", "4294967295"})
    EXPECT_THROW(read_ranges("--lps", text), UsageError) << text;
}

TEST(TraceLane, CountsWhatDoesNotFit) {
  TraceRecorder recorder({}, 2, 6);
  TraceLane* const lane = recorder.lane(1);
  ASSERT_NE(lane, nullptr);
  EXPECT_EQ(recorder.lane(2), nullptr);
  for (std::uint64_t i = 0; i < 5; ++i) {
    TraceSpan span(lane, TraceKind::idle);
    span.set_count(i);
  }
  EXPECT_EQ(lane->end() - lane->begin(), 3);
  EXPECT_EQ(lane->left_out(), 2u);
  EXPECT_EQ(lane->begin()[2].count, 2u);
  EXPECT_LE(lane->begin()->begin_cycles, lane->begin()->end_cycles);
}

TEST(TraceIdleness, LastsUntilTheTurnThatFindsSomething) {
  TraceRecorder recorder({}, 1, 10);
  TraceLane* const lane = recorder.lane(0);
  {
    TraceIdleness idleness(lane);
    for (const bool idle : {false, true, true, false, true}) {
      idleness.at_turn();
      idleness.after_turn(idle);
    }
    EXPECT_EQ(lane->end() - lane->begin(), 1);
  }
  EXPECT_EQ(lane->end() - lane->begin(), 2) << "the end of the run ends it, too";
}

}  // namespace
}  // namespace orrery::trace
