// SPDX-License-Identifier: Apache-2.0
//
// Time Warp over ranks leaves what a run in one process leaves, to the bit, whatever is late on its
// way: antimessages overtake nothing, and find what they cancel. The ranks are threads here
// (run_ranks.h), so this also runs under the thread sanitizer. Where assertions are on, no message
// comes from before GVT. A failure prints what reproduces it.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "equality/delay_model.h"
#include "equality/instant_model.h"
#include "equality/model_of.h"
#include "equality/random_model.h"
#include "equality/run_ranks.h"
#include "equality/time_warp_shape.h"
#include "equality/witness.h"
#include "run/engine_cases.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

/// `every`: events from cut to cut, of all ranks.
struct RankShape : TimeWarpShape {
  unsigned ranks = 2;
  std::size_t credit_bytes = 64 << 10;
  bool adversary = true;
  std::uint64_t gvt_period_us = 0;
  std::uint64_t move_every = 0;

  std::string text() const {
    return std::to_string(ranks) + " ranks with " +
           text_with("a cut every " + std::to_string(every) + " events") + ", credit " +
           std::to_string(credit_bytes) + (adversary ? ", delayed" : "") + ", a round every " +
           std::to_string(gvt_period_us) + " us, moves every " + std::to_string(move_every);
  }
  RunOptions apply(RunOptions options) const {
    options = apply_shape(options);
    disturb(options).to_cut = every;
    options.set(timewarp::kGvtPeriod, gvt_period_us);
    disturb(options).to_move = move_every;
    return options;
  }
};

std::vector<RankShape> shapes() {
  return {{{1, 0}},
          {{2, 0}},
          {{1, 0}, 3},
          {{1, 0, 4096}, 2, 64 << 10, false},
          {{2, 0, 2, "copy"}, 2, 512},
          {{1, 0, 2, "periodic:7", "multi"}, 3, 1024},
          {{2, 100, 4}, 2},
          {{1, 0, 4096, "incremental"}, 2, 64 << 10, true, 2000},
          {{1, 300}, 4},
          {{1, 0, 4096, "auto", "none", 1 << 20}}};
}

using Maker = std::function<std::unique_ptr<Model>()>;

/// Runs the model with every second shape, those with one or those with another remainder.
/// Returns how many events were cancelled by antimessages, or found executed, all together.
double expect_equal(const Maker& make, RunOptions options, std::uint64_t seed) {
  options.seed = seed;
  const Outcome expected = run_model(*make(), "sequential", options);
  double notices = 0;
  const std::vector<RankShape> all = shapes();
  for (std::size_t i = seed % 2; i < all.size() && !::testing::Test::HasFailure(); i += 2) {
    const std::string what = "seed " + std::to_string(seed) + ", " + all[i].text();
    const std::vector<Outcome> outcomes =
        run_ranks(make, "timewarp", all[i].apply(options), all[i].ranks,
                  {.seed = seed, .delays = all[i].adversary}, all[i].credit_bytes);
    expect_same(expected, outcomes[0], what);
    EXPECT_EQ(outcomes[0].result.ranks, all[i].ranks);
    for (const Outcome& other : outcomes)
      EXPECT_EQ(other.result.committed, expected.result.committed) << what;
    notices += statistic(outcomes[0].result, "cancellation_notices");
  }
  return notices;
}

template <class AnyModel, class Chosen>
Maker maker_of(const Chosen& chosen) {
  return [chosen] { return std::make_unique<AnyModel>(chosen); };
}

constexpr std::uint64_t kSeeds = kSanitizers ? 2 : 8;

RandomModelOptions some(std::uint64_t seed) {
  return {.shape = seed,
          .lps = static_cast<LpId>(6 + seed * 37 % 90),
          .grain_ticks = seed % 3 == 0 ? 1 : 10,
          .horizon = Duration::from_ticks(kSanitizers ? 400 : 1'200),
          .durations = seed % 4 == 0,
          .phases = seed % 2 == 0};
}

TEST(TimeWarpOverRanks, CommitsTheSame) {
  double notices = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed)
    notices += expect_equal(maker_of<RandomModel>(some(seed)), {}, seed);
  EXPECT_GT(notices, 10);
}

TEST(TimeWarpOverRanks, WithDelaysOfAllKinds) {
  for (std::uint64_t seed = 1; seed <= kSeeds / 2 && !HasFailure(); ++seed) {
    const DelayModelOptions chosen{
        .shape = seed, .lps = 40, .horizon = Duration::from_ticks(kSanitizers ? 200 : 500)};
    expect_equal(maker_of<DelayModel>(chosen), {}, seed);
  }
}

TEST(TimeWarpOverRanks, FaultsAreToldAsOne) {
  for (std::uint64_t seed = 1; seed <= kSeeds / 2 && !HasFailure(); ++seed) {
    RandomModelOptions chosen = some(seed);
    chosen.horizon = Duration::from_ticks(50'000);
    chosen.fault_at_event = static_cast<std::int64_t>(10 + 7 * seed % 40);
    expect_equal(maker_of<RandomModel>(chosen), {}, seed);
  }
}

TEST(TimeWarpOverRanks, WithinAnInstant) {
  expect_equal(maker_of<InstantModel>(60), {}, 1);
  if (!kSanitizers) expect_equal(maker_of<InstantModel>(60), {}, 2);
}

TEST(TimeWarpOverRanks, LivelocksNameThoseOfAllRanks) {
  RunOptions options;
  options.livelock_microsteps = 100;
  for (const std::uint64_t seed : {1, 2})
    expect_equal(maker_of<InstantModel>(1'000'000'000), options, seed);
}

TEST(TimeWarpOverRanks, OfLargeLpsAndReverseHandlers) {
  const auto make = [] {
    auto model = make_model("phold");
    for (const auto& [name, value] :
         {std::pair{"lps", "40"}, {"state", "20000"}, {"touched", "500"}, {"remote", "0.9"}})
      set_parameter(*model, name, value);
    model->prepare();
    return model;
  };
  RunOptions options;
  options.until = Time::zero() + Duration::seconds(kSanitizers ? 3 : 8);
  const Outcome expected = run_model(*make(), "sequential", options);
  for (const char* checkpoint : {"reverse", "incremental", "auto"}) {
    const RankShape shape{{1, 0, 4096, checkpoint}, 3};
    const auto outcomes =
        run_ranks(make, "timewarp", shape.apply(options), 3, {.seed = 3, .delays = true});
    expect_same(expected, outcomes[0], shape.text());
  }
}

TEST(TimeWarpOverRanks, HandlersThatAreInterrupted) {
  const Maker make = maker_of<RandomModel>(some(5));
  RunOptions options;
  options.seed = 5;
  const Outcome expected = run_model(*make(), "sequential", options);
  disturb(options).at_calls = true;
  for (const RankShape& shape : {RankShape{{1, 0}}, RankShape{{2, 0}}}) {
    const auto outcomes =
        run_ranks(make, "timewarp", shape.apply(options), shape.ranks, {.seed = 5, .delays = true});
    expect_same(expected, outcomes[0], shape.text());
    EXPECT_GT(statistic(outcomes[0].result, "interrupted"), 10) << shape.text();
  }
}

using Held = Witnessed<RandomModel>;
/// Of a rank; in the end it tells what its LPs did outside.
struct Seen final : Held {
  Seen(const RandomModelOptions& chosen, std::vector<std::uint64_t>& digests)
      : Held(chosen), digests_(digests) {}
  ~Seen() override { digests_ = outside.take().digests; }

 private:
  std::vector<std::uint64_t>& digests_;
};

/// Each event of these is executed once, wherever what sent it was.
TEST(TimeWarpOverRanks, LpsThatMustNotRollBack) {
  double held = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds / 2 && !HasFailure(); ++seed) {
    const Held alone(some(seed));
    RunOptions options;
    options.seed = seed;
    const Outcome expected = run_model(alone, "sequential", options);
    const std::vector<std::uint64_t> digests = alone.outside.take().digests;
    const RankShape shape = shapes()[seed % 4];
    std::vector<std::vector<std::uint64_t>> seen(shape.ranks);
    std::atomic<unsigned> made{0};
    const auto make = [&] { return std::make_unique<Seen>(some(seed), seen[made++]); };
    const auto outcomes = run_ranks(make, "timewarp", shape.apply(options), shape.ranks,
                                    {.seed = seed, .delays = true});
    expect_same(expected, outcomes[0], shape.text());
    std::vector<std::uint64_t> together(digests.size());
    for (const auto& of_rank : seen)
      for (std::size_t id = 0; id < together.size(); ++id) together[id] |= of_rank[id];
    EXPECT_TRUE(together == digests) << shape.text();
    held += statistic(outcomes[0].result, "held_events");
  }
  EXPECT_GT(held, 10);
}

/// At cuts that all ranks have together, each among its own workers.
TEST(TimeWarpOverRanks, LpsMoveWithinRanks) {
  double moves = 0, lps_moved = 0;
  const std::vector<RankShape> all = {{{2, 0}, 2, 64 << 10, true, 0, 40},
                                      {{3, 0, 4}, 2, 64 << 10, true, 0, 100},
                                      {{2, 70, 2, "copy"}, 3, 1024, true, 0, 100},
                                      {{2, 0, 4096, "incremental"}, 3, 64 << 10, false, 0, 7}};
  for (std::uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    RunOptions options;
    options.seed = seed;
    const Maker make =
        seed % 2 == 0
            ? maker_of<RandomModel>(some(seed))
            : maker_of<DelayModel>(DelayModelOptions{.shape = seed,
                                                     .lps = 40,
                                                     .promise = DelayModelOptions::Promise::by_edge,
                                                     .horizon = Duration::from_ticks(400)});
    const Outcome expected = run_model(*make(), "sequential", options);
    const RankShape& shape = all[seed % all.size()];
    const auto outcomes = run_ranks(make, "timewarp", shape.apply(options), shape.ranks,
                                    {.seed = seed, .delays = shape.adversary}, shape.credit_bytes);
    expect_same(expected, outcomes[0], "seed " + std::to_string(seed) + ", " + shape.text());
    moves += statistic(outcomes[0].result, "moves");
    lps_moved += statistic(outcomes[0].result, "lps_moved");
  }
  // How often is the machine's affair: loads are measured in seconds.
  EXPECT_GT(moves, 0);
  EXPECT_GT(lps_moved, 0);
}

TEST(TimeWarpOverRanks, StopsAtACommonKey) {
  RandomModelOptions chosen = some(2);
  chosen.horizon = Duration::from_ticks(1'000'000'000);
  for (const RankShape& shape : {shapes()[0], shapes()[1]})
    expect_common_stop(maker_of<RandomModel>(chosen), "timewarp", shape.apply({}), shape.ranks,
                       Time::from_ticks(2'000));
}

TEST(TimeWarpOverRanks, MoreRanksThanLps) {
  for (const LpId lps : {1u, 2u, 3u}) {
    RandomModelOptions chosen = some(1);
    chosen.lps = lps;
    const Maker make = maker_of<RandomModel>(chosen);
    const auto outcomes =
        run_ranks(make, "timewarp", shapes()[0].apply({}), 5, {.seed = lps, .delays = true});
    expect_same(run_model(*make(), "sequential", {}), outcomes[0],
                std::to_string(lps) + " LPs on 5 ranks");
  }
}

/// On some ranks, or on none: one sentence, on all of them.
TEST(TimeWarpOverRanks, WhatCannotBeIsToldByAll) {
  const Maker make = maker_of<RandomModel>(some(1));
  const RankShape shape{{1, 0, 4096, "reverse"}, 3};
  transport::MemoryFabric fabric(3);
  std::vector<std::string> sentences(3);
  const auto run = [&](unsigned rank) {
    transport::RankTransport transport(fabric.wire(rank));
    RunControl control;
    control.ranks = &transport;
    RunOptions options = shape.apply({});
    options.place = {rank, 3, 3, rank};
    try {
      find_engine("timewarp").make()->run(*make(), options, control);
    } catch (const UsageError& error) {
      sentences[rank] = error.what();
    }
    transport.part();
  };
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < 3; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
  for (const std::string& sentence : sentences)
    EXPECT_NE(sentence.find("no LP of this model has reverse handlers"), std::string::npos)
        << sentence;
}

}  // namespace
}  // namespace orrery::testing
