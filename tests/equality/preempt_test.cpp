// SPDX-License-Identifier: Apache-2.0
//
// Handlers that are interrupted in the middle commit what others commit: each time that they call
// the platform, every 50 us wherever they are, and on demand; with all strategies, with cuts and
// moves, in catch blocks and while exceptions unwind. And handlers that never end, on wrong guesses
// only, hold no run up. Under sanitizers handlers are interrupted where they call the platform: the
// thread sanitizer sees all that threads do to each other then, but not the signals, which it
// delays until a thread calls the C library.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/cycles.h"
#include "engine/timewarp/settings.h"
#include "equality/asker.h"
#include "equality/model_of.h"
#include "equality/random_model.h"
#include "equality/run_model.h"
#include "equality/time_warp_shape.h"
#include "orrery/orrery.h"
#include "run/containment/preemption.h"
#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

class Preemption : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Preemptible::kPossible) GTEST_SKIP() << "no handler is interrupted here";
  }
};

struct How {
  const char* preempt;
  bool always = false;  ///< at each call of the platform

  void apply(RunOptions& options) const {
    options.set(timewarp::kPreempt, preempt);
    options.set(timewarp::kTick, 50);
    disturb(options).at_calls = always;
  }
};
constexpr How kAlways{"demand", true}, kDemand{"demand"}, kTick{"tick"}, kBoth{"both"};

/// Runs with these and compares; how many handlers were interrupted.
double expect_equal(const Model& model, const Outcome& expected, const TimeWarpShape& shape,
                    const How& how, RunOptions options) {
  how.apply(options);
  const Outcome actual = run_model(model, "timewarp", std::move(options));
  expect_same(expected, actual, shape.text_with(std::string("--preempt ") + how.preempt));
  return statistic(actual.result, "interrupted");
}

TEST(PreemptionAtCalls, AtEachCallOfThePlatform) {
  double interrupted = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const RandomModel model({.shape = seed,
                             .lps = static_cast<LpId>(20 + seed * 37 % 120),
                             .grain_ticks = seed % 2 == 0 ? 1 : 10,
                             .horizon = Duration::from_ticks(1'000),
                             .durations = seed == 3,
                             .phases = seed == 2});
    RunOptions options;
    options.seed = seed;
    const Outcome expected = run_model(model, "sequential", options);
    for (const unsigned workers : {2u, 3u}) {
      for (const auto& [checkpoint, offload] : kStrategies) {
        TimeWarpShape shape{workers, 0};
        shape.checkpoint = checkpoint;
        shape.offload = offload;
        shape.channel_messages = seed == 2 ? 4 : 4096;
        interrupted += expect_equal(model, expected, shape, kAlways, shape.apply_shape(options));
      }
    }
  }
  EXPECT_GT(interrupted, 10'000);
}

/// What lies open is dropped on the way to a cut.
TEST(PreemptionAtCalls, WithCutsAndMoves) {
  const RandomModel model({.shape = 4, .lps = 60, .horizon = Duration::from_ticks(1'000)});
  RunOptions options;
  const Outcome expected = run_model(model, "sequential", options);
  double cuts = 0, moves = 0;
  for (const unsigned workers : {2u, 4u}) {
    for (const std::uint64_t every : {7u, 100u}) {
      const TimeWarpShape shape{workers, every};
      for (const bool moving : {false, true}) {
        RunOptions own = shape.apply_shape(options);
        (moving ? disturb(own).to_move : disturb(own).to_cut) = every;
        kAlways.apply(own);
        const Outcome actual = run_model(model, "timewarp", own);
        expect_same(expected, actual, shape.text_with(moving ? "moves" : "cuts"));
        (moving ? moves : cuts) += statistic(actual.result, moving ? "moves" : "cuts");
      }
    }
  }
  EXPECT_GT(cuts, 10);
  EXPECT_GT(moves, 10);
}

TEST(PreemptionAtCalls, FaultsAreTheSame) {
  const RandomModel model(
      {.shape = 5, .lps = 40, .horizon = Duration::from_ticks(5'000), .fault_at_event = 20});
  RunOptions options;
  const Outcome expected = run_model(model, "sequential", options);
  ASSERT_EQ(expected.result.end, RunEnd::fault);
  for (const unsigned workers : {2u, 4u}) {
    const TimeWarpShape shape{workers, 0};
    expect_equal(model, expected, shape, kAlways, shape.apply_shape(options));
  }
}

/// LPs that must not roll back: what lies before them counts while it is interrupted.
TEST(PreemptionAtCalls, HeldLps) {
  class HeldModel final : public RandomModel {
   public:
    using RandomModel::RandomModel;
    LpExecution execution_of(LpId id) const override { return Witness::kind(id); }
  };
  HeldModel model({.shape = 6, .lps = 40, .horizon = Duration::from_ticks(500)});
  RunOptions options;
  const Outcome expected = run_model(model, "sequential", options);
  for (const unsigned workers : {2u, 4u}) {
    const TimeWarpShape shape{workers, 0};
    Witness witness(model.options.lps, false, false);
    model.witness = &witness;
    expect_equal(model, expected, shape, kAlways, shape.apply_shape(options));
    model.witness = nullptr;
  }
}

// ---- Long handlers

struct Step {
  std::uint64_t value;
};

thread_local std::uint64_t scratch[64];

/// Does what code of a model does, for a while, and notices if any of it is not as it left it.
class LongLp final : public LogicalProcess<LongLp, Step> {
 public:
  explicit LongLp(int rounds) : rounds_(rounds) {}
  void start(Context& context) override { send(context, context.self()); }
  void handle(Context& context, const Step& step) {
    std::uint64_t value = step.value;
    for (int i = 0; i < rounds_; ++i) value = round(context, value + static_cast<unsigned>(i));
    digest_ = digest_ * 31 + value;
    send(context, value);
  }
  void finish(FinalContext& context) override {
    context.state(digest_);
    for (const auto& [key, text] : names_) {
      context.state(key);
      for (const char c : text) context.state(c);
    }
  }

 private:
  void send(Context& context, std::uint64_t value) {
    auto& random = context.random();
    const auto to = static_cast<LpId>(random.below(context.lp_count()));
    const auto wait = static_cast<std::int64_t>(1 + random.below(50));
    context.schedule(to, Duration::from_ticks(wait), Step{value});
  }
  std::uint64_t round(Context& context, std::uint64_t value) {
    std::vector<std::uint64_t> numbers(64 + value % 64);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = (value * 0x9e3779b97f4a7c15u) >> i;
    std::sort(numbers.begin(), numbers.end());
    for (std::uint64_t& word : scratch) word = value;
    char text[64];
    std::snprintf(text, sizeof text, "%.17g %llx", std::sqrt(static_cast<double>(value % 1000)),
                  static_cast<unsigned long long>(numbers[numbers.size() / 2]));
    std::ostringstream stream;
    stream << text << ' ' << numbers.front();
    names_[value % 23] = stream.str();
    if (value % 3 == 0) names_.erase(value % 19);
    double sum = 0;
    for (int i = 1; i < 200; ++i) sum += std::exp(-static_cast<double>(i % 7)) / i;
    try {
      struct Unwound {
        Context& context;
        std::uint64_t& value;
        ~Unwound() { value += context.random().below(7); }
      } const unwound{context, value};
      throw std::runtime_error(stream.str());
    } catch (const std::exception& exception) {
      context.schedule(context.self(), Duration::from_ticks(1 << 20), Step{value});
      poll();
      value += static_cast<unsigned char>(exception.what()[0]);
    }
    if (std::uncaught_exceptions() != 0) throw std::logic_error("an exception of somebody else");
    const char* const nobodys = std::strerror(static_cast<int>(1000 + value % 100'000));
    poll();
    for (const char* at = nobodys; *at != '\0'; ++at) value = value * 31 + *at;
    for (const std::uint64_t word : scratch) value ^= word;
    return value * 5 + static_cast<std::uint64_t>(sum * 1e9);
  }

  const int rounds_;
  std::map<std::uint64_t, std::string> names_;
  std::uint64_t digest_ = 1;
};

class LongModel final : public Model {
 public:
  explicit LongModel(int rounds) : rounds_(rounds) {}
  std::uint64_t lp_count() const override { return 24; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<LongLp>(rounds_);
  }

 private:
  const int rounds_;
};

TEST_F(Preemption, LongHandlers) {
  for (const int rounds : {1, 40}) {
    const LongModel model(rounds);
    RunOptions options;
    options.until = Time::from_ticks(rounds == 1 ? 2000 : 200);
    const Outcome expected = run_model(model, "sequential", options);
    ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
    for (const How& how : {kAlways, kDemand, kTick, kBoth}) {
      double interrupted = 0;
      for (const unsigned workers : {2u, 4u}) {
        for (const char* checkpoint : {"auto", "periodic:7"}) {
          TimeWarpShape shape{workers, 0};
          shape.checkpoint = checkpoint;
          interrupted += expect_equal(model, expected, shape, how, shape.apply_shape(options));
        }
      }
      if (rounds > 1) {
        EXPECT_GT(interrupted, 0) << how.preempt;
      }
    }
  }
}

// ---- One within another

struct Descend {
  std::uint64_t step;
};

/// How far they are on the wall, which changes no result: so that it is no matter of luck.
struct Wall {
  std::atomic<std::uint64_t> sent{0}, begun{0};
  bool is_parallel = false;

  /// Not for ever, whatever goes wrong.
  template <class Condition>
  void wait(Condition&& condition) const {
    constexpr double kMostSeconds = 0.1;
    const std::uint64_t end = read_cycles() + cycles_in(kMostSeconds);
    while (is_parallel && !condition() && read_cycles() < end) poll();
  }
};

/// LP 80 sends to the others, lower and lower, while they handle what it sent before.
class DescendingLp final : public LogicalProcess<DescendingLp, Descend, Step> {
 public:
  static constexpr LpId kSender = 80;
  static constexpr std::uint64_t kSteps = 30, kDepth = 20;
  explicit DescendingLp(Wall& wall) : wall_(wall) {}
  void start(Context& context) override {
    if (context.self() == kSender) context.schedule(kSender, Duration::from_ticks(1), Descend{1});
  }
  void handle(Context& context, const Descend& descend) {
    wall_.wait([&] { return wall_.begun >= descend.step - 1; });
    const auto to = static_cast<LpId>(descend.step % 40);
    const auto at = 10'000 - 100 * static_cast<std::int64_t>(descend.step);
    context.schedule(to, Duration::from_ticks(at) - (context.now() - Time::zero()),
                     Step{descend.step});
    wall_.sent = descend.step;
    if (descend.step < kSteps)
      context.schedule(kSender, Duration::from_ticks(1), Descend{descend.step + 1});
  }
  void handle(Context&, const Step& step) {
    wall_.begun = std::max(wall_.begun.load(), step.value);
    wall_.wait([&] { return wall_.sent >= std::min(step.value + kDepth, kSteps); });
    digest_ = digest_ * 31 + step.value;
  }
  void finish(FinalContext& context) override { context.state(digest_); }

 private:
  Wall& wall_;
  std::uint64_t digest_ = 1;
};

using DescendingModel = ModelOf<DescendingLp, Wall, 160>;

TEST(PreemptionAtCalls, MoreThanSixteenOneWithinAnother) {
  const DescendingModel model;
  RunOptions options;
  options.until = Time::from_ticks(20'000);
  const Outcome expected = run_model(model, "sequential", options);
  double gave_way = 0;
  for (const unsigned workers : {2u, 4u}) {
    const TimeWarpShape shape{workers, 0};
    model.shared.sent = model.shared.begun = 0;
    model.shared.is_parallel = true;
    RunOptions own = shape.apply_shape(options);
    own.set(timewarp::kWindow, 1'000'000);
    kAlways.apply(own);
    const Outcome actual = run_model(model, "timewarp", own);
    expect_same(expected, actual, shape.text_with("one within another"));
    gave_way += statistic(actual.result, "gave_way");
  }
  EXPECT_GT(gave_way, 0);
}

// ---- Handlers that never end

enum class Loop { spins, allocates, sends, in_the_library };

/// Never ends when an answer comes that nobody asked for.
class LoopingLp final : public Asker {
 public:
  LoopingLp(const AskerShape& shape, Loop way, std::atomic<std::uint64_t>& loops)
      : Asker(shape), way_(way), loops_(loops) {}

 private:
  void bear_unasked(Context& context, const Answer& answer) override {
    // On a machine with much else to do there are many wrong guesses, and each loop goes on for
    // long.
    const std::uint64_t most_loops = way_ == Loop::in_the_library ? 8 : 40;
    constexpr int kMostSends = 10'000;
    if (loops_.fetch_add(1, std::memory_order_relaxed) >= most_loops) return;
    volatile bool going = true;
    switch (way_) {
      case Loop::spins:
        while (going) {
        }
        break;
      case Loop::allocates:
        for (std::vector<std::uint64_t*> all; going; all.push_back(new std::uint64_t[8]))
          if (all.size() > 1000) {
            for (std::uint64_t* one : all) delete[] one;
            all.clear();
          }
        break;
      case Loop::sends:
        for (int sent = 0; going; ++sent)
          if (sent < kMostSends)
            context.schedule(context.self(), Duration::from_ticks(1 << 20),
                             Question{answer.id, 0, 1});
          else
            poll();
        break;
      case Loop::in_the_library:
        // Half of the time within the library, where nothing is interrupted.
        for (char text[64]; going;) {
          std::snprintf(text, sizeof text, "%g", 1.0 / 3);
          for (int i = 0; going && i < 100; ++i) {
          }
        }
        break;
    }
  }
  const Loop way_;
  std::atomic<std::uint64_t>& loops_;
};

class LoopingModel final : public Model {
 public:
  explicit LoopingModel(Loop way) : way_(way) {}
  std::uint64_t lp_count() const override { return shape.lps; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<LoopingLp>(shape, way_, loops);
  }
  static constexpr AskerShape shape{12, 20, 0.05};
  mutable std::atomic<std::uint64_t> loops{0};

 private:
  const Loop way_;
};

class EndlessLoops : public ::testing::TestWithParam<Loop> {};

TEST_P(EndlessLoops, OfWrongGuessesHoldNoRunUp) {
  if (!Preemptible::kPossible) GTEST_SKIP() << "no handler is interrupted here";
  const LoopingModel model(GetParam());
  RunOptions options;
  options.until = Time::from_ticks(1500);
  const Outcome expected = run_model(model, "sequential", options);
  ASSERT_EQ(model.loops, 0u) << "in order, none loops";
  std::uint64_t loops = 0;
  for (const unsigned workers : {2u, 3u, 4u}) {
    for (const char* checkpoint : {"auto", "periodic:7"}) {
      TimeWarpShape shape{workers, 0};
      shape.checkpoint = checkpoint;
      const Outcome actual = run_model(model, "timewarp", shape.apply_shape(options));
      expect_same(expected, actual, shape.text_with("auto"));
      loops += model.loops.exchange(0);
    }
  }
  EXPECT_GT(loops, 0u) << "nobody guessed wrong: this has shown nothing";
}

/// Where nothing is interrupted they are dropped at their limit, and undone as any wrong guess.
TEST_P(EndlessLoops, OfWrongGuessesEndAtTheirLimit) {
  if (!Preemptible::kPossible) GTEST_SKIP() << "no handler is dropped here";
  const LoopingModel model(GetParam());
  RunOptions options;
  options.until = Time::from_ticks(300);
  options.set(event_time_limit_option(), 100'000);
  const Outcome expected = run_model(model, "sequential", options);
  for (int run = 0; run < 20 && model.loops == 0; ++run) {
    const TimeWarpShape shape{2, 0};
    RunOptions own = shape.apply_shape(options);
    own.set(timewarp::kPreempt, "off");
    expect_same(expected, run_model(model, "timewarp", own), shape.text_with("off, a limit"));
  }
  EXPECT_GT(model.loops, 0u) << "nobody guessed wrong: this has shown nothing";
}

std::string name_of(const ::testing::TestParamInfo<Loop>& way) {
  constexpr const char* kNames[] = {"spins", "allocates", "sends", "in_the_library"};
  return kNames[static_cast<int>(way.param)];
}
INSTANTIATE_TEST_SUITE_P(Ways, EndlessLoops,
                         ::testing::Values(Loop::spins, Loop::allocates, Loop::sends,
                                           Loop::in_the_library),
                         name_of);

// ---- Handlers that fill the memory

struct Hold {};
struct Fill {};
struct Stop {};

/// What all have allocated and not freed, and how they wait for each other, which changes no
/// result.
struct Tank {
  static constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;
  std::atomic<std::uint64_t> bytes{0}, most{0};
  bool is_parallel = false;
};

/// LP 0 allocates, unless LP 80 has told it earlier not to, which takes that one a while.
class FillingLp final : public LogicalProcess<FillingLp, Hold, Fill, Stop> {
 public:
  static constexpr LpId kSlow = 80;
  explicit FillingLp(Tank& tank) : tank_(tank) {}
  void start(Context& context) override {
    if (context.self() == kSlow) context.schedule(kSlow, Duration::from_ticks(1), Hold{});
    if (context.self() == 0) context.schedule(0, Duration::from_ticks(1'000), Fill{});
  }
  void handle(Context& context, const Hold&) {
    constexpr double kSeconds = 0.3;
    const std::uint64_t end = read_cycles() + cycles_in(kSeconds);
    while (tank_.is_parallel && tank_.bytes < Tank::kMostBytes && read_cycles() < end) {
    }
    context.schedule(0, Duration::from_ticks(10), Stop{});
  }
  void handle(Context&, const Stop&) { stopped_ = true; }
  void handle(Context&, const Fill&) {
    constexpr std::size_t kBytes = 100'000;
    while (!stopped_ && tank_.bytes < Tank::kMostBytes) {
      std::memset(blocks_.emplace_back(new char[kBytes]), 1, kBytes);
      tank_.bytes += kBytes;
      tank_.most = std::max(tank_.most.load(), tank_.bytes.load());
    }
  }
  void finish(FinalContext& context) override { context.state(stopped_); }

 private:
  Tank& tank_;
  std::vector<char*> blocks_;
  bool stopped_ = false;
};

using FillingModel = ModelOf<FillingLp, Tank, 160>;

TEST_F(Preemption, AGuessThatFillsTheMemoryWaits) {
  const FillingModel model;
  RunOptions options;
  options.until = Time::from_ticks(2'000);
  const Outcome expected = run_model(model, "sequential", options);
  ASSERT_EQ(model.shared.most, 0u) << "in order, nobody fills anything";
  model.shared.is_parallel = true;
  const TimeWarpShape shape{2, 0};
  RunOptions own = shape.apply_shape(options);
  own.memory_bytes = std::uint64_t{32} << 20;
  own.set(timewarp::kWindow, 1'000'000);
  expect_same(expected, run_model(model, "timewarp", own), "with 32 MiB");
  EXPECT_GT(model.shared.most, 0u) << "nobody guessed wrong: this has shown nothing";
  EXPECT_LT(model.shared.most, std::uint64_t{64} << 20);
}

/// Where it is no guess it gets what there is.
TEST_F(Preemption, WhatCommitsMayNeedMoreThanTheBudget) {
  class Model final : public orrery::Model {
   public:
    std::uint64_t lp_count() const override { return 160; }
    std::unique_ptr<LogicalProcessBase> create(LpId) const override {
      return std::make_unique<LargeLp>();
    }

   private:
    class LargeLp final : public LogicalProcess<LargeLp, Fill> {
     public:
      void start(Context& context) override {
        if (context.self() % 80 == 0)
          context.schedule(context.self(), Duration::from_ticks(5), Fill{});
      }
      void handle(Context&, const Fill&) {
        for (int i = 0; i < 400; ++i) blocks_.emplace_back(100'000, 'x');
      }
      void finish(FinalContext& context) override { context.state(blocks_.size()); }

     private:
      std::vector<std::string> blocks_;
    };
  };
  const Model model;
  RunOptions options;
  options.until = Time::from_ticks(2'000);
  options.memory_bytes = std::uint64_t{8} << 20;
  const Outcome expected = run_model(model, "sequential", options);
  expect_same(expected, run_model(model, "timewarp", TimeWarpShape{2, 0}.apply_shape(options)),
              "with 8 MiB");
}

}  // namespace
}  // namespace orrery::testing
