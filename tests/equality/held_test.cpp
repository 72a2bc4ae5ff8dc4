// SPDX-License-Identifier: Apache-2.0
//
// LPs that must not roll back, among others that do: on every engine each of their events is
// executed once and in order, what those that act on the outside have written to a pipe is what the
// sequential engine's have, to the byte, and nothing is written at or behind a fault. Results are
// those of the same model with speculative LPs only.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "equality/delay_model.h"
#include "equality/random_model.h"
#include "equality/stopping_rows.h"
#include "equality/time_warp_shape.h"
#include "run/engine_cases.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

using HeldRandom = Witnessed<RandomModel>;
using HeldDelays = Witnessed<DelayModel>;
using Promise = DelayModelOptions::Promise;

struct Shape {
  std::string text;
  std::string engine;
  RunOptions options;
};

Shape shape_of(const EngineCase& engine) {
  return {engine.text(), engine.engine, engine.options()};
}

constexpr auto kCuts = &Disturbed::to_cut, kMoves = &Disturbed::to_move;

/// Time Warp with what makes rollbacks, waits for room, and cuts or moves (`what`) frequent.
Shape time_warp(const TimeWarpShape& shape, std::uint64_t Disturbed::*what,
                std::uint64_t gvt_period_us = 0) {
  RunOptions options = shape.apply_shape({});
  disturb(options).*what = shape.every;
  options.set(timewarp::kGvtPeriod, gvt_period_us);
  const std::string disturbance = std::string(what == kCuts ? "a cut" : "a move") + " every " +
                                  std::to_string(shape.every) + " events, a round every " +
                                  std::to_string(gvt_period_us) + " us";
  return {"timewarp, " + shape.text_with(disturbance), "timewarp", options};
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const EngineCase& engine : all_engines()) all.push_back(shape_of(engine));
  all.push_back(time_warp({1, 0, 4096, "copy"}, kCuts));
  all.push_back(time_warp({2, 0, 2}, kCuts));
  all.push_back(time_warp({2, 50}, kCuts));
  all.push_back(time_warp({3, 200, 4}, kMoves));
  all.push_back(time_warp({3, 0, 4096, "incremental"}, kCuts));
  all.push_back(time_warp({5, 300, 2}, kCuts));
  all.push_back(time_warp({2, 0}, kCuts, 2000));
  for (const char* mode : {"in-place", "single"}) all.push_back(shape_of({"expanded", 3, mode}));
  all.push_back(shape_of({"auto", 2, "single", 2, false, 100}));
  all.push_back({"checker", "checker", {}});
  return all;
}

/// A round for nearly every event takes long where threads wait for cores, or everything is slow:
/// more threads than two come with every third seed, and under sanitizers every third shape.
bool is_in_turn(std::size_t i, const Shape& shape, std::uint64_t seed) {
  if (kSanitizers) return i % 3 == seed % 3;
  return shape.options.get(threads_option()) <= 2 || seed % 3 == 0;
}

struct HeldRun {
  Outcome outcome;
  Witness::Seen seen;
};

template <class Held>
HeldRun run_on(const Held& model, const Shape& shape, std::uint64_t seed) {
  RunOptions options = shape.options;
  options.seed = seed;
  HeldRun run{run_model(model, shape.engine, options), {}};
  run.seen = model.outside.take();
  return run;
}

template <class Held>
HeldRun run_sequentially(const Held& model, std::uint64_t seed) {
  return run_on(model, {"sequential", "sequential", {}}, seed);
}

/// Returns how many events were held, all together.
template <class Held>
double expect_equal_on_all(const Held& model, std::uint64_t seed) {
  const HeldRun expected = run_sequentially(model, seed);
  double held = 0;
  const std::vector<Shape> all = shapes();
  for (std::size_t i = 0; i < all.size() && !::testing::Test::HasFailure(); ++i) {
    if (!is_in_turn(i, all[i], seed)) continue;
    if (!find_engine(all[i].engine).make()->refusal(model, all[i].options).empty()) continue;
    const HeldRun actual = run_on(model, all[i], seed);
    const std::string what = "seed " + std::to_string(seed) + ", " + all[i].text;
    expect_same(expected.outcome, actual.outcome, what);
    EXPECT_TRUE(expected.seen.pipe == actual.seen.pipe)
        << what << ": " << actual.seen.pipe.size() << " words for " << expected.seen.pipe.size();
    // Those that stay inside may be ahead of a fault.
    if (expected.outcome.result.end == RunEnd::completed) {
      EXPECT_TRUE(expected.seen.digests == actual.seen.digests) << what;
    }
    if (all[i].engine == "timewarp" && all[i].options.workers > 1)
      held += statistic(actual.outcome.result, "held_events");
  }
  return held;
}

RandomModelOptions some_random(std::uint64_t seed) {
  return {.shape = seed,
          .lps = static_cast<LpId>(6 + seed * 37 % 60),
          .grain_ticks = seed % 3 == 0 ? 1 : 10,
          .horizon = Duration::from_ticks(kSanitizers ? 400 : 1'200),
          .durations = seed % 2 == 0};
}

DelayModelOptions some_delays(std::uint64_t seed) {
  constexpr Promise kPromises[] = {Promise::for_all, Promise::by_edge, Promise::clusters,
                                   Promise::mixed};
  return {.shape = seed,
          .lps = static_cast<LpId>(10 + seed * 37 % 60),
          .promise = kPromises[seed % 4],
          .grain_ticks = seed % 3 == 0 ? 1 : 5,
          .horizon = Duration::from_ticks(kSanitizers ? 300 : 700),
          .durations = seed % 5 == 0};
}

constexpr std::uint64_t kSeeds = kSanitizers ? 6 : 9;

/// Workers undo what lies far ahead, though they have reported to be further.
TEST(Held, UnderLittleMemory) {
  constexpr std::uint64_t kLittle = 1 << 20;
  double retreats = 0;
  for (std::uint64_t seed = 1; seed <= (kSanitizers ? 10 : 200) && !HasFailure(); ++seed) {
    const HeldRandom model(RandomModelOptions{.shape = seed,
                                              .lps = static_cast<LpId>(4 + seed % 5),
                                              .grain_ticks = 10,
                                              .horizon = Duration::from_ticks(1'100),
                                              .durations = true});
    const HeldRun expected = run_sequentially(model, seed);
    const TimeWarpShape little{2, 15, 4096, "auto", "none", kLittle};
    const HeldRun actual = run_on(model, time_warp(little, kCuts), seed);
    expect_same(expected.outcome, actual.outcome, "seed " + std::to_string(seed));
    EXPECT_TRUE(expected.seen.pipe == actual.seen.pipe) << "seed " << seed;
    retreats += statistic(actual.outcome.result, "retreats");
  }
  EXPECT_GT(retreats, 0);
}

TEST(Held, RandomModels) {
  double held = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    const HeldRandom model(some_random(seed));
    const RandomModel plain(some_random(seed));
    held += expect_equal_on_all(model, seed);
    RunOptions options;
    options.seed = seed;
    expect_same(run_model(plain, "sequential", options), run_sequentially(model, seed).outcome,
                "as speculative LPs");
  }
  EXPECT_GT(held, kSanitizers ? 100 : 1000);
}

TEST(Held, ModelsThatPromiseDelays) {
  for (std::uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed)
    expect_equal_on_all(HeldDelays(some_delays(seed)), seed);
}

TEST(Held, NothingIsWrittenBehindAFault) {
  std::uint64_t faults = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    RandomModelOptions random = some_random(seed);
    random.fault_at_event = static_cast<std::int64_t>(4 + 3 * seed % 20);
    const HeldRandom model(random);
    faults += run_sequentially(model, seed).outcome.result.end == RunEnd::fault;
    expect_equal_on_all(model, seed);
    DelayModelOptions delays = some_delays(seed);
    delays.fault_at_event = static_cast<std::int64_t>(4 + 3 * seed % 20);
    const HeldDelays promising(delays);
    faults += run_sequentially(promising, seed).outcome.result.end == RunEnd::fault;
    expect_equal_on_all(promising, seed);
  }
  EXPECT_GT(faults, kSeeds);
}

TEST(Held, StaysOnItsThread) {
  for (std::uint64_t seed = 1; seed <= kSeeds / 3 && !HasFailure(); ++seed) {
    expect_equal_on_all(HeldRandom(some_random(seed), true), seed);
    expect_equal_on_all(HeldDelays(some_delays(seed), true), seed);
  }
}

TEST(Held, WhoCannotKeepAThreadSaysSo) {
  const HeldRandom model(some_random(1), true);
  const Outcome outcome = run_model(model, "auto", EngineCase{"auto", 2}.options());
  ASSERT_EQ(outcome.result.periods.size(), 1u);
  EXPECT_EQ(outcome.result.periods[0].engine, "sequential");
  const auto& notes = outcome.result.notes;
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("stay on their thread") != std::string::npos;
  }));
}

/// A stop leaves LPs, pipe and results at one key: everything before it is done, and no more.
TEST(Held, StopsAtACommonKey) {
  DelayModelOptions chosen = some_delays(1);
  chosen.durations = false;
  chosen.horizon = Duration::from_ticks(1'000'000'000);
  const HeldDelays model(chosen);
  const std::vector<Shape> all = shapes();
  for (std::size_t i = 0; i < all.size() && !HasFailure(); ++i) {
    RunControl control;
    StoppingRows rows(control, StoppingRows::after(Time::from_ticks(500)));
    RunOptions options = all[i].options;
    options.until = model.default_horizon();
    const RunResult stopped = find_engine(all[i].engine).make()->run(model, options, control);
    ASSERT_EQ(stopped.end, RunEnd::interrupted) << all[i].text << stopped.fault;
    const std::vector<std::uint64_t> pipe = model.outside.take().pipe;
    RunOptions again;
    again.until = stopped.reached;
    const HeldRun before = run_on(model, {"", "sequential", again}, 1);
    again.until = stopped.reached + Duration::from_ticks(1);
    const HeldRun after = run_on(model, {"", "sequential", again}, 1);
    const auto is_prefix = [](const auto& a, const auto& b) {
      return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
    };
    EXPECT_TRUE(is_prefix(before.seen.pipe, pipe)) << all[i].text;
    EXPECT_TRUE(is_prefix(pipe, after.seen.pipe)) << all[i].text;
    EXPECT_GE(stopped.committed, before.outcome.result.committed) << all[i].text;
    EXPECT_LE(stopped.committed, after.outcome.result.committed) << all[i].text;
  }
}

}  // namespace
}  // namespace orrery::testing
