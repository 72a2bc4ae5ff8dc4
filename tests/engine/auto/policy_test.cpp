// SPDX-License-Identifier: Apache-2.0
//
// The policy on simulated machines, where rates are known: how much of the best rate a run gets,
// and what trials cost it.
#include "engine/auto/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace orrery::automatic {
namespace {

/// A run of so many seconds. Rates are in events a second, and may depend on the time.
struct Course {
  std::vector<Policy::Candidate> candidates{{0, 1}, {1, 2}};
  std::function<double(std::size_t candidate, double now)> rate;
  double hand_over_seconds = 1e-3;
  double noise = 0;      ///< of each measurement, as a share
  bool goes_on = false;  ///< without a hand-over where the next step is the same candidate's

  struct Result {
    double events = 0, seconds = 0;
    std::uint64_t trials = 0;
    std::size_t last = 0;
    double lost_seconds = 0;
    std::vector<Policy::Step> steps;

    double rate() const { return events / seconds; }
  };

  Result run(double seconds, std::vector<char> open = {}) const {
    Policy policy(candidates);
    if (open.empty()) open.assign(candidates.size(), 1);
    Result result;
    std::uint64_t random = 12345;
    bool has_world = false;
    Policy::Step step = policy.next(open);
    while (result.seconds < seconds) {
      result.steps.push_back(step);
      const double length = std::min(step.seconds, seconds - result.seconds);
      const double now = result.seconds + length / 2;
      const double events = rate(step.candidate, now) * length;
      result.events += events;
      const double taking = has_world ? 0 : hand_over_seconds / 2;
      const double giving = goes_on ? 0 : hand_over_seconds / 2;
      result.seconds += length + taking + giving;
      random = random * 6364136223846793005ULL + 1442695040888963407ULL;
      const double unit = static_cast<double>(random >> 11) / 9007199254740992.0;
      const double seen = events * (1 + noise * (2 * unit - 1));
      policy.note({static_cast<std::uint64_t>(seen), length, length + taking + giving,
                   hand_over_seconds, goes_on});
      const Policy::Step before = std::exchange(step, policy.next(open));
      has_world = goes_on && step.candidate == before.candidate;
      if (goes_on && !has_world) {
        result.seconds += hand_over_seconds / 2;
        policy.note_given_back(hand_over_seconds / 2, before.purpose);
      }
    }
    result.trials = policy.trials();
    result.last = policy.incumbent();
    result.lost_seconds = policy.lost_seconds();
    return result;
  }
};

Course constant(std::vector<double> rates) {
  Course course;
  course.rate = [rates](std::size_t i, double) { return rates[i]; };
  return course;
}

TEST(Policy, TriesNothingInShortRuns) {
  const auto result = constant({1e6, 5e6}).run(0.06);
  EXPECT_EQ(result.trials, 0u);
  EXPECT_EQ(result.last, 0u);
}

TEST(Policy, FindsWhatIsFaster) {
  for (const double gain : {1.1, 1.3, 1.8, 12.0}) {
    const auto result = constant({1e6, gain * 1e6}).run(5);
    EXPECT_EQ(result.last, 1u) << gain;
    EXPECT_GT(result.rate(), 0.93 * gain * 1e6) << gain;
  }
}

TEST(Policy, LosesLittleWhereNothingIsFaster) {
  for (const double gain : {0.95, 0.8, 0.4, 0.1, 0.01}) {
    const Course course = constant({1e6, gain * 1e6});
    EXPECT_GT(course.run(1).rate(), 0.93 * 1e6) << gain;
    EXPECT_GT(course.run(5).rate(), 0.96 * 1e6) << gain;
    const auto long_run = course.run(30);
    EXPECT_GT(long_run.rate(), 0.98 * 1e6) << gain;
    EXPECT_LT(long_run.lost_seconds, 0.01 * long_run.seconds) << gain;
    EXPECT_EQ(long_run.last, 0u) << gain;
    EXPECT_GE(long_run.trials, 2u) << "it looks again";
  }
}

/// One that is as fast as the incumbent does not keep those that wait for their first trial.
TEST(Policy, DoesNotLingerWhileOthersWait) {
  Course course = constant({1e6, 0.99e6, 1.8e6});
  course.candidates = {{0, 1}, {1, 2}, {2, 2}};
  const auto result = course.run(0.4);
  EXPECT_EQ(result.trials, 2u);
  EXPECT_EQ(result.last, 2u);
  EXPECT_GT(course.run(5).rate(), 0.95 * 1.8e6);
}

/// A trial in a bad moment of the machine is repeated soon.
TEST(Policy, GivesASecondChanceSoon) {
  Course course;
  course.rate = [](std::size_t i, double now) { return i == 0 ? 1e6 : now < 0.2 ? 0.2e6 : 2e6; };
  const auto result = course.run(5);
  EXPECT_EQ(result.last, 1u);
  EXPECT_GT(result.rate(), 0.8 * 2e6);
}

/// Measurements that are wrong by up to a quarter may mislead it, but not for long.
TEST(Policy, BearsNoise) {
  for (const double gain : {0.5, 0.8, 1.25, 2.0}) {
    Course course = constant({1e6, gain * 1e6});
    course.noise = 0.25;
    EXPECT_GT(course.run(20).rate(), 0.93 * std::max(1.0, gain) * 1e6) << gain;
  }
}

TEST(Policy, FollowsARateThatChanges) {
  Course course;
  course.rate = [](std::size_t i, double now) {
    const bool second_is_better = now > 5;
    return i == 0 ? (second_is_better ? 0.5e6 : 1e6) : (second_is_better ? 2e6 : 0.3e6);
  };
  const auto result = course.run(10);
  EXPECT_EQ(result.last, 1u);
  EXPECT_GT(result.events, 0.75 * (5 * 1e6 + 5 * 2e6));
}

/// Even if the incumbent's rate shows nothing.
TEST(Policy, LooksAgainInLongRuns) {
  Course course;
  course.rate = [](std::size_t i, double now) { return i == 0 ? 1e6 : now > 10 ? 2e6 : 0.5e6; };
  const auto result = course.run(100);
  EXPECT_EQ(result.last, 1u);
  EXPECT_GT(result.rate(), 0.8 * 1.9e6);
}

TEST(Policy, ComesBackFromWhatGetsSlow) {
  Course course;
  course.rate = [](std::size_t i, double now) { return i == 0 ? 1e6 : now < 2 ? 2e6 : 0.2e6; };
  const auto result = course.run(10);
  EXPECT_EQ(result.last, 0u);
  EXPECT_GT(result.events, 0.85 * (2 * 2e6 + 8 * 1e6));
}

/// A million LPs take a while to change hands.
TEST(Policy, WaitsUntilAWorldThatIsSlowToHandOverCanAffordIt) {
  Course course = constant({1e6, 1.5e6});
  course.hand_over_seconds = 0.3;
  EXPECT_EQ(course.run(2).trials, 0u);
  const auto result = course.run(20);
  EXPECT_EQ(result.last, 1u);
  EXPECT_GT(result.rate(), 0.83 * 1.5e6);
  Course slow = constant({1e6, 0.3e6});
  slow.hand_over_seconds = 0.3;
  EXPECT_GT(slow.run(20).rate(), 0.88 * 1e6);
}

/// A world that is slow to change hands, and engines that go on with it where they can.
TEST(Policy, NeedsFewHandOversWhereEnginesGoOn) {
  for (const double gain : {0.3, 0.95, 1.3}) {
    Course course = constant({1e6, gain * 1e6});
    course.hand_over_seconds = 0.03;
    const auto cuts = course.run(1);
    course.goes_on = true;
    const auto goes_on = course.run(1);
    EXPECT_GT(goes_on.rate(), 0.9 * 1e6) << gain;
    EXPECT_GT(goes_on.rate(), cuts.rate()) << gain;
    EXPECT_EQ(goes_on.trials, 1u) << gain;
    EXPECT_GT(course.run(20).rate(), 0.98 * std::max(1.0, gain) * 1e6) << gain;
  }
}

/// Of an engine the most workers come first; others take turns with it.
TEST(Policy, FindsTheNumberOfWorkers) {
  Course course;
  course.candidates = {{0, 1}, {1, 16}, {1, 8}, {1, 4}, {1, 2}};
  const std::vector<double> rates = {1e6, 0.7e6, 2.5e6, 3e6, 1.7e6};
  course.rate = [&](std::size_t i, double) { return rates[i]; };
  const auto result = course.run(10);
  EXPECT_EQ(result.last, 3u);
  EXPECT_GT(result.rate(), 0.85 * 3e6);
  const auto first_trial =
      std::find_if(result.steps.begin(), result.steps.end(),
                   [](const Policy::Step& step) { return step.purpose == Policy::Purpose::trial; });
  EXPECT_EQ(first_trial->candidate, 1u);
}

TEST(Policy, TriesOnlyWhatIsOpen) {
  const auto result = constant({1e6, 9e6}).run(10, {1, 0});
  EXPECT_EQ(result.trials, 0u);
  EXPECT_EQ(result.last, 0u);
}

/// No event in a period, if each takes longer: nothing to compare with.
TEST(Policy, WaitsForEvents) {
  const auto result = constant({0, 0}).run(3);
  EXPECT_EQ(result.trials, 0u);
}

TEST(Policy, OneCandidateIsNeverCompared) {
  Course course = constant({1e6});
  course.candidates = {{0, 1}};
  EXPECT_EQ(course.run(5).trials, 0u);
}

}  // namespace
}  // namespace orrery::automatic
