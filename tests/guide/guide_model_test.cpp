// SPDX-License-Identifier: Apache-2.0
//
// The models that pages in docs/models and docs/from-another-simulator.md show do what the pages
// say of them, on every engine.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "models/simulation.h"

namespace orrery::testing {
namespace {

constexpr Duration kDay = Duration::hours(8);

TEST(GuideModel, QueuesAtDesksAreTheSameOnEveryEngine) {
  const Simulation expected("office", {}, kDay);
  for (const char* engine : {"timewarp", "expanded", "windows", "checker"}) {
    const Simulation actual("office", {}, kDay, 1, engine, 2);
    expect_same_commit(expected.outcome(), actual.outcome(), engine);
  }
}

TEST(GuideModel, AnotherDeskShortensTheQueueAndLeavesArrivals) {
  const Simulation two("office", {}, kDay), three("office", {{"desks", "3"}}, kDay);
  EXPECT_GT(two.figure("desk_queue", "mean"), 2 * three.figure("desk_queue", "mean"));
  EXPECT_GT(two.metric("desk_reneged").mean(), three.metric("desk_reneged").mean());
  EXPECT_LE(two.metric("desk_wait").maximum, 300);
  // Nearly all are served by three, and by two those who do not give up.
  EXPECT_LT(two.metric("desk_wait").count, three.metric("desk_wait").count);
}

TEST(GuideModel, TillsKeepTheSameOnEveryEngine) {
  constexpr Duration kHalfHour = Duration::minutes(30);
  const Simulation expected("market", {}, kHalfHour);
  for (const char* engine : {"timewarp", "expanded", "windows", "checker"}) {
    const Duration until = engine == std::string("checker") ? Duration::minutes(6) : kHalfHour;
    const Simulation same("market", {}, until), actual("market", {}, until, 1, engine, 2);
    expect_same_commit(same.outcome(), actual.outcome(), engine);
    for (const auto& [metric, figure] : {std::pair{"stay", "p50"},
                                         {"stay", "p99"},
                                         {"stay", "rate"},
                                         {"present", "total"},
                                         {"present", "deviation"}})
      EXPECT_EQ(actual.figure(metric, figure), same.figure(metric, figure))
          << engine << ": " << metric << "." << figure;
    EXPECT_EQ(actual["patience"], same["patience"]) << engine;
  }
  EXPECT_GT(expected["patience"], expected.figure("stay", "p90"));
}

/// A stay in M/M/1 is exponential with the mean 1 / (1/3 - 1/5) s, and Little's law gives how many
/// are present. The bounds are five times the deviations of 20 seeds, or more.
TEST(GuideModel, TillsAreAsTheorySays) {
  const Simulation run("market", {}, Duration::hours(4));
  constexpr double kMean = 7.5;
  EXPECT_NEAR(run.figure("stay", "mean"), kMean, 0.06 * kMean);
  EXPECT_NEAR(run.figure("stay", "p50"), kMean * std::log(2.0), 0.06 * kMean * std::log(2.0));
  EXPECT_NEAR(run.figure("stay", "p99"), kMean * std::log(100.0), 0.1 * kMean * std::log(100.0));
  EXPECT_NEAR(run["patience"], kMean * std::log(20.0), 0.08 * kMean * std::log(20.0));
  EXPECT_NEAR(run.figure("stay", "rate"), 40 / 5.0, 0.03 * 40 / 5.0);
  EXPECT_NEAR(run.figure("present", "mean"), 1.5, 0.08 * 1.5);
  EXPECT_NEAR(run.figure("present", "total"), 60, 0.08 * 60);
  EXPECT_NEAR(run.figure("present", "deviation"), std::sqrt(0.6) / 0.4, 0.12 * 1.94);
}

TEST(GuideModel, BakeriesAreTheSameOnEveryEngine) {
  const Simulation expected("town", {}, kDay);
  for (const char* engine : {"timewarp", "conservative", "expanded", "windows", "checker"}) {
    const Simulation actual("town", {}, kDay, 1, engine, 2);
    expect_same_commit(expected.outcome(), actual.outcome(), engine);
  }
  EXPECT_GT(expected.metric("carts").sum, 0);
  EXPECT_GT(expected.metric("clerk_reneged").mean(), 0);
}

TEST(GuideModel, AnotherClerkServesThoseWhoGaveUp) {
  const Simulation two("town", {}, kDay), three("town", {{"clerks", "3"}}, kDay);
  EXPECT_GT(two.metric("clerk_reneged").mean(), 2 * three.metric("clerk_reneged").mean());
  EXPECT_LE(two.metric("clerk_wait").maximum, 300);
}

/// Each round is cleared after all of its bids, of which there are more than one of each bidder.
TEST(GuideModel, AuctionsClearAfterAllBidsOnEveryEngine) {
  const Simulation expected("auction", {}, kDay);
  for (const char* engine : {"timewarp", "conservative", "expanded", "windows", "checker"}) {
    const Simulation actual("auction", {}, kDay, 1, engine,
                            engine == std::string("conservative") ? 1 : 2);
    expect_same_commit(expected.outcome(), actual.outcome(), engine);
  }
  EXPECT_EQ(expected.outcome().rows.size(), 47U);
  for (const auto& row : expected.outcome().rows) {
    const auto& cells = std::get<std::vector<std::uint64_t>>(row);
    EXPECT_GT(cells.at(0), 1U) << "price";
    EXPECT_GT(cells.at(2), 8U) << "bids";
  }
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
  EXPECT_NEAR(run.figure("desk_utilisation", "mean"), 0.5, 0.01);
  EXPECT_NEAR(run.metric("transit").mean(), 3920, 15);
}

}  // namespace
}  // namespace orrery::testing
