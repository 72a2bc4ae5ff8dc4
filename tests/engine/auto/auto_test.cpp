// SPDX-License-Identifier: Apache-2.0
//
// The engine that chooses engines: what it may choose, what it says, and that nobody can see in the
// results that it did. Its policy is tested in policy_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/auto/candidates.h"
#include "engine/auto/settings.h"
#include "engine/timewarp/settings.h"
#include "equality/random_model.h"
#include "orrery/error.h"
#include "run/engine_cases.h"
#include "run/world/population.h"
#include "run/world/world_engine.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

/// Runs no model of more than three LPs.
class ReluctantEngine final : public WorldEngine {
 public:
  static inline int advanced = 0;

  std::string refusal(const Model& model, const RunOptions&) const override {
    return model.lp_count() > 3 ? "it has more than three LPs" : "";
  }
  World::Layout layout(const Model&, const CommunicationGraph&, const RunOptions&,
                       std::vector<std::string>&) const override {
    return {};
  }
  void advance(World& world, const RunOptions& options, const Goal& goal, RunControl& control,
               RunResult& result) override {
    ++advanced;
    auto engine = find_engine("sequential").make();
    dynamic_cast<WorldEngine&>(*engine).advance(world, options, goal, control, result);
  }
};

const EngineRegistration reluctant{
    "reluctant", "runs small models only",
    []() -> std::unique_ptr<Engine> { return std::make_unique<ReluctantEngine>(); },
    [] { return OptionList(); }, EngineUse::results};

RunOptions in_turns(std::uint64_t events, const std::string& candidates = "",
                    unsigned workers = 3) {
  RunOptions options;
  options.workers = workers;
  options.bind = false;
  options.set(automatic::kHandOverEvery, events);
  options.set(automatic::kCandidates, candidates);
  options.set(threads_option(), 2);
  return options;
}

RandomModel some_model() {
  return RandomModel({.shape = 3,
                      .lps = 40,
                      .horizon = Duration::from_ticks(kSanitizers ? 1'500 : 4'000),
                      .durations = true});
}

TEST(Auto, HandsOverAndCommitsTheSame) {
  const RandomModel model = some_model();
  const Outcome expected = run_model(model, "sequential", {});
  for (const std::uint64_t events : {7u, 50u, 200u}) {
    const Outcome actual =
        run_model(model, "auto", in_turns(events, "sequential,expanded:3,timewarp:3,timewarp:2"));
    expect_same(expected, actual, std::to_string(events));
    // Time Warp pauses at its next cut, by when it may have committed many more.
    EXPECT_GT(statistic(actual.result, "hand_overs"), 0) << events;
    EXPECT_NE(actual.result.account.find("--hand-over-every"), std::string::npos);
  }
}

TEST(Auto, IsThroughWhereASliceEndsWithTheRun) {
  const RandomModel model = some_model();
  const Outcome expected = run_model(model, "sequential", {});
  const std::uint64_t all = expected.result.committed;
  for (const char* first :
       {"sequential,expanded:1", "expanded:1,sequential", "timewarp:1,sequential"})
    for (const std::uint64_t events : {all, (all + 1) / 2, (all + 2) / 3})
      expect_same(expected, run_model(model, "auto", in_turns(events, first)), first);
}

TEST(Auto, TellsItsPeriods) {
  const RandomModel model = some_model();
  const Outcome outcome = run_model(model, "auto", in_turns(50));
  const std::vector<EnginePeriod>& periods = outcome.result.periods;
  ASSERT_GT(periods.size(), 3u);
  std::uint64_t committed = 0;
  double begin = 0;
  for (const EnginePeriod& period : periods) {
    EXPECT_NEAR(period.begin_seconds, begin, 1e-9);
    EXPECT_GE(period.seconds, period.loop_seconds);
    EXPECT_EQ(period.why, "forced");
    begin += period.seconds;
    committed += period.committed;
  }
  EXPECT_EQ(committed, outcome.result.committed);
  EXPECT_LE(outcome.result.loop_seconds, begin);
  EXPECT_GT(statistic(outcome.result, "timewarp.checkpoints"), 0);
}

/// Statistics that count are summed over all the periods of their engine.
TEST(Auto, AddsUpWhatEnginesCount) {
  const RandomModel model = some_model();
  const Outcome alone = run_model(model, "auto", in_turns(1'000'000, "timewarp:3"));
  const Outcome turns = run_model(model, "auto", in_turns(50, "timewarp:3"));
  expect_same(alone, turns, "in turns with itself");
  EXPECT_EQ(statistic(turns.result, "hand_overs"), 0);
  const std::uint64_t slices = turns.result.periods.at(0).slices;
  EXPECT_GE(slices, 2u);
  EXPECT_GE(statistic(turns.result, "timewarp.gvt_rounds"), slices) << "one for each cut, at least";
}

TEST(Auto, DoesNotTryWhatRefuses) {
  ReluctantEngine::advanced = 0;
  const RandomModel model = some_model();
  const Outcome outcome = run_model(model, "auto", in_turns(10));
  EXPECT_EQ(ReluctantEngine::advanced, 0);
  EXPECT_EQ(std::count(outcome.result.notes.begin(), outcome.result.notes.end(),
                       "engine reluctant is not tried: it has more than three LPs"),
            0)
      << "who has not named it";
  const Outcome named = run_model(model, "auto", in_turns(10, "sequential,reluctant,timewarp:3"));
  EXPECT_EQ(std::count(named.result.notes.begin(), named.result.notes.end(),
                       "engine reluctant is not tried: it has more than three LPs"),
            1);
  EXPECT_EQ(ReluctantEngine::advanced, 0);
  const RandomModel small({.shape = 3, .lps = 3, .horizon = Duration::from_ticks(500)});
  run_model(small, "auto", in_turns(10));
  EXPECT_GT(ReluctantEngine::advanced, 0);
}

TEST(Auto, SaysIfNothingIsLeft) {
  const RandomModel model = some_model();
  try {
    run_model(model, "auto", in_turns(10, "reluctant"));
    FAIL() << "it ran";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("it has more than three LPs"), std::string::npos)
        << error.what();
  }
}

TEST(Auto, RefusesWrongCandidates) {
  for (const char* wrong : {"sequentail", "checker", "auto", "timewarp:0", "timewarp:2000",
                            "timewarp:two", "sequential:2", "sequential,", ",", "timewarp:"}) {
    RunOptions options;
    EXPECT_THROW(options.set(automatic::kCandidates, wrong), UsageError) << wrong;
  }
  for (const char* right : {"sequential", "sequential:1", "timewarp:7,expanded"}) {
    RunOptions options;
    EXPECT_NO_THROW(options.set(automatic::kCandidates, right)) << right;
  }
}

TEST(Auto, SaysOnceWhatOnlySomeEnginesUse) {
  const RandomModel model = some_model();
  RunOptions options = in_turns(50);
  options.set(timewarp::kWindow, 1000);
  const Outcome outcome = run_model(model, "auto", options);
  const auto told = std::count_if(
      outcome.result.notes.begin(), outcome.result.notes.end(), [](const std::string& note) {
        return note.find("only engine timewarp uses --threads and --window") != std::string::npos;
      });
  EXPECT_EQ(told, 1);
}

TEST(Auto, AFaultIsTheSame) {
  const RandomModel model(
      {.shape = 2, .horizon = Duration::from_ticks(50'000), .fault_at_event = 40});
  const Outcome expected = run_model(model, "sequential", {});
  ASSERT_EQ(expected.result.end, RunEnd::fault);
  for (const std::uint64_t events : {1u, 13u, 100u})
    expect_same(expected, run_model(model, "auto", in_turns(events)), std::to_string(events));
}

/// With one worker there is nothing to choose, and LPs lie in ordinary memory.
TEST(Auto, WithOneWorkerRunsSequentially) {
  const RandomModel model = some_model();
  RunOptions options;
  options.workers = 1;
  const Outcome outcome = run_model(model, "auto", options);
  for (const EnginePeriod& period : outcome.result.periods) EXPECT_EQ(period.workers, 1u);
  expect_same(run_model(model, "sequential", {}), outcome, "one worker");
}

struct Grow {};
/// Has more state with every event.
class GrowingModel final : public Model {
 public:
  std::uint64_t lp_count() const override { return 4; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    struct Growing final : LogicalProcess<Growing, Grow> {
      void start(Context& context) override { handle(context, {}); }
      void handle(Context& context, const Grow&) {
        pieces.emplace_back(16 << 10);
        context.schedule((context.self() + 1) % context.lp_count(), Duration::from_ticks(7),
                         Grow{});
      }
      void finish(FinalContext& context) override { context.state(pieces.size()); }
      std::vector<std::vector<char>> pieces;
    };
    return std::make_unique<Growing>();
  }
  Time default_horizon() const override { return Time::from_ticks(500); }
};

/// What Time Warp refuses at the start of a run it takes in the middle of one: a run does not end
/// because another engine was to go on with it.
TEST(Auto, AStateThatOutgrowsTheBudgetIsHandedOver) {
  const GrowingModel model;
  RunOptions options = in_turns(20, "sequential,timewarp:2");
  options.memory_bytes = 1 << 20;
  const Outcome outcome = run_model(model, "auto", options);
  expect_same(run_model(model, "sequential", {}), outcome, "in turns");
  EXPECT_GT(statistic(outcome.result, "hand_overs"), 0);
}

/// An engine that is asked to pause hands that on to those that it chose.
TEST(Auto, PausesItself) {
  const RandomModel model = some_model();
  auto engine = find_engine("auto").make();
  auto& chooser = dynamic_cast<WorldEngine&>(*engine);
  RunOptions options = in_turns(30);
  options.until = model.default_horizon();
  std::vector<std::string> notes;
  World world(model, chooser.layout(model, {}, options, notes), {}, options.livelock_microsteps);
  RunControl control;
  RunResult result;
  ASSERT_TRUE(populate(world, options, control, result));
  chooser.advance(world, options, Goal{.events = 100}, control, result);
  EXPECT_EQ(result.end, RunEnd::paused);
  EXPECT_GE(world.committed, 100u);
  EXPECT_EQ(control.engine.load(), nullptr);
}

}  // namespace
}  // namespace orrery::testing
