// SPDX-License-Identifier: Apache-2.0
//
// The optimism window by itself: a row of observations as GVT rounds make them, and what the window
// does. It may cost time only where there is something to gain: it closes on work that was undone
// or memory that ran out, and opens again afterwards.
#include "engine/timewarp/optimism.h"

#include <gtest/gtest.h>

namespace orrery::timewarp {
namespace {

constexpr std::uint64_t kBudget = 1'000'000;

/// Feeds rounds of `events` each.
class Rounds {
 public:
  explicit Rounds(Optimism& optimism) : optimism_(optimism) {}
  void operator()(int rounds, std::uint64_t events, double wasted, std::int64_t lead,
                  std::int64_t memory = 0) {
    for (int i = 0; i < rounds; ++i) {
      now_.executed += events;
      now_.rolled_back += static_cast<std::uint64_t>(wasted * static_cast<double>(events));
      now_.lead_ticks = lead;
      now_.memory_bytes = memory;
      optimism_.observe(now_);
    }
  }

 private:
  Optimism& optimism_;
  Optimism::Observation now_;
};

TEST(Optimism, IsUnlimitedWhileNothingGoesWrong) {
  Optimism optimism(0, kBudget);
  Rounds rounds(optimism);
  EXPECT_EQ(optimism.window_ticks(), Optimism::kUnlimited);
  rounds(1000, 500, 0.05, 1000);
  EXPECT_EQ(optimism.window_ticks(), Optimism::kUnlimited);
  EXPECT_FALSE(optimism.must_retreat());
}

TEST(Optimism, AFixedWindowStaysWhateverHappens) {
  Optimism optimism(77, kBudget);
  Rounds rounds(optimism);
  rounds(100, 500, 0.9, 1000);
  rounds(100, 5000, 0.0, 1000, 2 * kBudget);
  EXPECT_EQ(optimism.window_ticks(), 77);
}

TEST(Optimism, ClosesOnWaste) {
  Optimism optimism(0, kBudget);
  Rounds rounds(optimism);
  rounds(20, 500, 0.8, 1000);
  EXPECT_LT(optimism.window_ticks(), 1000);
  const std::int64_t before = optimism.window_ticks();
  rounds(20, 500, 0.8, before);
  EXPECT_LT(optimism.window_ticks(), before);
  EXPECT_GE(optimism.window_ticks(), 1);
}

TEST(Optimism, OpensAgainWhenWasteEnds) {
  Optimism optimism(0, kBudget);
  Rounds rounds(optimism);
  rounds(100, 500, 0.8, 1000);
  const std::int64_t closed = optimism.window_ticks();
  rounds(1000, 500, 0.0, closed);
  EXPECT_GT(optimism.window_ticks(), 64 * closed);
}

/// Waste that is seen when nobody is ahead of GVT comes from before: one long rollback, and since
/// then all events in order. There is no lead to cut; a window of a tick would make every round
/// handle one event.
TEST(Optimism, WasteWithoutALeadDoesNotCloseTheWindow) {
  Optimism optimism(0, kBudget);
  Rounds rounds(optimism);
  rounds(1, 20'000, 0.0, 20'000);  // far ahead of a worker that stalled
  rounds(1, 100, 200.0, 0);        // all of it undone
  rounds(20, 500, 0.0, 0);         // executed again, GVT follows closely
  EXPECT_GT(optimism.window_ticks(), 100)
      << "each GVT round now executes that many ticks, whatever the rounds cost";
}

TEST(Optimism, RetreatsBeyondTheBudgetWhileThatIsProductive) {
  Optimism optimism(0, kBudget);
  Rounds rounds(optimism);
  rounds(1, 5000, 0.0, 1000, kBudget - 1);
  EXPECT_FALSE(optimism.must_retreat());
  EXPECT_LT(optimism.window_ticks(), 1000) << "the soft limit is passed";
  rounds(1, 5000, 0.0, 1000, kBudget + 1);
  EXPECT_TRUE(optimism.must_retreat());
  rounds(1, 5, 0.0, 10, kBudget + 1);
  EXPECT_FALSE(optimism.must_retreat())
      << "rounds of five events: the model itself needs this much";
}

TEST(Optimism, WidensWhereTheModelItselfIsOverTheBudget) {
  Optimism optimism(0, kBudget);
  Rounds rounds(optimism);
  rounds(20, 5000, 0.0, 1000, 2 * kBudget);
  const std::int64_t closed = optimism.window_ticks();
  rounds(20, 5, 0.0, 100, 2 * kBudget);
  EXPECT_GT(optimism.window_ticks(), closed);
}

TEST(Optimism, SurvivesExtremes) {
  Optimism optimism(0, 1);
  Rounds rounds(optimism);
  rounds(200, 1'000'000, 0.0, INT64_MAX, INT64_MAX);
  EXPECT_GE(optimism.window_ticks(), 1);
  rounds(200, 10, 0.0, INT64_MAX, INT64_MAX);
  EXPECT_GE(optimism.window_ticks(), 1);
  rounds(200, 1'000'000, 0.99, INT64_MAX, -5);  // sums over workers may be negative for a moment
  EXPECT_GE(optimism.window_ticks(), 1);
}

}  // namespace
}  // namespace orrery::timewarp
