// SPDX-License-Identifier: Apache-2.0
//
// The bounds of optimism by themselves: a row of observations as GVT rounds make them, and what
// window and quota do. They may cost time only where there is something to gain: they close on work
// that was lost or memory that ran out, and open again afterwards.
#include "engine/timewarp/optimism.h"

#include <gtest/gtest.h>

namespace orrery::timewarp {
namespace {

constexpr std::uint64_t kBudget = 1'000'000;
constexpr unsigned kWorkers = 2;

/// Feeds rounds of `events` each, which take all the time that there is.
class Rounds {
 public:
  explicit Rounds(Optimism& optimism) : optimism_(optimism) {
    now_.lowest = Key::start_of(Time::zero());
  }
  void operator()(int rounds, std::uint64_t events, double wasted, std::int64_t lead,
                  std::int64_t memory = 0) {
    for (int i = 0; i < rounds; ++i) {
      const auto lost = static_cast<std::uint64_t>(wasted * static_cast<double>(events));
      now_.executed += events;
      now_.rolled_back += lost;
      now_.most_committed = (events - std::min(events, lost)) / kWorkers;
      now_.busy_cycles += busy;
      now_.lived_cycles += 100;
      now_.latest_ticks = lead;
      now_.pressing_bytes = memory;
      optimism_.note(now_);
    }
  }
  std::uint64_t busy = 100;  ///< percent

 private:
  Optimism& optimism_;
  GvtReport now_;
};

struct OptimismTest : ::testing::Test {
  Optimism optimism{0, kBudget, kWorkers, 1};
  Rounds rounds{optimism};
};

TEST_F(OptimismTest, WindowIsUnlimitedWhileNothingGoesWrong) {
  EXPECT_EQ(optimism.window_ticks(), Optimism::kUnlimited);
  rounds(1000, 500, 0.05, 1000);
  EXPECT_EQ(optimism.window_ticks(), Optimism::kUnlimited);
  EXPECT_EQ(optimism.horizon(Key::start_of(Time::from_ticks(5))), Key::end_of(Time::max()));
  EXPECT_FALSE(optimism.must_retreat());
}

TEST_F(OptimismTest, AWindowThatIsGivenIsTheWidest) {
  Optimism given(77, kBudget, kWorkers, 1);
  Rounds feed(given);
  feed(100, 5000, 0.0, 1000);
  EXPECT_EQ(given.window_ticks(), 77);
  feed(100, 500, 0.9, 70);
  EXPECT_LT(given.window_ticks(), 7) << "a run that hardly gets on helps nobody";
  feed(3000, 500, 0.0, 70);
  EXPECT_EQ(given.window_ticks(), 77);
}

TEST_F(OptimismTest, ClosesOnLossAndOpensAgain) {
  rounds(20, 500, 0.7, 1000);
  const double before = optimism.window_ticks();
  EXPECT_LT(before, 1000);
  rounds(20, 500, 0.7, static_cast<std::int64_t>(before));
  const double closed = optimism.window_ticks();
  EXPECT_LT(closed, before);
  rounds(1000, 500, 0.0, static_cast<std::int64_t>(closed));
  EXPECT_GT(optimism.window_ticks(), 64 * closed);
}

/// 30 % of the work are worth losing if closing the window would make the cores wait as long.
TEST_F(OptimismTest, WeighsLossAgainstWaiting) {
  rounds.busy = 50;
  rounds(100, 500, 0.3, 1000);
  EXPECT_EQ(optimism.window_ticks(), Optimism::kUnlimited);
  rounds.busy = 95;
  rounds(100, 500, 0.3, 1000);
  EXPECT_LT(optimism.window_ticks(), 1000);
}

/// Zero-delay activity: all within one tick.
TEST_F(OptimismTest, ClosesBelowATickToOneMicrostep) {
  const Key gvt(Time::from_ticks(5), 7, 3, 1);
  rounds(4, 5000, 0.7, 0);
  const Key some = optimism.horizon(gvt);
  EXPECT_EQ(some.time(), gvt.time());
  rounds(1000, 5000, 0.7, 0);
  const Key narrowest = optimism.horizon(gvt);
  EXPECT_EQ(narrowest, Key(gvt.time(), gvt.step() + 1, 0, 0));
  EXPECT_EQ(narrowest, Optimism::next_step(gvt));
  EXPECT_GT(narrowest, gvt) << "what lies lowest is always executed";
  const Key last(Time::from_ticks(5), Key::kMaxStep, 3, 1);
  EXPECT_EQ(optimism.horizon(last), Key::end_of(last.time()));
}

TEST_F(OptimismTest, ApproachesAWindowThatWasLostSlowly) {
  rounds(1, 5000, 0.9, 100);
  EXPECT_TRUE(optimism.must_retreat()) << "nearly all that is ahead is wrong";
  rounds(1, 5000, 0.0, 30);
  EXPECT_FALSE(optimism.must_retreat());
  int samples = 0;
  for (; optimism.window_ticks() < 69; ++samples) rounds(1, 5000, 0.0, 60);
  EXPECT_LT(samples, 5) << "far below it quickly";
  for (; optimism.window_ticks() < 99; ++samples) rounds(1, 5000, 0.0, 90);
  EXPECT_GT(samples, 10);
}

/// Undoing what lay beyond a window that has closed takes a while, and says nothing about the new
/// window.
TEST_F(OptimismTest, DoesNotCloseTwiceForOneLoss) {
  rounds(1, 5000, 0.7, 1000);
  const double once = optimism.window_ticks();
  rounds(1, 5000, 0.7, 400);
  EXPECT_EQ(optimism.window_ticks(), once);
  rounds(1, 5000, 0.7, 400);
  EXPECT_LT(optimism.window_ticks(), once);
}

TEST_F(OptimismTest, QuotaFollowsWhatRoundsCommit) {
  const std::uint64_t first = optimism.quota();
  EXPECT_LE(first, 64u) << "nothing is known yet";
  rounds(10, 20'000, 0.0, 1000);
  const std::uint64_t open = optimism.quota();
  EXPECT_GE(open, 40'000u);
  rounds(100, 200, 1.0, 1000);
  EXPECT_LE(optimism.quota(), 16u);
  EXPECT_GT(optimism.quota(), 0u);
  rounds(100, 0, 0.0, 0);
  EXPECT_GT(optimism.quota(), 0u);
  for (int i = 0; i < 8; ++i) rounds(1, kWorkers * optimism.quota(), 0.0, 1000);
  EXPECT_GE(optimism.quota(), open);
}

TEST_F(OptimismTest, ClosesNearTheBudgetAndRetreatsBeyond) {
  rounds(1, 5000, 0.0, 1000, kBudget - 1);
  EXPECT_FALSE(optimism.must_retreat());
  EXPECT_LT(optimism.window_ticks(), 1000) << "the soft limit is passed";
  rounds(1, 5000, 0.0, 1000, kBudget + 1);
  EXPECT_TRUE(optimism.must_retreat());
  rounds(1, 5000, 0.0, 100, kBudget / 2);
  EXPECT_FALSE(optimism.must_retreat());
  EXPECT_EQ(optimism.budget_bytes(), double{kBudget});
}

TEST_F(OptimismTest, TheBudgetGivesWayToWhatTheModelNeeds) {
  rounds(20, 500, 0.0, 1000, 2 * kBudget);
  EXPECT_GT(optimism.budget_bytes(), 2.0 * kBudget);
  EXPECT_LT(optimism.budget_bytes(), 4.0 * kBudget);
  EXPECT_FALSE(optimism.must_retreat());
  const double closed = optimism.window_ticks();
  rounds(20, 500, 0.0, 100, 2 * kBudget);
  EXPECT_GT(optimism.window_ticks(), closed);
}

/// Memory that goes up and down around the budget while nothing is executed ahead.
TEST_F(OptimismTest, TheBudgetGivesWayWhereNothingIsLeftToClose) {
  for (int i = 0; i < 200; ++i) rounds(1, 500, 0.0, 1, i % 8 < 4 ? kBudget : 85 * kBudget / 100);
  EXPECT_GT(optimism.budget_bytes(), 1.2 * kBudget);
  EXPECT_GT(optimism.window_ticks(), 1);
}

TEST_F(OptimismTest, TheBudgetHoldsWhereClosingHelps) {
  std::int64_t memory = 2 * kBudget;
  for (int i = 0; i < 100; ++i, memory = memory * 9 / 10 + 70'000) rounds(1, 500, 0.0, 9, memory);
  EXPECT_EQ(optimism.budget_bytes(), double{kBudget});
  EXPECT_FALSE(optimism.must_retreat());
}

TEST_F(OptimismTest, SurvivesExtremes) {
  rounds(200, 1'000'000, 0.0, INT64_MAX, INT64_MAX);
  EXPECT_GT(optimism.window_ticks(), 0);
  rounds(200, 10, 0.0, INT64_MAX, INT64_MAX);
  EXPECT_GT(optimism.window_ticks(), 0);
  rounds(200, 1'000'000, 0.99, INT64_MAX, -5);  // sums over workers may be negative for a moment
  EXPECT_GT(optimism.window_ticks(), 0);
  const Key late = Key::start_of(Time::from_ticks(INT64_MAX - 1));
  EXPECT_GT(optimism.horizon(late), late);
}

}  // namespace
}  // namespace orrery::timewarp
