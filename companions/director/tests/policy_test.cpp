// SPDX-License-Identifier: Apache-2.0
//
// The policy on tables, without real-time rights: who is chosen, who is pulled up, and, in a
// simulation of cores and threads, the bound of the spread.
#include "director/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "director/helpers.h"
#include "director/spread.h"

namespace orrery::director {
namespace {

constexpr Nanoseconds kTick = 1'000'000;

std::vector<std::size_t> having(const Policy& policy, Turn turn) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < policy.accounts().size(); ++i)
    if (policy.accounts()[i].turn == turn) found.push_back(i);
  return found;
}

using Indices = std::vector<std::size_t>;

Policy policy_with(unsigned cores, const std::vector<Nanoseconds>& consumed) {
  Policy policy(cores);
  for (const Nanoseconds one : consumed) {
    policy.join(policy.accounts().size(), 0, true);
    policy.update(policy.accounts().size() - 1, one, true);
  }
  return policy;
}

TEST(DirectorPolicy, LeastVirtualTimeRunsAndTheNextStandBy) {
  Policy policy = policy_with(2, {50, 10, 40, 20, 30, 60});
  policy.decide();
  EXPECT_EQ(having(policy, Turn::running), (Indices{1, 3}));
  EXPECT_EQ(having(policy, Turn::standby), (Indices{2, 4}));
  EXPECT_EQ(having(policy, Turn::waiting), (Indices{0, 5}));
  EXPECT_EQ(policy.spread(), 50);
}

TEST(DirectorPolicy, OfEqualOnesWhoHasACoreKeepsIt) {
  Policy policy = policy_with(1, {20, 10});
  policy.decide();
  ASSERT_EQ(having(policy, Turn::running), Indices{1});
  policy.update(1, 20, true);
  policy.decide();
  EXPECT_EQ(having(policy, Turn::running), Indices{1});
  policy.update(1, 21, true);
  policy.decide();
  EXPECT_EQ(having(policy, Turn::running), Indices{0});
}

TEST(DirectorPolicy, MoreCoresThanThreads) {
  Policy policy = policy_with(8, {3, 1, 2});
  policy.decide();
  EXPECT_EQ(having(policy, Turn::running), (Indices{0, 1, 2}));
  Policy empty(8);
  empty.decide();
  EXPECT_FALSE(empty.spread());
}

TEST(DirectorPolicy, IdleThreadsArePulledUpAndHaveNoTurn) {
  Policy policy = policy_with(1, {100, 200, 5});
  policy.update(2, 5, false);
  policy.decide();
  EXPECT_EQ(policy.accounts()[2].virtual_time(), 100);
  EXPECT_EQ(policy.accounts()[2].turn, Turn::waiting);
  EXPECT_EQ(policy.spread(), 100);
  EXPECT_EQ(policy.floor(), 100);
}

TEST(DirectorPolicy, AnIdleThreadThatIsAheadStaysThere) {
  Policy policy = policy_with(1, {100, 300});
  policy.update(1, 300, false);
  policy.decide();
  EXPECT_EQ(policy.accounts()[1].virtual_time(), 300);
}

TEST(DirectorPolicy, FromIdleToBusyAThreadHasNoDebtToCollect) {
  Policy policy = policy_with(1, {0, 0});
  policy.update(1, 0, false);
  for (int turn = 1; turn <= 1000; ++turn) {  // a second alone
    policy.update(0, turn * kTick, true);
    policy.decide();
  }
  policy.update(1, 0, true);
  policy.decide();
  EXPECT_LE(policy.spread().value_or(-1), kTick);
}

TEST(DirectorPolicy, WithNobodyRunnableTimeStandsStill) {
  Policy policy = policy_with(2, {100, 200});
  policy.decide();
  policy.update(0, 100, false);
  policy.update(1, 200, false);
  policy.decide();
  EXPECT_EQ(policy.floor(), 100);
  EXPECT_FALSE(policy.spread());
  EXPECT_TRUE(having(policy, Turn::running).empty());
}

TEST(DirectorPolicy, AMachinesClockIsThatOfItsFirstProcessor) {
  Policy policy(1);
  for (const std::uint64_t machine : {7, 7, 8}) policy.join(machine, 0, true);
  policy.decide();
  policy.update(0, 50, true);
  policy.update(1, 10, true);
  policy.update(2, 30, true);
  policy.decide();
  EXPECT_EQ(policy.floor(), 30) << "machine 7 is at 50, machine 8 at 30";
  EXPECT_EQ(having(policy, Turn::running), Indices{1}) << "turns are of processors";
}

TEST(DirectorPolicy, AnIdleProcessorIsDrawnToItsMachine) {
  Policy policy(2);
  for (const std::uint64_t machine : {7, 7, 8}) policy.join(machine, 0, true);
  policy.update(0, 50, true);
  policy.update(1, 10, false);
  policy.update(2, 30, true);
  policy.decide();
  EXPECT_EQ(policy.accounts()[1].virtual_time(), 50);
  EXPECT_EQ(policy.floor(), 30);
  policy.update(1, 15, true);
  policy.decide();
  EXPECT_EQ(policy.accounts()[1].virtual_time(), 55) << "from there it goes on";
}

TEST(DirectorPolicy, AMachineOfSeveralProcessorsIsIdleIfAllAre) {
  Policy policy(1);
  for (const std::uint64_t machine : {7, 7, 8}) policy.join(machine, 0, true);
  policy.decide();
  policy.update(0, 20, false);
  policy.update(1, 5, false);
  policy.update(2, 90, true);
  policy.decide();
  EXPECT_EQ(policy.floor(), 90);
  EXPECT_EQ(policy.accounts()[0].virtual_time(), 90);
  EXPECT_EQ(policy.accounts()[1].virtual_time(), 90);
}

TEST(DirectorPolicy, TheClockLeapsOnlyIfAllAreIdle) {
  Policy policy = policy_with(1, {100, 200});
  policy.set_leap(5'000);
  policy.update(1, 200, false);
  policy.decide();
  EXPECT_EQ(policy.floor(), 100);
  policy.update(0, 100, false);
  policy.decide();
  EXPECT_EQ(policy.floor(), 5'000);
  EXPECT_EQ(policy.accounts()[0].virtual_time(), 5'000);
  policy.set_leap(INT64_MIN);
  policy.decide();
  EXPECT_EQ(policy.floor(), 5'000);
}

TEST(DirectorPolicy, AWeightIsConsumedTimeForVirtualTime) {
  Policy policy = policy_with(1, {100, 100});
  policy.set_weight(0, 4);
  EXPECT_EQ(policy.accounts()[0].virtual_time(), 100) << "what was consumed stays as it counted";
  policy.update(0, 500, true);
  policy.update(1, 150, true);
  EXPECT_EQ(policy.accounts()[0].virtual_time(), 200);
  policy.decide();
  EXPECT_EQ(having(policy, Turn::running), Indices{1});
  policy.set_weight(0, 1);
  policy.update(0, 510, true);
  EXPECT_EQ(policy.accounts()[0].virtual_time(), 210);
}

TEST(DirectorPolicy, WhoComesBeginsAtTheFloorWhateverItHasConsumed) {
  Policy policy = policy_with(1, {500, 700});
  policy.decide();
  policy.join(9, 123'456, true);
  EXPECT_EQ(policy.accounts()[2].virtual_time(), 500);
}

TEST(DirectorPolicy, WhoVanishesLeavesTheOthersAsTheyWere) {
  Policy policy = policy_with(1, {10, 20, 30});
  policy.leave(0);
  policy.decide();
  ASSERT_EQ(policy.accounts().size(), 2u);
  EXPECT_EQ(policy.accounts()[0].virtual_time(), 20);
  EXPECT_EQ(having(policy, Turn::running), Indices{0});
  policy.leave(1);
  policy.leave(0);
  policy.decide();
  EXPECT_EQ(policy.floor(), 20);
}

/// Threads that compute, and fall asleep within a tick now and then, on cores that do what the
/// policy says: those whose turn it is run for a tick; what is left by those that fall asleep is
/// taken by who stands by, or by threads of others.
class Simulation {
 public:
  struct Shape {
    unsigned cores;
    std::size_t threads;
    double sleepy = 0;  ///< probability that a thread falls asleep in a tick
    bool standbys_run = true;
  };
  Simulation(unsigned seed, const Shape& shape)
      : consumed(shape.threads, 0),
        shape_(shape),
        random_(seed),
        policy_(shape.cores),
        asleep_(shape.threads, 0) {
    for (std::size_t i = 0; i < shape.threads; ++i) policy_.join(i, 0, true);
  }

  /// The spreads, sorted.
  std::vector<Nanoseconds> run(int ticks) {
    std::vector<Nanoseconds> spreads;
    for (int tick = 0; tick < ticks; ++tick) {
      for (std::size_t i = 0; i < consumed.size(); ++i)
        policy_.update(i, consumed[i], asleep_[i] == 0);
      policy_.decide();
      if (const auto spread = policy_.spread()) spreads.push_back(*spread);
      execute();
    }
    std::sort(spreads.begin(), spreads.end());
    return spreads;
  }

  std::vector<Nanoseconds> consumed;

 private:
  double share() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  void execute() {
    Nanoseconds left = 0;
    for (std::size_t i = 0; i < consumed.size(); ++i) {
      asleep_[i] = std::max(0, asleep_[i] - 1);
      if (policy_.accounts()[i].turn != Turn::running) continue;
      Nanoseconds ran = kTick;
      if (share() < shape_.sleepy) {
        ran = static_cast<Nanoseconds>(share() * kTick);
        asleep_[i] = 1 + static_cast<int>(share() * 100);
      }
      left += kTick - ran;
      consumed[i] += ran;
    }
    if (!shape_.standbys_run) return;
    for (std::size_t i = 0; i < consumed.size() && left > 0; ++i) {
      if (policy_.accounts()[i].turn != Turn::standby) continue;
      const Nanoseconds ran = std::min(left, kTick);
      consumed[i] += ran;
      left -= ran;
    }
  }

  const Shape shape_;
  std::mt19937 random_;
  Policy policy_;
  std::vector<int> asleep_;
};

TEST(DirectorPolicy, ComputingThreadsStayWithinATickOfEachOther) {
  for (unsigned cores : {1U, 2U, 4U, 7U})
    for (std::size_t threads : {2UL, 3UL, 8UL, 16UL, 33UL})
      EXPECT_LE(Simulation(1, {.cores = cores, .threads = threads}).run(10'000).back(), kTick)
          << threads << " threads on " << cores;
}

TEST(DirectorPolicy, SoDoThreadsThatSleepNowAndThen) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const unsigned cores = 1 + seed % 4;
    Simulation simulation(seed, {.cores = cores,
                                 .threads = cores + 1 + seed % 19,
                                 .sleepy = seed % 3 == 0 ? 0.5 : 0.05,
                                 .standbys_run = false});
    EXPECT_LE(simulation.run(2'000).back(), 2 * kTick) << "seed " << seed;
  }
}

/// What sleepers leave is not wasted, and puts those ahead who take it; but not for long.
TEST(DirectorPolicy, WhoStandsByGetsAheadByWhatItIsLeft) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    Simulation simulation(seed, {.cores = 2, .threads = 16, .sleepy = 0.02});
    const auto spreads = simulation.run(20'000);
    EXPECT_LE(spreads[spreads.size() * 99 / 100], 2 * kTick) << "seed " << seed;
    EXPECT_LE(spreads.back(), 4 * kTick) << "seed " << seed;
  }
}

TEST(DirectorPolicy, AFairShareForAll) {
  Simulation simulation(1, {.cores = 2, .threads = 16});
  simulation.run(8'000);
  const auto& consumed = simulation.consumed;
  const auto [least, most] = std::minmax_element(consumed.begin(), consumed.end());
  EXPECT_EQ(std::accumulate(consumed.begin(), consumed.end(), Nanoseconds{0}), 16'000 * kTick);
  EXPECT_LE(*most - *least, kTick);
}

TEST(DirectorDuty, TheShareOfDirectedTicksIsTheCeiling) {
  for (const double ceiling : {0.05, 0.5, 0.9, 0.95}) {
    Duty duty(ceiling);
    int directed = 0, others_in_a_row = 0, most_in_a_row = 0;
    for (int tick = 0; tick < 10'000; ++tick) {
      const bool is_directed = duty.next();
      directed += is_directed ? 1 : 0;
      others_in_a_row = is_directed ? 0 : others_in_a_row + 1;
      most_in_a_row = std::max(most_in_a_row, others_in_a_row);
    }
    EXPECT_NEAR(directed, 10'000 * ceiling, 1);
    if (ceiling >= 0.5) {
      EXPECT_EQ(most_in_a_row, 1);
    }
  }
}

TEST(DirectorHelpers, QuietBusyAndGreedyOnes) {
  using enum Conduct;
  const Nanoseconds cycle = 10'000;
  EXPECT_EQ(judge({10, 20, 0, 30}, cycle, 2), (std::vector{quiet, quiet, quiet, quiet}));
  EXPECT_EQ(judge({300, 200, 10}, cycle, 2), (std::vector{busy, quiet, quiet}));
  EXPECT_EQ(judge({300, 6'000}, cycle, 2), (std::vector{quiet, greedy}));
  // Each is modest, but all together are not.
  EXPECT_EQ(judge({4'000, 4'100, 4'200}, cycle, 2), (std::vector{busy, busy, greedy}));
  EXPECT_TRUE(judge({}, cycle, 2).empty());
}

TEST(DirectorHelpers, OnlyQuietOnesKeepTheirPriorityInTicksThatBelongToAll) {
  const auto level = [](Conduct conduct, unsigned punished, bool is_directed_tick) {
    Helper helper{.thread = *Thread::open(getpid(), getpid()), .process_name = ""};
    helper.conduct = conduct;
    helper.punished = punished;
    return helper.wanted_level(is_directed_tick);
  };
  EXPECT_EQ(level(Conduct::quiet, 0, true), Level::helper);
  EXPECT_EQ(level(Conduct::quiet, 0, false), Level::helper);
  EXPECT_EQ(level(Conduct::busy, 0, true), Level::helper);
  EXPECT_EQ(level(Conduct::busy, 0, false), Level::own);
  EXPECT_EQ(level(Conduct::greedy, 1, true), Level::own);
}

TEST(DirectorSpread, QuantilesAreRoundedUpByLittleAndTheLargestIsExact) {
  SpreadCounts counts(kTick);
  EXPECT_EQ(counts.quantile(0.99), 0);
  for (int i = 1; i <= 1000; ++i) counts.add(i * 10'000L);  // 0.01 to 10 ticks
  counts.add(1'234'567'890);
  EXPECT_EQ(counts.samples(), 1001u);
  EXPECT_DOUBLE_EQ(counts.most(), 1234.56789);
  for (const double share : {0.1, 0.5, 0.9, 0.99}) {
    EXPECT_GE(counts.quantile(share), 10 * share * 0.99);
    EXPECT_LE(counts.quantile(share), 10 * share * 1.03);
  }
  EXPECT_DOUBLE_EQ(counts.quantile(1), counts.most());
}

TEST(DirectorSpread, SmallValuesHaveABinEach) {
  SpreadCounts counts(1);
  for (const Nanoseconds value : {0, 1, 2, 127, 128, 129}) counts.add(value);
  EXPECT_EQ(counts.quantile(1. / 6), 1);  // not above it: rounded up to the end of its bin
  EXPECT_EQ(counts.quantile(0.5), 3);
  EXPECT_EQ(counts.most(), 129);
}

}  // namespace
}  // namespace orrery::director
