// SPDX-License-Identifier: Apache-2.0
//
// One world that changes hands between engines while it runs commits what any of them commits
// alone: all pairs of engines, every so many events.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "equality/delay_model.h"
#include "equality/random_model.h"
#include "equality/relay.h"
#include "equality/stopping_rows.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

std::vector<EngineCase> takers() {
  return {{"sequential", 1},
          {"expanded", 1},
          {"expanded", 3, "batched"},
          {"expanded", 4, "batched"},
          {"conservative", 3, "auto", 3},
          {"timewarp", 1},
          {"timewarp", 2},
          {"timewarp", 3, "auto", 2},
          {"timewarp", 4, "auto", 2}};
}

/// Runs the model in turns of all pairs and compares with the sequential engine alone. Where
/// everything is slow, every third pair, beginning with number `phase`.
void expect_equal_in_turns(const Model& model, const RunOptions& options,
                           const std::vector<std::uint64_t>& events, unsigned phase = 0) {
  constexpr unsigned kStride = kSanitizers ? 3 : 1;
  const Outcome expected = run_model(model, "sequential", options);
  std::uint64_t runs = 0, handed_over = 0;
  for (const EngineCase& first : takers())
    for (const EngineCase& second : takers())
      for (const std::uint64_t n : events) {
        if (phase++ % kStride != 0) continue;
        Relay relay({{first, n}, {second, n}});
        const Outcome actual = run_relay(model, relay, options);
        expect_same(expected, actual,
                    first.text() + " and " + second.text() + " in turns, every " +
                        std::to_string(n) + " events");
        if (::testing::Test::HasFailure()) return;
        ++runs;
        handed_over += relay.handed_over;
      }
  // In a single run there may be none, where an engine commits nearly all of it before its first
  // cut.
  EXPECT_GE(handed_over, runs);
}

constexpr Duration kDelayHorizon = Duration::from_ticks(kSanitizers ? 300 : 1'000);
constexpr std::int64_t kHorizonTicks = kSanitizers ? 300 : 1'000;

TEST(HandOver, RandomModels) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    RandomModel model({.shape = seed,
                       .lps = static_cast<LpId>(20 + seed * 37 % 120),
                       .grain_ticks = seed % 2 == 0 ? 1 : 10,
                       .horizon = Duration::from_ticks(kHorizonTicks),
                       .durations = seed == 2,
                       .phases = seed == 1});
    RunOptions options;
    options.seed = seed;
    expect_equal_in_turns(model, options, {seed == 1 ? 100u : 1'000u}, seed);
    if (HasFailure()) return;
  }
}

/// Where delays are promised the conservative engine executes on all workers.
TEST(HandOver, OfModelsThatPromiseDelays) {
  for (const auto promise :
       {DelayModelOptions::Promise::by_edge, DelayModelOptions::Promise::clusters}) {
    DelayModel model({.shape = 6, .lps = 45, .promise = promise, .horizon = kDelayHorizon});
    expect_equal_in_turns(model, {}, {200}, static_cast<unsigned>(promise));
    if (HasFailure()) return;
  }
}

TEST(HandOver, AfterEveryFewEvents) {
  RandomModel model(
      {.shape = 5, .lps = 12, .horizon = Duration::from_ticks(60), .durations = true});
  expect_equal_in_turns(model, {}, {1, 7});
}

/// An engine that may go on after its time commits nothing else, and tells what it has committed.
TEST(HandOver, OfWorldsThatMayBeKept) {
  RandomModel model({.shape = 4,
                     .lps = 90,
                     .horizon = Duration::from_ticks(4 * kHorizonTicks),
                     .durations = true});
  const Outcome expected = run_model(model, "sequential", {});
  for (const EngineCase& engine : takers()) {
    Relay relay({{engine, 0, 3}});
    expect_same(expected, run_relay(model, relay, {}), engine.text());
    EXPECT_GT(relay.keeper.granted, 0) << engine.text();
  }
}

/// At a time, all engines leave the same: nothing before it, everything after it.
TEST(HandOver, AtTimes) {
  RandomModel random(
      {.shape = 3, .lps = 40, .horizon = Duration::from_ticks(kHorizonTicks), .durations = true});
  DelayModel delays({.shape = 6,
                     .lps = 45,
                     .promise = DelayModelOptions::Promise::by_edge,
                     .horizon = kDelayHorizon});
  for (const Model* model :
       {static_cast<const Model*>(&random), static_cast<const Model*>(&delays)}) {
    const Outcome expected = run_model(*model, "sequential", {});
    std::vector<std::uint64_t> halts;
    for (const EngineCase& first : takers()) {
      Relay relay({{first, 0, 0, 70}, {{"sequential", 1}, 0, 0, 70}});
      expect_same(expected, run_relay(*model, relay, {}), first.text() + " to times");
      halts.push_back(relay.handed_over);
    }
    EXPECT_GE(halts.front(), 3U);
    for (const std::uint64_t one : halts) EXPECT_EQ(one, halts.front());
  }
}

/// A flag that is set asks for a pause, as soon as there can be one.
TEST(HandOver, WhenAsked) {
  RandomModel model({.shape = 7, .lps = 60, .horizon = Duration::from_ticks(4 * kHorizonTicks)});
  const Outcome expected = run_model(model, "sequential", {});
  for (const EngineCase& engine : takers()) {
    Relay relay({{.engine = engine, .events = 0, .asks = true}});
    expect_same(expected, run_relay(model, relay, {}), engine.text() + ", asked to pause");
    EXPECT_GE(relay.handed_over, 2U) << engine.text();
  }
}

TEST(HandOver, BeforeAFault) {
  RandomModel model({.shape = 2, .horizon = Duration::from_ticks(50'000), .fault_at_event = 40});
  expect_equal_in_turns(model, {}, {50}, 1);
}

void set(Model& model, const std::vector<std::pair<std::string, std::string>>& parameters) {
  for (const auto& [name, value] : parameters) set_parameter(model, name, value);
  model.prepare();
}

TEST(HandOver, OfLargeLpsWithReverseHandlers) {
  auto model = make_model("phold");
  set(*model, {{"lps", "40"}, {"state", "20000"}, {"touched", "500"}, {"remote", "0.9"}});
  RunOptions options;
  options.until = Time::zero() + Duration::seconds(kSanitizers ? 4 : 12);
  expect_equal_in_turns(*model, options, {60}, 2);
}

TEST(HandOver, OfLpsThatAllocate) {
  auto model = make_model("wireless");
  set(*model, {});
  RunOptions options;
  options.until = Time::zero() + Duration::milliseconds(20);
  expect_equal_in_turns(*model, options, {500});
}

/// A request to stop ends whatever engine has the world.
TEST(HandOver, ObeysARequestToStop) {
  RandomModel model({.shape = 8, .lps = 60, .horizon = Duration::from_ticks(1'000'000'000)});
  Relay relay({{{"timewarp", 3, "auto", 2}, 200}, {{"sequential", 1}, 200}});
  RunControl control;
  std::atomic<int> calls{0};
  StoppingRows rows(control, [&calls](unsigned, const Key&) { return ++calls == 500; });
  RunOptions options;
  options.until = model.default_horizon();
  const RunResult result = relay.run(model, options, control);
  EXPECT_EQ(result.end, RunEnd::interrupted);
  EXPECT_GT(relay.handed_over, 2u);
  EXPECT_GT(result.committed, 0u);
}

}  // namespace
}  // namespace orrery::testing
