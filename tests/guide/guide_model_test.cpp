// SPDX-License-Identifier: Apache-2.0
//
// The model that docs/guide-models.md shows does what the page says of it, on every engine.
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

}  // namespace
}  // namespace orrery::testing
