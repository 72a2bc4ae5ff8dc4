// SPDX-License-Identifier: Apache-2.0
//
// A run over ranks leaves what a run in one process leaves, to the bit: fingerprint, rows, metrics,
// faults, whatever is late on its way. The ranks are threads here (run_ranks.h), so this also runs
// under the thread sanitizer. A failure prints what reproduces it.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "disturb.h"
#include "engine/auto/settings.h"
#include "equality/delay_model.h"
#include "equality/run_ranks.h"
#include "orrery/error.h"
#include "run/engine_cases.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

using Promise = DelayModelOptions::Promise;

struct RankShape {
  unsigned ranks;
  unsigned workers;
  bool adversary = true;
  std::uint64_t part_lps = 0;
  std::uint64_t channel_messages = 4096;
  std::size_t credit_bytes = 64 << 10;

  std::string text() const {
    return std::to_string(ranks) + " ranks x " + std::to_string(workers) + " workers" +
           (adversary ? ", delayed" : "") + ", parts of " + std::to_string(part_lps) +
           ", channels of " + std::to_string(channel_messages) + ", credit " +
           std::to_string(credit_bytes);
  }
  RunOptions options(std::uint64_t seed) const {
    RunOptions options;
    options.seed = seed;
    options.workers = workers;
    options.bind = false;
    options.set(threads_option(), workers);
    Disturbed& disturbed = disturb(options);
    disturbed.lps_of_part = part_lps;
    disturbed.messages = channel_messages;
    return options;
  }
};

std::vector<RankShape> shapes() {
  return {{2, 1},
          {2, 2},
          {2, 1, false},
          {3, 1},
          {3, 2},
          {2, 2, true, 1, 2},
          {2, 1, true, 0, 2, 512},
          {3, 2, true, 3, 4, 2048}};
}

constexpr Promise kPromises[] = {Promise::for_all, Promise::by_edge, Promise::clusters,
                                 Promise::mixed};

DelayModelOptions some(std::uint64_t seed) {
  return {.shape = seed,
          .lps = static_cast<LpId>(10 + seed * 37 % 90),
          .promise = kPromises[seed % 4],
          .grain_ticks = seed % 3 == 0 ? 1 : 5,
          .horizon = Duration::from_ticks(kSanitizers ? 100 : 200),
          .durations = seed % 5 == 0,
          .phases = seed % 3 == 1};
}

RunOptions seeded(std::uint64_t seed) {
  RunOptions options;
  options.seed = seed;
  return options;
}

Outcome alone(const DelayModelOptions& chosen, std::uint64_t seed) {
  return run_model(DelayModel(chosen), "sequential", seeded(seed));
}

void expect_equal_over_ranks(const DelayModelOptions& chosen, std::uint64_t seed) {
  const Outcome expected = alone(chosen, seed);
  const std::vector<RankShape> all = shapes();
  for (std::size_t i = seed % 2; i < all.size(); i += 2) {
    const std::string what = "seed " + std::to_string(seed) + ", " + all[i].text();
    const std::vector<Outcome> outcomes = run_ranks(
        [&] { return std::make_unique<DelayModel>(chosen); }, "conservative", all[i].options(seed),
        all[i].ranks, {.seed = seed, .delays = all[i].adversary}, all[i].credit_bytes);
    expect_same(expected, outcomes[0], what);
    EXPECT_EQ(outcomes[0].result.ranks, all[i].ranks);
    for (const Outcome& other : outcomes)
      EXPECT_EQ(other.result.committed, expected.result.committed) << what;
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(OverRanks, CommitsTheSame) {
  for (std::uint64_t seed = 1; seed <= (kSanitizers ? 2 : 4) && !HasFailure(); ++seed)
    expect_equal_over_ranks(some(seed), seed);
}

TEST(OverRanks, ReallySendsAbroad) {
  DelayModelOptions chosen = some(4);
  chosen.promise = Promise::by_edge;
  const auto outcomes =
      run_ranks([&] { return std::make_unique<DelayModel>(chosen); }, "conservative",
                RankShape{2, 1}.options(1), 2, {.seed = 1, .delays = true});
  EXPECT_GT(statistic(outcomes[0].result, "messages"), 50);
  EXPECT_EQ(outcomes[0].result.ranks, 2u);
}

TEST(OverRanks, FaultsAreToldAsOne) {
  for (std::uint64_t seed = 1; seed <= (kSanitizers ? 2 : 8) && !HasFailure(); ++seed) {
    DelayModelOptions chosen = some(seed);
    chosen.fault_at_event = static_cast<std::int64_t>(5 + 3 * seed % 10);
    ASSERT_EQ(alone(chosen, seed).result.end, RunEnd::fault) << seed;
    expect_equal_over_ranks(chosen, seed);
  }
}

TEST(OverRanks, BreachesAreToldAsOne) {
  for (std::uint64_t seed = 1; seed <= (kSanitizers ? 2 : 6) && !HasFailure(); ++seed) {
    DelayModelOptions chosen = some(seed);
    chosen.durations = false;
    chosen.promise = seed % 2 == 0 ? Promise::by_edge : Promise::for_all;
    chosen.breach_at_event = static_cast<std::int64_t>(5 + seed);
    ASSERT_EQ(alone(chosen, seed).result.end, RunEnd::fault) << seed;
    expect_equal_over_ranks(chosen, seed);
  }
}

TEST(OverRanks, MoreRanksThanLps) {
  for (const LpId lps : {1u, 2u, 3u}) {
    DelayModelOptions chosen = some(1);
    chosen.lps = lps;
    chosen.promise = Promise::for_all;
    const auto outcomes =
        run_ranks([&] { return std::make_unique<DelayModel>(chosen); }, "conservative",
                  RankShape{5, 1}.options(1), 5, {.seed = lps, .delays = true});
    expect_same(alone(chosen, 1), outcomes[0], std::to_string(lps) + " LPs on 5 ranks");
  }
}

/// A model of LPs in a row that pass a token on, and one of which does not come to be.
class Row final : public Model {
 public:
  enum class Fails : std::uint8_t { nothing, making, starting, finishing, input };
  Row(Fails fails, LpId where) : fails_(fails), where_(where) {}

  std::uint64_t lp_count() const override { return 12; }
  Duration lookahead() const override { return Duration::from_ticks(10); }
  Time default_horizon() const override { return Time::from_ticks(150); }
  std::unique_ptr<LogicalProcessBase> create(LpId id) const override {
    if (fails_ == Fails::input && id >= where_)
      throw UsageError("line " + std::to_string(id) + ": a number is expected");
    if (fails(Fails::making, id)) throw std::runtime_error("it was not made");
    return std::make_unique<Place>(*this);
  }
  /// From the LP `where_` on, so that several ranks have one and the lowest is told.
  bool fails(Fails what, LpId id) const { return fails_ == what && id >= where_; }

 private:
  struct Token {
    std::uint64_t steps;
  };
  class Place final : public LogicalProcess<Place, Token> {
   public:
    explicit Place(const Row& row) : row_(row) {}
    void start(Context& context) override {
      if (row_.fails(Fails::starting, context.self())) throw std::runtime_error("it did not start");
      context.schedule(context.self(), Duration::from_ticks(1), Token{0});
    }
    void finish(FinalContext& context) override {
      if (row_.fails(Fails::finishing, context.self()))
        throw std::runtime_error("it did not end well");
      context.state(seen_);
    }
    void handle(Context& context, const Token& token) {
      ++seen_;
      context.schedule((context.self() + 1) % 12, Duration::from_ticks(10), Token{token.steps + 1});
    }

   private:
    const Row& row_;
    std::uint64_t seen_ = 0;
  };

  const Fails fails_;
  const LpId where_;
};

TEST(OverRanks, WhatFailsBeforeAndAfterIsToldAsOne) {
  for (const Row::Fails fails :
       {Row::Fails::nothing, Row::Fails::making, Row::Fails::starting, Row::Fails::finishing}) {
    for (const LpId where : {0u, 5u, 11u}) {
      const Outcome expected = run_model(Row(fails, where), "sequential", seeded(1));
      const auto outcomes =
          run_ranks([&] { return std::make_unique<Row>(fails, where); }, "conservative",
                    RankShape{3, 1}.options(1), 3, {.seed = where, .delays = true});
      expect_same(expected, outcomes[0],
                  "what fails: " + std::to_string(static_cast<int>(fails)) + ", from LP " +
                      std::to_string(where));
    }
  }
}

TEST(OverRanks, StopsAtACommonKey) {
  DelayModelOptions chosen = some(2);
  chosen.horizon = Duration::from_ticks(1'000'000'000);
  for (const RankShape& shape : {RankShape{2, 1}, RankShape{3, 2}})
    expect_common_stop([&] { return std::make_unique<DelayModel>(chosen); }, "conservative",
                       shape.options(2), shape.ranks, Time::from_ticks(2'000));
}

/// The world goes from engine to engine on all ranks at the same keys.
TEST(OverRanks, ChangesHands) {
  double handed_over = 0;
  for (std::uint64_t seed = 1; seed <= (kSanitizers ? 2 : 6) && !HasFailure(); ++seed) {
    DelayModelOptions chosen = some(seed);
    if (seed % 3 == 0) chosen.fault_at_event = 30;
    const RankShape shape = shapes()[seed % 5];
    RunOptions options = shape.options(seed);
    options.set(automatic::kHandOverEvery, 40 * seed);
    const auto outcomes =
        run_ranks([&] { return std::make_unique<DelayModel>(chosen); }, "auto", options,
                  shape.ranks, {.seed = seed, .delays = shape.adversary}, shape.credit_bytes);
    expect_same(alone(chosen, seed), outcomes[0],
                "seed " + std::to_string(seed) + ", " + shape.text());
    handed_over += statistic(outcomes[0].result, "hand_overs");
  }
  EXPECT_GT(handed_over, kSanitizers ? 0 : 2);  // a slow machine has time for fewer
}

/// By what rank 0 measures; there is no telling what it prefers, only that all follow.
TEST(OverRanks, FollowsRankZero) {
  DelayModelOptions chosen = some(4);
  chosen.horizon = Duration::from_ticks(kSanitizers ? 1'000 : 20'000);
  const RankShape shape{2, 2, false};
  RunOptions options = shape.options(4);
  options.set(automatic::kCandidates, "conservative,timewarp:1,timewarp:2");
  const auto outcomes = run_ranks([&] { return std::make_unique<DelayModel>(chosen); }, "auto",
                                  options, shape.ranks, {});
  expect_same(alone(chosen, 4), outcomes[0], shape.text());
  EXPECT_FALSE(outcomes[0].result.account.empty());
}

TEST(OverRanks, AutoIsLeftWithEnginesThatSpanRanks) {
  RunOptions options = RankShape{2, 1}.options(1);
  options.set(automatic::kCandidates, "sequential");
  options.place = {0, 2, 2, 0};
  const DelayModel model(some(1));
  RunControl control;
  try {
    find_engine("auto").make()->run(model, options, control);
    ADD_FAILURE() << "it was not refused";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("it runs in one process"), std::string::npos)
        << error.what();
  }
}

TEST(OverRanks, EnginesSayWhetherTheySpanRanks) {
  EXPECT_TRUE(find_engine("conservative").make()->spans_ranks());
  EXPECT_TRUE(find_engine("timewarp").make()->spans_ranks());
  EXPECT_TRUE(find_engine("auto").make()->spans_ranks());
  EXPECT_FALSE(find_engine("sequential").make()->spans_ranks());
}

}  // namespace
}  // namespace orrery::testing
