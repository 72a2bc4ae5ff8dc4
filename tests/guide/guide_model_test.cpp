// SPDX-License-Identifier: Apache-2.0
//
// The models that docs/guide-models.md and docs/from-another-simulator.md show do what the pages
// say of them, on every engine.
#include <gtest/gtest.h>

#include <string>

#include "models/simulation.h"

namespace orrery::testing {
namespace {

constexpr Duration kDay = Duration::hours(8);

TEST(GuideModel, QueuesAtDesksAreTheSameOnEveryEngine) {
  const Simulation expected("office", {}, kDay);
  for (const char* engine : {"timewarp", "expanded", "plain", "checker"}) {
    const Simulation actual("office", {}, kDay, 1, engine, 2);
    expect_same_commit(expected.outcome(), actual.outcome(), engine);
  }
}

TEST(GuideModel, AnotherDeskShortensTheQueueAndLeavesArrivals) {
  const Simulation two("office", {}, kDay), three("office", {{"desks", "3"}}, kDay);
  EXPECT_GT(two.metric("desk_queue").mean(), 2 * three.metric("desk_queue").mean());
  EXPECT_GT(two.metric("desk_reneged").mean(), three.metric("desk_reneged").mean());
  EXPECT_LE(two.metric("desk_wait").maximum, 300);
  // Nearly all are served by three, and by two those who do not give up.
  EXPECT_LT(two.metric("desk_wait").count, three.metric("desk_wait").count);
}

TEST(PageForOthers, LettersAreTheSameOnEveryEngine) {
  const Simulation expected("post", {{"offices", "9"}}, kDay);
  for (const char* engine : {"timewarp", "conservative", "expanded", "checker"}) {
    const Simulation actual("post", {{"offices", "9"}}, kDay, 1, engine, 2);
    expect_same_commit(expected.outcome(), actual.outcome(), engine);
  }
}

// A network of Jackson's (Operations Research 5, 1957): each office is an M/M/2 by itself, busy
// half of the time, where letters wait 40 s on average; two hops on average of 2 min + 40 s + 30
// min.
TEST(PageForOthers, LettersTakeWhatJacksonSays) {
  const Simulation run("post", {}, Duration::days(7));
  EXPECT_NEAR(run.metric("desk_wait").mean(), 40, 1);
  EXPECT_NEAR(run.metric("desk_utilisation").mean(), 0.5, 0.01);
  EXPECT_NEAR(run.metric("transit").mean(), 3920, 15);
}

}  // namespace
}  // namespace orrery::testing
