// SPDX-License-Identifier: Apache-2.0
//
// The choice of the mode, fed with blocks of a made-up run: what events and modes cost is known
// here, so what a choice has lost is known exactly.
#include "engine/expanded/tuner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace orrery::expanded {
namespace {

constexpr double kCyclesPerSecond = 1e9;  // a cycle is a nanosecond

/// What the run is like. A mode's speed: how much handlers' time it gets done in a unit of time.
struct Costs {
  double event_us = 10;
  double batched = 1.8;
  double spread = 2;   ///< of an event's cost, over its mean: that of a model with rare long events
  double noise = 0.1;  ///< of a block's speed
  double interrupted = 0;  ///< share of the blocks that take ten times as long

  double speed(Mode mode) const { return mode == Mode::in_place ? 1 : batched; }
};

class Sample {
 public:
  explicit Sample(unsigned seed, bool automatic = true)
      : tuner(settings(automatic), 2, 1e9), random_(seed) {}

  void run(const Costs& costs, double seconds) {
    const double end = now_s + seconds;
    while (now_s < end) block(costs);
  }
  void forget() {
    in_mode_s = {};
    now_s = best_s = 0;
  }
  double share(Mode mode) const { return in_mode_s[static_cast<std::size_t>(mode)] / now_s; }
  /// Above executing all in the best mode, as a share.
  double lost() const { return now_s / best_s - 1; }

  Tuner tuner;
  std::array<double, 2> in_mode_s{};
  double now_s = 0, best_s = 0;

 private:
  static Settings settings(bool automatic) {
    Settings settings;
    settings.automatic = automatic;
    return settings;
  }
  double factor(double spread) {
    return std::exp(std::normal_distribution<double>(0, spread)(random_));
  }
  void block(const Costs& costs) {
    const Mode mode = tuner.mode();
    const auto planned_us = static_cast<double>(tuner.block_cycles()) / 1e3;
    const double about = std::max(planned_us * costs.speed(mode) / costs.event_us, 1.0);
    const auto events = static_cast<std::uint64_t>(std::ceil(about));
    const double mean_us = costs.event_us * factor(costs.spread / std::sqrt(about));
    const double busy_us = mean_us * static_cast<double>(events);
    double wall_us = busy_us / costs.speed(mode);
    if (mode != Mode::in_place) wall_us *= factor(costs.noise);
    if (std::uniform_real_distribution<double>()(random_) < costs.interrupted) wall_us *= 10;
    tuner.note({events, static_cast<std::uint64_t>(wall_us * 1e3),
                static_cast<std::uint64_t>(busy_us * 1e3)});
    in_mode_s[static_cast<std::size_t>(mode)] += wall_us * 1e-6;
    now_s += wall_us * 1e-6;
    const double best = std::max(1.0, costs.batched);
    best_s += wall_us * 1e-6 * costs.speed(mode) / best;
  }

  std::mt19937_64 random_;
};

constexpr unsigned kSeeds = 10;

TEST(Tuner, ShortEventsStayInPlace) {
  Sample sample(1);
  sample.run({.event_us = 0.1, .batched = 2}, 1);
  EXPECT_EQ(sample.share(Mode::in_place), 1) << "no trial may be worth its cost";
  EXPECT_EQ(sample.tuner.switches(), 0u);
}

TEST(Tuner, LongerEventsAreHandedOverAtOnce) {
  for (const double us : {2.0, 8.0, 30.0, 120.0}) {
    Sample sample(1);
    sample.run({.event_us = us, .spread = 0}, 20e-3);
    EXPECT_LT(sample.lost(), 0.02 + 4 * us / 20e3) << us;
  }
}

TEST(Tuner, SettlesOnTheBetterMode) {
  for (const double us : {0.5, 2.0, 8.0, 30.0, 120.0}) {
    int batched = 0, in_place = 0;
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      Sample one(seed), other(seed);
      one.run({.event_us = us, .batched = 1.2}, 10);
      other.run({.event_us = us, .batched = 0.8}, 10);
      if (one.share(Mode::batched) > 0.8) ++batched;
      if (other.share(Mode::in_place) > 0.8) ++in_place;
      EXPECT_LT(one.lost(), 0.06) << us << " us, seed " << seed;
      EXPECT_LT(other.lost(), 0.06) << us << " us, seed " << seed;
    }
    EXPECT_GE(batched, 9) << us;
    EXPECT_GE(in_place, 9) << us;
  }
}

TEST(Tuner, FindsThatExecutingInPlaceIsBetter) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Sample sample(seed);
    const Costs costs{.event_us = 2, .batched = 0.6};
    sample.run(costs, 0.02);
    EXPECT_LT(sample.lost(), 0.1) << "the presumption is withdrawn at once, seed " << seed;
    sample.run(costs, 5);
    EXPECT_LT(sample.lost(), 0.02) << seed;
    EXPECT_GT(sample.share(Mode::in_place), 0.9) << seed;
  }
}

TEST(Tuner, TrialsStayBelowTheirShare) {
  for (const double us : {0.5, 2.0, 30.0})
    for (const double speed : {0.6, 1.0, 1.2})
      for (unsigned seed = 0; seed < kSeeds; ++seed) {
        Sample sample(seed);
        const Costs costs{.event_us = us, .batched = speed, .spread = 1};
        sample.run(costs, 1);  // the choice
        sample.forget();
        sample.run(costs, 20);
        EXPECT_LT(sample.lost(), 2 * Tuner::kShare + Tuner::kTies)
            << us << " us, " << speed << ", seed " << seed;
      }
}

TEST(Tuner, NearlyEqualModesDoNotSwing) {
  std::uint64_t switches = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Sample sample(seed);
    sample.run({.event_us = 8, .batched = 1.005}, 10);
    switches += sample.tuner.switches() - 1;  // the presumption
  }
  EXPECT_LT(switches, 2 * kSeeds);
}

TEST(Tuner, FollowsARunThatChanges) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Sample sample(seed);
    sample.run({.event_us = 4, .batched = 1.8}, 5);
    sample.forget();
    sample.run({.event_us = 4, .batched = 0.6}, 10);
    EXPECT_GT(sample.share(Mode::in_place), 0.7) << seed;
    sample.forget();
    sample.run({.event_us = 4, .batched = 1.8}, 20);
    EXPECT_GT(sample.share(Mode::batched), 0.7) << seed;
  }
}

TEST(Tuner, InterruptionsDoNotMislead) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Sample sample(seed);
    sample.run({.event_us = 8, .batched = 1.8, .interrupted = 0.01}, 10);
    EXPECT_GT(sample.share(Mode::batched), 0.85) << seed;
  }
}

TEST(Tuner, AModeThatIsGivenStays) {
  Sample sample(1, false);
  sample.run({}, 1);
  EXPECT_EQ(sample.share(Mode::in_place), 1) << "the settings' own";
}

TEST(Tuner, WaitingCountsForTheBlockThatEndsIt) {
  Settings settings;
  settings.automatic = false;
  settings.mode = Mode::batched;
  Tuner tuner(settings, 2, kCyclesPerSecond);
  tuner.note({0, 5'000'000, 0});
  EXPECT_EQ(tuner.work(), 0) << "nothing is known of events yet";
  tuner.note({10, 1'000'000, 1'000'000});
  EXPECT_EQ(tuner.work(), 100'000);
}

TEST(Tuner, BatchesAndBlocksFitTheEvents) {
  Settings settings;
  settings.automatic = false;
  settings.mode = Mode::batched;
  Tuner tuner(settings, 4, kCyclesPerSecond);
  EXPECT_EQ(tuner.batch(), 1u) << "before anything is known";
  for (int i = 0; i < 10; ++i) tuner.note({1000, 50'000'000, 100'000'000});  // 100 us an event
  EXPECT_EQ(tuner.batch(), 1u);
  EXPECT_EQ(tuner.between_looks(), 1u);
  EXPECT_GE(tuner.block_cycles(), 20u * 100'000);
  for (int i = 0; i < 10; ++i) tuner.note({1000, 50'000, 100'000});  // 100 ns
  EXPECT_EQ(tuner.batch(), 32u);
  EXPECT_EQ(tuner.between_looks(), 16u);
  EXPECT_LT(tuner.block_cycles(), 1'000'000u);
}

}  // namespace
}  // namespace orrery::expanded
