// SPDX-License-Identifier: Apache-2.0
//
// The conservative engine commits what the sequential one does, whatever a model promises and
// however workers, parts of the LPs, windows and halts interleave. Time Warp and the expanded
// engine run the same models: promises are no business of theirs, but breaches are.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/model_stack.h"
#include "disturb.h"
#include "equality/delay_model.h"
#include "equality/stopping_rows.h"
#include "run/containment/crash_guard.h"
#include "run/engine_cases.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

using Promise = DelayModelOptions::Promise;

struct Shape {
  unsigned workers;
  std::uint64_t part_lps = 0, step_events = 0;  ///< 0: as usual

  std::string text() const {
    return std::to_string(workers) + " workers, parts of " + std::to_string(part_lps) +
           ", steps of " + std::to_string(step_events);
  }
  RunOptions options(std::uint64_t seed) const {
    RunOptions options;
    options.seed = seed;
    options.workers = workers;
    options.bind = false;
    options.set(threads_option(), workers);
    Disturbed& disturbed = disturb(options);
    disturbed.lps_of_part = part_lps;
    disturbed.events_of_step = step_events;
    return options;
  }
};

std::vector<Shape> shapes() {
  return {{1}, {2}, {2, 1}, {2, 0, 1}, {3, 2, 1}, {3, 5, 200}, {4, 4, 3}, {4, 1}, {7, 3, 2}};
}

constexpr Promise kPromises[] = {Promise::for_all, Promise::by_edge, Promise::clusters,
                                 Promise::mixed};

RunOptions seeded(std::uint64_t seed) {
  RunOptions options;
  options.seed = seed;
  return options;
}

DelayModelOptions some(std::uint64_t seed) {
  return {.shape = seed,
          .lps = static_cast<LpId>(10 + seed * 37 % 90),
          .promise = kPromises[seed % 4],
          .grain_ticks = seed % 3 == 0 ? 1 : 5,
          .horizon = Duration::from_ticks(kSanitizers ? 600 : 3'000),
          .durations = seed % 5 == 0,
          .phases = seed % 3 == 1};
}

/// Where everything is slow, every third shape in turn.
void expect_equal_on_all(const Model& model, std::uint64_t seed) {
  const Outcome expected = run_model(model, "sequential", seeded(seed));
  const std::vector<Shape> all = shapes();
  for (std::size_t i = kSanitizers ? seed % 3 : 0; i < all.size(); i += kSanitizers ? 3 : 1) {
    const Outcome actual = run_model(model, "conservative", all[i].options(seed));
    expect_same(expected, actual, "seed " + std::to_string(seed) + ", " + all[i].text());
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Conservative, CommitsTheSame) {
  for (std::uint64_t seed = 1; seed <= (kSanitizers ? 12 : 24) && !HasFailure(); ++seed) {
    const DelayModel model(some(seed));
    const Outcome expected = run_model(model, "sequential", seeded(seed));
    ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
    ASSERT_GT(expected.result.committed, 500u);
    expect_equal_on_all(model, seed);
  }
}

TEST(Conservative, ReallyRunsInParallel) {
  DelayModelOptions chosen = some(4);
  chosen.promise = Promise::by_edge;
  const DelayModel model(chosen);
  const Outcome actual = run_model(model, "conservative", Shape{3}.options(1));
  EXPECT_EQ(actual.result.workers, 3u);
  EXPECT_GT(statistic(actual.result, "messages"), 100);
  EXPECT_GT(statistic(actual.result, "windows"), 100);
}

TEST(Conservative, FaultsInMidWindow) {
  for (std::uint64_t seed = 1; seed <= 12 && !HasFailure(); ++seed) {
    DelayModelOptions chosen = some(seed);
    chosen.fault_at_event = static_cast<std::int64_t>(10 + 7 * seed % 40);
    const DelayModel model(chosen);
    EXPECT_EQ(run_model(model, "sequential", seeded(seed)).result.end, RunEnd::fault) << seed;
    expect_equal_on_all(model, seed);
  }
}

/// On heaps and in ordinary memory; where nothing is dropped it would end this process.
TEST(Conservative, CrashesInMidWindow) {
  if (!ORRERY_MODEL_STACKS) GTEST_SKIP() << "a crash ends the process here";
  const CrashGuard guard;
  for (std::uint64_t seed = 1; seed <= 6 && !HasFailure(); ++seed) {
    DelayModelOptions chosen = some(seed);
    chosen.fault_at_event = static_cast<std::int64_t>(10 + 7 * seed % 40);
    chosen.fault_is_crash = true;
    const DelayModel model(chosen);
    const Outcome expected = run_model(model, "sequential", seeded(seed));
    EXPECT_EQ(expected.result.end, RunEnd::fault) << seed;
    EXPECT_NE(expected.result.fault.find("a crash (SIGSEGV, "), std::string::npos)
        << expected.result.fault;
    expect_equal_on_all(model, seed);
    for (const EngineCase& engine : all_engines())
      expect_same(expected, run_model(model, engine.engine, engine.options(seeded(seed))),
                  engine.text());
  }
}

/// A violation by one tick gives one sentence everywhere.
TEST(Conservative, BreachesOfPromises) {
  for (std::uint64_t seed = 1; seed <= 8 && !HasFailure(); ++seed) {
    DelayModelOptions chosen = some(seed);
    chosen.durations = false;
    chosen.promise = seed % 2 == 0 ? Promise::by_edge : Promise::for_all;
    chosen.breach_at_event = static_cast<std::int64_t>(5 + seed);
    const DelayModel model(chosen);
    const Outcome expected = run_model(model, "sequential", seeded(seed));
    EXPECT_EQ(expected.result.end, RunEnd::fault) << seed;
    expect_equal_on_all(model, seed);
    for (const EngineCase& engine : all_engines())
      expect_same(expected, run_model(model, engine.engine, engine.options(seeded(seed))),
                  engine.text());
  }
}

TEST(Conservative, StopsAtACommonKey) {
  DelayModelOptions chosen = some(2);
  chosen.horizon = Duration::from_ticks(1'000'000'000);
  const DelayModel model(chosen);
  for (const Shape& shape : shapes()) {
    RunControl control;
    StoppingRows rows(control, StoppingRows::after(Time::from_ticks(2'000)));
    RunOptions options = shape.options(2);
    options.until = model.default_horizon();
    const RunResult stopped = find_engine("conservative").make()->run(model, options, control);
    EXPECT_EQ(stopped.end, RunEnd::interrupted) << shape.text();
    EXPECT_GT(stopped.committed, 0u) << shape.text();
    // Everything before a key is committed and nothing else: so many events come before its time.
    RunOptions again = seeded(2);
    again.until = stopped.reached;
    const Outcome before = run_model(model, "sequential", again);
    EXPECT_GE(stopped.committed, before.result.committed) << shape.text();
    again.until = stopped.reached + Duration::from_ticks(1);
    EXPECT_LE(stopped.committed, run_model(model, "sequential", again).result.committed)
        << shape.text();
  }
}

/// All LPs may reach each other at once: it says so, and who can run that.
TEST(Conservative, RefusesOneCluster) {
  ScriptModel model(10);
  script_walks(model);
  const auto engine = find_engine("conservative").make();
  RunOptions options = Shape{2}.options(1);
  const std::string sentence = engine->refusal(model, options);
  EXPECT_NE(sentence.find("no smallest delay"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("timewarp"), std::string::npos) << sentence;
  options.workers = 1;
  EXPECT_EQ(engine->refusal(model, options), "");
  for (const Promise promise : kPromises) {
    DelayModelOptions chosen = some(3);
    chosen.promise = promise;
    EXPECT_EQ(engine->refusal(DelayModel(chosen), Shape{2}.options(1)), "");
  }
}

}  // namespace
}  // namespace orrery::testing
