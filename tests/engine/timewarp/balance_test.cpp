// SPDX-License-Identifier: Apache-2.0
//
// When LPs are to move: what the engine concludes from reports of loads and rates.
#include "engine/timewarp/balance.h"

#include <gtest/gtest.h>

namespace orrery::timewarp {
namespace {

constexpr std::uint64_t kPeriod = 1000;

/// Two workers on two threads, period by period.
class Course {
 public:
  explicit Course(unsigned threads = 2) : balance_({.on = threads > 1, .lps = 100}) {
    sum_.balances = threads > 1;
    sum_.workers = 2;
    sum_.period_cycles = kPeriod;
    balance_.note(sum_);  // from here on it looks
  }
  /// A period with that rate, in events a period, in which one thread had that much more than the
  /// mean. Returns whether it wants a cut now.
  bool pass(double imbalance, std::uint64_t rate = 1000) {
    sum_.lived_cycles += 2 * kPeriod;
    sum_.committed += rate;
    sum_.executed += rate;
    sum_.load = 100;
    sum_.most_load = 50 * imbalance;
    sum_.even_load = 50;
    balance_.note(sum_);
    return balance_.wants_cut();
  }
  /// Uneven for as long as is looked at without measuring.
  bool watch(double imbalance, std::uint64_t rate = 1000) {
    bool wants = false;
    for (int i = 0; i < 3; ++i) wants |= pass(imbalance, rate);
    return wants;
  }
  /// The cut.
  void move(bool moved = true) {
    balance_.note_cut(moved);
    balance_.note(sum_);
  }
  Balance& balance() { return balance_; }

 private:
  GvtReport sum_;
  Balance balance_;
};

TEST(Balance, LeavesEvenLoadsAlone) {
  Course course;
  for (int i = 0; i < 100; ++i) ASSERT_FALSE(course.pass(1.1));
  EXPECT_FALSE(course.balance().measures());
}

TEST(Balance, MovesAfterUnevenPeriodsAndMeasuresInTheLast) {
  Course course;
  EXPECT_FALSE(course.watch(1.5));
  EXPECT_TRUE(course.balance().measures());
  EXPECT_TRUE(course.pass(1.5));
  EXPECT_EQ(course.balance().plan(), Balance::Plan::even);
  EXPECT_FALSE(course.balance().measures());
}

TEST(Balance, LeavesAPassingUnevennessAlone) {
  Course course;
  for (int i = 0; i < 20; ++i) {
    ASSERT_FALSE(course.pass(1.5));
    ASSERT_FALSE(course.pass(1.0));
  }
}

/// A load that evens out by itself would have changed sides before a move pays.
TEST(Balance, LeavesALoadAloneThatEvensOut) {
  Course course;
  for (const double imbalance : {1.6, 1.45, 1.33, 1.24, 1.17, 1.1, 1.0})
    ASSERT_FALSE(course.pass(imbalance));
  for (const double imbalance : {1.2, 1.3, 1.4, 1.5}) course.pass(imbalance);
  EXPECT_TRUE(course.balance().wants_cut()) << "one that grows";
}

TEST(Balance, MeasuresSeveralPeriodsWhereLpsAreMany) {
  Course course;
  course.watch(1.5, 50);
  EXPECT_FALSE(course.pass(1.5, 50));
  EXPECT_FALSE(course.pass(1.5, 50));
  EXPECT_FALSE(course.pass(1.5, 49));
  EXPECT_TRUE(course.pass(1.5, 49));
}

TEST(Balance, MovesAgainSoonIfThatGained) {
  Course course;
  course.watch(1.5);
  ASSERT_TRUE(course.pass(1.5));
  course.move();
  course.pass(1.3, 1200);  // settling
  EXPECT_FALSE(course.pass(1.3, 1200));
  EXPECT_FALSE(course.watch(1.3, 1200));
  EXPECT_TRUE(course.pass(1.3, 1200));
  EXPECT_EQ(course.balance().vain_moves(), 0u);
}

TEST(Balance, RestsLongerAndLongerIfMovesGainNothing) {
  Course course;
  unsigned moves = 0;
  for (int i = 0; i < 2000; ++i)
    if (course.pass(1.5)) {
      ASSERT_EQ(course.balance().plan(), Balance::Plan::even);
      ++moves;
      course.move();
    }
  EXPECT_GE(moves, 5u);
  EXPECT_LE(moves, 10u);
  EXPECT_EQ(course.balance().vain_moves(), moves);
}

TEST(Balance, RestsIfNoBetterOwnersAreFound) {
  Course course;
  unsigned cuts = 0;
  for (int i = 0; i < 2000; ++i)
    if (course.pass(1.5)) {
      ++cuts;
      course.move(false);
    }
  EXPECT_LE(cuts, 10u);
}

TEST(Balance, TakesAMoveBackThatCost) {
  Course course;
  course.watch(1.5);
  ASSERT_TRUE(course.pass(1.5));
  course.move();
  course.pass(1.0, 700);
  EXPECT_FALSE(course.pass(1.0, 700));
  EXPECT_FALSE(course.pass(1.0, 700));
  EXPECT_TRUE(course.pass(1.0, 700));
  EXPECT_EQ(course.balance().plan(), Balance::Plan::back);
  course.move();
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(course.pass(1.5));
}

/// One slow period of three is the machine's.
TEST(Balance, JudgesByTheBestPeriods) {
  Course course;
  course.watch(1.5);
  ASSERT_TRUE(course.pass(1.5));
  course.move();
  course.pass(1.0, 500);
  EXPECT_FALSE(course.pass(1.0, 500));
  EXPECT_FALSE(course.pass(1.0, 500));
  EXPECT_FALSE(course.pass(1.0, 1200));
  EXPECT_EQ(course.balance().vain_moves(), 0u);
}

TEST(Balance, FollowsALoadThatSwingsAFewTimes) {
  Course course;
  unsigned moves = 0;
  for (int i = 0; i < 2000; ++i)
    if (course.pass(i % 8 < 6 ? 1.5 : 1.0)) {
      ++moves;
      course.move();
      course.pass(1.0);  // settled
    }
  EXPECT_GE(moves, 4u);
  EXPECT_LE(moves, 10u);
}

TEST(Balance, GivesUpACutThatIsNone) {
  Course course;
  course.watch(1.5);
  ASSERT_TRUE(course.pass(1.5));
  course.balance().give_up();
  EXPECT_FALSE(course.balance().wants_cut());
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(course.pass(1.5));
}

TEST(Balance, DoesNothingOnOneThread) {
  Course course(1);
  for (int i = 0; i < 10; ++i) ASSERT_FALSE(course.pass(2));
}

}  // namespace
}  // namespace orrery::timewarp
