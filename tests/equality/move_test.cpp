// SPDX-License-Identifier: Apache-2.0
//
// Runs whose LPs move between workers commit what others commit. LPs are made to move every so many
// events, to any worker, by the measured loads, and back; now and then a worker loses all that it
// has. Where assertions are on, each worker looks after each move whether what it has now is a cut.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/options.h"
#include "equality/instant_model.h"
#include "equality/random_model.h"
#include "equality/relay.h"
#include "equality/run_model.h"
#include "equality/stopping_rows.h"
#include "equality/time_warp_shape.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

struct Moves : TimeWarpShape {
  std::uint64_t pause_every = 0;

  std::string text() const {
    return text_with("a move every " + std::to_string(every) + " events, a cut every " +
                     std::to_string(pause_every));
  }
  RunOptions apply(RunOptions options) const {
    disturb(options).to_move = every;
    disturb(options).to_cut = pause_every;
    return apply_shape(std::move(options));
  }
};

std::vector<Moves> all_moves() {
  return all_shapes<Moves>({2, 3, 4, 8}, {1, 30, 1000}, 30);
}

/// Compares runs with moves, and sees that LPs did move: in a single run they may not, where a
/// round commits nearly all of it.
class Comparison {
 public:
  Comparison(const Model& model, const RunOptions& options)
      : model_(model), options_(options), expected_(run_model(model, "sequential", options)) {}
  const Outcome& expected() const { return expected_; }
  Outcome run(const Moves& moves) {
    Outcome actual = run_model(model_, "timewarp", moves.apply(options_));
    expect_same(expected_, actual, moves.text());
    if (20 * moves.every < expected_.result.committed) {  // else without occasion for several
      ++runs_;
      moves_ += statistic(actual.result, "moves");
    }
    return actual;
  }
  ~Comparison() { EXPECT_GE(moves_, runs_) << "moves in as many runs"; }

 private:
  const Model& model_;
  const RunOptions options_;
  const Outcome expected_;
  double runs_ = 0, moves_ = 0;
};

constexpr std::int64_t kHorizonTicks = kSanitizers ? 400 : 1'500;

TEST(Moves, RandomModels) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    RandomModel model({.shape = seed,
                       .lps = static_cast<LpId>(20 + seed * 37 % 120),
                       .grain_ticks = seed % 2 == 0 ? 1 : 10,
                       .horizon = Duration::from_ticks(kHorizonTicks),
                       .durations = seed == 3,
                       .phases = seed == 2});
    RunOptions options;
    options.seed = seed;
    Comparison comparison(model, options);
    ASSERT_GT(comparison.expected().rows.size(), 20u);
    for (const Moves& moves : all_moves()) comparison.run(moves);
    if (HasFailure()) return;
  }
}

TEST(Moves, BetweenCutsForOtherReasons) {
  RandomModel model({.shape = 4, .lps = 60, .horizon = Duration::from_ticks(kHorizonTicks)});
  Comparison comparison(model, {});
  for (const std::uint64_t pause_every : {1, 10, 300})
    for (const std::uint64_t every : {7, 100})
      comparison.run({{.workers = 3, .every = every, .channel_messages = 4}, pause_every});
}

TEST(Moves, UnderEveryKindOfCheckpoint) {
  RandomModel model({.shape = 6, .lps = 60, .horizon = Duration::from_ticks(kHorizonTicks)});
  Comparison comparison(model, {});
  for (const char* checkpoint : {"copy", "periodic:7", "periodic:1000", "adaptive", "incremental"})
    for (const char* offload : {"none", "mono", "multi"}) {
      if (std::string(checkpoint) == "incremental" && std::string(offload) != "none") continue;
      for (const unsigned workers : {2u, 3u, 4u})
        comparison.run({workers, 40 * workers, 4, checkpoint, offload});
    }
}

TEST(Moves, WithLittleMemory) {
  RandomModel model({.shape = 7, .lps = 80, .horizon = Duration::from_ticks(kHorizonTicks)});
  Comparison comparison(model, {});
  for (const std::uint64_t every : {30, 1000})
    comparison.run({4, every, 4, "auto", "none", 1 << 20});
}

TEST(Moves, BeforeAFault) {
  for (const std::int64_t at : {20, 60}) {
    RandomModel model({.shape = 2, .horizon = Duration::from_ticks(50'000), .fault_at_event = at});
    Comparison comparison(model, {});
    ASSERT_EQ(comparison.expected().result.end, RunEnd::fault);
    for (const Moves& moves : all_moves()) comparison.run(moves);
  }
}

void set(Model& model, const std::vector<std::pair<std::string, std::string>>& parameters) {
  for (const auto& [name, value] : parameters) set_parameter(model, name, value);
  model.prepare();
}

RunOptions until(double seconds) {
  RunOptions options;
  options.until = Time::zero() + Duration::from_seconds(seconds);
  return options;
}

TEST(Moves, OfLpsInTheJournal) {
  auto model = make_model("phold");
  set(*model, {{"lps", "200"}, {"remote", "0.9"}, {"payload", "64"}});
  Comparison comparison(*model, until(kSanitizers ? 3 : 10));
  for (const Moves& moves : all_moves()) comparison.run(moves);
}

TEST(Moves, OfLargeLpsAndReverseHandlers) {
  auto model = make_model("phold");
  set(*model, {{"lps", "40"}, {"state", "20000"}, {"touched", "500"}, {"remote", "0.9"}});
  Comparison comparison(*model, until(kSanitizers ? 4 : 15));
  for (const char* checkpoint : {"auto", "reverse", "incremental", "copy"})
    for (const std::uint64_t every : {1, 30})
      for (const unsigned workers : {2u, 3u, 8u}) comparison.run({workers, every, 4, checkpoint});
  for (const char* offload : {"mono", "multi"}) comparison.run({3, 30, 4, "copy", offload});
}

/// Images that were written past the caches go to other threads with their LPs.
TEST(Moves, OfImagesWrittenPastTheCaches) {
  auto model = make_model("phold");
  set(*model, {{"lps", "40"}, {"state", "20000"}, {"touched", "500"}, {"remote", "0.9"}});
  RunOptions options = until(kSanitizers ? 4 : 15);
  disturb(options).streams = true;
  Comparison comparison(*model, options);
  double streamed = 0;
  for (const char* checkpoint : {"auto", "copy", "periodic:7"})
    for (const std::uint64_t every : {1, 30})
      for (const unsigned workers : {2u, 3u, 8u})
        streamed += statistic(comparison.run({workers, every, 4, checkpoint}).result,
                              "streamed_checkpoints");
  EXPECT_GT(streamed, 0);
}

/// With a communication graph.
TEST(Moves, OfLpsThatAllocate) {
  auto model = make_model("wireless");
  set(*model, {});
  Comparison comparison(*model, until(kSanitizers ? 0.01 : 0.04));
  for (const Moves& moves : all_moves()) comparison.run(moves);
}

TEST(Moves, AndHandOvers) {
  RandomModel model({.shape = 5, .lps = 50, .horizon = Duration::from_ticks(3'000)});
  const Outcome expected = run_model(model, "sequential", {});
  const Moves moves{{.workers = 3, .every = 20}};
  std::uint64_t runs = 0, handed_over = 0;
  for (const std::vector<Leg>& legs :
       {std::vector<Leg>{{{"timewarp", 4, "auto", 2}, 300}, {{"timewarp", 2}, 300}},
        {{{"timewarp", 3, "auto", 2}, 200}, {{"sequential", 1}, 200}},
        {{{"timewarp", 2}, 200}, {{"expanded", 4, "batched"}, 200}, {{"timewarp", 5}, 90}}}) {
    Relay relay(legs);
    RunOptions options;
    disturb(options).to_move = moves.every;
    expect_same(expected, run_relay(model, relay, options), "with hand-overs");
    ++runs;
    handed_over += relay.handed_over;
  }
  // A single run may end before its second goal: goals of Time Warp are looked at by the clock.
  EXPECT_GE(handed_over, runs);
}

// ---- Within an instant, and its end

TEST(Moves, WithinAnInstant) {
  const InstantModel model(100, true);
  Comparison comparison(model, {});
  ASSERT_GT(comparison.expected().rows.size(), 100u);
  for (const Moves& moves : all_moves()) comparison.run(moves);
}

TEST(Moves, OnTheWayIntoALivelock) {
  const InstantModel model(1'000'000'000);
  RunOptions options;
  options.livelock_microsteps = 300;
  Comparison comparison(model, options);
  ASSERT_NE(comparison.expected().result.fault.find("LPs on it"), std::string::npos);
  for (const Moves& moves : all_moves()) comparison.run(moves);
}

/// In whatever step of a move the request comes.
TEST(Moves, AreNoHindranceToAStopRequest) {
  RandomModel model({.shape = 8, .lps = 60, .horizon = Duration::from_ticks(100'000)});
  RunOptions sequential;
  sequential.until = Time::from_ticks(20'000);
  const Outcome whole = run_model(model, "sequential", sequential);
  for (unsigned calls = 1; calls <= (kSanitizers ? 12u : 40u); ++calls) {
    const Moves moves{{.workers = 3, .every = 20}};
    RunOptions options = moves.apply({});
    options.until = model.default_horizon();
    RunControl control;
    StoppingRows rows(control, StoppingRows::at_call(calls));
    const RunResult result = find_engine("timewarp").make()->run(model, options, control);
    ASSERT_EQ(result.end, RunEnd::interrupted);
    const auto lines = rows.collected.sorted();
    ASSERT_LE(lines.size(), whole.rows.size());
    for (std::size_t i = 0; i < lines.size(); ++i) ASSERT_EQ(lines[i], whole.rows[i]);
  }
}

/// The real thing: uneven work, and the engine's own decision.
TEST(Moves, FollowTheLoad) {
  auto model = make_model("phold");
  set(*model, {{"lps", "512"}, {"work", "4000"}, {"heavy", "0.125"}, {"heavy_factor", "20"}});
  RunOptions options = until(kSanitizers ? 100 : 400);  // seconds of wall-clock time
  const Outcome expected = run_model(*model, "sequential", options);
  options.workers = 2;
  const Outcome actual = run_model(*model, "timewarp", options);
  expect_same(expected, actual, "moved by load");
}

}  // namespace
}  // namespace orrery::testing
