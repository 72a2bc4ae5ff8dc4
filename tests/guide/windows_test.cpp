// SPDX-License-Identifier: Apache-2.0
//
// The example of docs/guide-engines.md (windows.cpp) commits what the sequential engine does: on
// threads and ranks, with faults, stops, pauses, and in turns with other engines.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/model_registry.h"
#include "core/model_stack.h"
#include "equality/delay_model.h"
#include "equality/random_model.h"
#include "equality/relay.h"
#include "equality/run_ranks.h"
#include "equality/stopping_rows.h"
#include "run/containment/crash_guard.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

using Promise = DelayModelOptions::Promise;

constexpr Promise kPromises[] = {Promise::for_all, Promise::by_edge, Promise::clusters,
                                 Promise::mixed};
constexpr std::uint64_t kSeeds = kSanitizers ? 4 : 8;

EngineCase on(unsigned workers) {
  return {"windows", workers, "auto", workers};
}

DelayModelOptions some(std::uint64_t seed) {
  return {.shape = seed,
          .lps = static_cast<LpId>(10 + seed * 37 % 90),
          .promise = kPromises[seed % 4],
          .grain_ticks = seed % 3 == 0 ? 1 : 5,
          .horizon = Duration::from_ticks(kSanitizers ? 200 : 600),
          .durations = seed % 5 == 0};
}

RunOptions seeded(std::uint64_t seed) {
  RunOptions options;
  options.seed = seed;
  return options;
}

void expect_equal(const Model& model, const RunOptions& options, const Outcome& expected) {
  for (const unsigned workers : {1u, 2u, 3u, 5u})
    expect_same(expected, run_model(model, "windows", on(workers).options(options)),
                "seed " + std::to_string(options.seed) + ", " + on(workers).text());
}

TEST(Windows, EqualTheSequentialEngine) {
  for (std::uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    const DelayModel model(some(seed));
    expect_equal(model, seeded(seed), run_model(model, "sequential", seeded(seed)));
  }
}

/// One worker has all LPs of a model that promises nothing.
TEST(Windows, EqualWithoutPromises) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const RandomModel model({.shape = seed,
                             .lps = static_cast<LpId>(5 + 11 * seed),
                             .horizon = Duration::from_ticks(kSanitizers ? 500 : 2'000),
                             .durations = seed == 1});
    expect_equal(model, seeded(seed), run_model(model, "sequential", seeded(seed)));
  }
}

TEST(Windows, EqualOnModelsThatShip) {
  for (const char* name : {"phold", "traffic", "pcs", "epidemic"}) {
    const auto model = make_model(name);
    model->prepare();
    RunOptions options = seeded(3);
    options.until = Time::from_ticks(model->default_horizon().ticks() / (kSanitizers ? 500 : 50));
    const Outcome expected = run_model(*model, "sequential", options);
    expect_same(expected, run_model(*model, "windows", on(3).options(options)), name);
  }
}

TEST(Windows, ReallySendBetweenWorkers) {
  const DelayModel model(some(5));
  const RunResult result = run_model(model, "windows", on(3).options(seeded(5))).result;
  EXPECT_GT(statistic(result, "messages"), 20);
  EXPECT_GT(statistic(result, "windows"), 10);
  EXPECT_EQ(result.workers, 3u);
}

/// The lowest key counts if several events fail, a broken promise and a crash included.
TEST(Windows, FailWhereTheSequentialEngineFails) {
  const CrashGuard guard;
  for (std::uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    DelayModelOptions chosen = some(seed);
    chosen.fault_at_event = static_cast<std::int64_t>(10 + 7 * seed % 40);
    chosen.fault_is_crash = seed % 4 == 1 && ORRERY_MODEL_STACKS;  // else it would end the process
    if (seed % 4 == 2) {
      chosen.fault_at_event = -1;
      chosen.durations = false;
      chosen.breach_at_event = static_cast<std::int64_t>(5 + seed);
    }
    const DelayModel model(chosen);
    const Outcome expected = run_model(model, "sequential", seeded(seed));
    ASSERT_EQ(expected.result.end, RunEnd::fault);
    expect_equal(model, seeded(seed), expected);
  }
}

/// LPs that act on the outside do so once, in order, and not behind a fault.
TEST(Windows, ActOnTheOutsideAsTheSequentialEngineDoes) {
  for (std::uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    DelayModelOptions chosen = some(seed);
    if (seed % 2 == 0) chosen.fault_at_event = static_cast<std::int64_t>(10 + 7 * seed % 40);
    const Witnessed<DelayModel> model(chosen);
    const Outcome expected = run_model(model, "sequential", seeded(seed));
    const Witness::Seen seen = model.outside.take();
    EXPECT_GT(seen.pipe.size(), 10u);
    const Outcome actual = run_model(model, "windows", on(3).options(seeded(seed)));
    expect_same(expected, actual, "seed " + std::to_string(seed));
    EXPECT_TRUE(model.outside.take().pipe == seen.pipe) << seed;
  }
}

/// Each window costs messages between ranks, so these runs have few.
DelayModelOptions some_over_ranks(std::uint64_t seed) {
  DelayModelOptions chosen = some(seed);
  chosen.grain_ticks = 5;
  chosen.horizon = Duration::from_ticks(150);
  return chosen;
}

struct RankShape {
  unsigned ranks, workers;
  bool delayed;
  std::size_t credit_bytes;
};
constexpr RankShape kShapes[] = {
    {2, 1, true, 64 << 10}, {2, 2, false, 64 << 10}, {3, 2, true, 2048}, {3, 1, true, 512}};

void expect_equal_over_ranks(const DelayModelOptions& chosen, std::uint64_t seed) {
  const Outcome expected = run_model(DelayModel(chosen), "sequential", seeded(seed));
  const RankShape& shape = kShapes[seed % std::size(kShapes)];
  const std::vector<Outcome> outcomes =
      run_ranks([&] { return std::make_unique<DelayModel>(chosen); }, "windows",
                on(shape.workers).options(seeded(seed)), shape.ranks,
                {.seed = seed, .delays = shape.delayed}, shape.credit_bytes);
  const std::string what = "seed " + std::to_string(seed);
  expect_same(expected, outcomes[0], what);
  for (const Outcome& other : outcomes)
    EXPECT_EQ(other.result.committed, expected.result.committed) << what;
}

TEST(Windows, EqualOverRanks) {
  for (std::uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed)
    expect_equal_over_ranks(some_over_ranks(seed), seed);
}

TEST(Windows, FailOverRanksAsInOneProcess) {
  for (std::uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    DelayModelOptions chosen = some_over_ranks(seed);
    chosen.fault_at_event = static_cast<std::int64_t>(2 + 3 * seed % 10);
    expect_equal_over_ranks(chosen, seed);
  }
}

TEST(Windows, RefuseRanksWithoutPromises) {
  RunOptions options;
  options.place = {0, 2, 1, 0};
  const RandomModel silent({});
  const DelayModel promising({.promise = Promise::for_all}), complete({});
  const auto engine = find_engine("windows").make();
  EXPECT_NE(engine->refusal(silent, options), "");
  EXPECT_EQ(engine->refusal(promising, options), "");
  EXPECT_EQ(engine->refusal(complete, options), "");
  EXPECT_EQ(engine->refusal(silent, {}), "");
}

TEST(Windows, StopOverRanksAtACommonCut) {
  DelayModelOptions chosen = some_over_ranks(1);
  chosen.horizon = Duration::from_ticks(1'000'000);
  for (const unsigned ranks : {2u, 3u})
    expect_common_stop([&] { return std::make_unique<DelayModel>(chosen); }, "windows",
                       on(2).options(seeded(1)), ranks, Time::from_ticks(100));
}

TEST(Windows, StopAtACut) {
  DelayModelOptions chosen = some(2);
  chosen.horizon = Duration::from_ticks(1'000'000);
  const DelayModel model(chosen);
  RunControl control;
  StoppingRows rows(control, StoppingRows::after(Time::from_ticks(500)));
  RunOptions options = on(3).options();
  options.until = model.default_horizon();
  const RunResult result = find_engine("windows").make()->run(model, options, control);
  EXPECT_EQ(result.end, RunEnd::interrupted);
  EXPECT_GE(result.reached, Time::from_ticks(500));
  EXPECT_GT(result.committed, 0u);
}

std::vector<EngineCase> takers() {
  return {on(3),
          {"sequential", 1},
          {"expanded", 3, "batched"},
          {"conservative", 3, "auto", 3},
          {"timewarp", 2},
          {"timewarp", 4, "auto", 2}};
}

TEST(Windows, TakeTurnsWithOtherEngines) {
  for (const Promise promise : kPromises) {
    const DelayModel model({.shape = 6,
                            .lps = 45,
                            .promise = promise,
                            .horizon = Duration::from_ticks(kSanitizers ? 200 : 600)});
    const Outcome expected = run_model(model, "sequential", {});
    for (const EngineCase& other : takers()) {
      Relay relay({{on(3), 100}, {other, 100}});
      expect_same(expected, run_relay(model, relay, {}), "in turns with " + other.text());
      EXPECT_GE(relay.handed_over, 1u) << other.text();
      if (HasFailure()) return;
    }
  }
}

/// After a few events, at times, when asked, and beyond a goal that is put off.
TEST(Windows, PauseAtEachGoal) {
  const DelayModel model({.shape = 7,
                          .lps = 45,
                          .promise = Promise::by_edge,
                          .horizon = Duration::from_ticks(kSanitizers ? 500 : 2'000)});
  const Outcome expected = run_model(model, "sequential", {});
  const Leg legs[] = {
      {on(3), 7}, {on(3), 0, 3}, {on(3), 0, 0, 70}, {.engine = on(3), .events = 0, .asks = true}};
  for (const Leg& leg : legs) {
    Relay relay({leg});
    expect_same(expected, run_relay(model, relay, {}), "a goal");
    EXPECT_GT(relay.handed_over + relay.keeper.granted, 1u);
  }
}

}  // namespace
}  // namespace orrery::testing
