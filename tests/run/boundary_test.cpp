// SPDX-License-Identifier: Apache-2.0
//
// The edges of what a run may be: the horizon to the tick, one LP, no events, more workers than LPs
// or cores, many LPs, and payloads of every size and alignment.
#include <array>
#include <cstdint>
#include <cstring>

#include "checkpoint/options.h"
#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

class Boundaries : public OnEveryEngine {};

// The horizon.

TEST_P(Boundaries, HorizonIsHalfOpen) {
  ScriptModel model(8);
  model.on_start = [](Context& context, ScriptLp&) {
    for (const std::int64_t at : {0, 98, 99, 100, 101})
      context.schedule((context.self() + 3) % 8, ticks(at), Step{0, 0, 1});
  };
  RunOptions options;
  options.until = Time::from_ticks(100);
  const Outcome actual = expect_completed(model, options);
  EXPECT_EQ(actual.result.committed, 8u * 3) << GetParam();
  EXPECT_EQ(actual.result.reached, options.until) << GetParam();
  options.until = Time::from_ticks(101);
  EXPECT_EQ(expect_completed(model, options).result.committed, 8u * 4) << GetParam();
  options.until = Time::from_ticks(102);
  EXPECT_EQ(expect_completed(model, options).result.committed, 8u * 5) << GetParam();
}

/// Several events of one LP at the horizon, as many a tick earlier, in ties of different senders.
TEST_P(Boundaries, FiveEventsAtTheHorizonAndFiveATickEarlier) {
  ScriptModel model(8);
  model.on_start = [](Context& context, ScriptLp&) {
    if (context.self() >= 5) return;
    for (const std::int64_t at : {99, 100}) context.schedule(7, ticks(at), Step{});
  };
  model.on_step = [](Context&, ScriptLp& self, const Step&) { self.memory.push_back(1); };
  RunOptions options;
  options.until = Time::from_ticks(100);
  EXPECT_EQ(expect_completed(model, options).result.committed, 5u) << GetParam();
  options.until = Time::from_ticks(101);
  EXPECT_EQ(expect_completed(model, options).result.committed, 10u) << GetParam();
}

TEST_P(Boundaries, PeriodsThatDoNotDivideEachOtherNorTheHorizon) {
  constexpr std::int64_t kPeriods[] = {3, 7, 10, 11, 64, 999, 1000, 1001};
  ScriptModel model(8);
  model.on_start = [&](Context& context, ScriptLp&) {
    context.schedule(context.self(), ticks(kPeriods[context.self()]), Step{});
  };
  model.on_step = [&](Context& context, ScriptLp&, const Step&) {
    context.schedule(context.self(), ticks(kPeriods[context.self()]), Step{});
  };
  RunOptions options;
  options.until = Time::from_ticks(1000);
  // Of each, those before the horizon: 333 + 142 + 99 + 90 + 15 + 1.
  EXPECT_EQ(expect_completed(model, options).result.committed, 680u) << GetParam();
}

TEST_P(Boundaries, ZeroDelayAtTheLastTickIsWithinTheHorizon) {
  ScriptModel model(4);
  model.on_start = [](Context& context, ScriptLp&) {
    context.schedule(context.self(), ticks(99), Step{0, 5, 0});
  };
  model.on_step = [](Context& context, ScriptLp&, const Step& step) {
    if (step.left > 0)
      context.schedule((context.self() + 1) % 4, ticks(0), Step{0, step.left - 1, 0});
    context.schedule(context.self(), ticks(1), Step{});  // beyond: dropped
  };
  RunOptions options;
  options.until = Time::from_ticks(100);
  EXPECT_EQ(expect_completed(model, options).result.committed, 4u * 6) << GetParam();
}

TEST_P(Boundaries, HorizonZeroHandlesNothingButStartsAndEndsLps) {
  ScriptModel model(8);
  script_walks(model);
  RunOptions options;
  options.until = Time::zero();
  EXPECT_EQ(expect_completed(model, options).result.committed, 0u) << GetParam();
}

TEST_P(Boundaries, AShorterRunIsThePrefixOfALongerOne) {
  ScriptModel model(8);
  script_walks(model);
  const auto walk = model.on_step;
  model.on_step = [&](Context& context, ScriptLp& self, const Step& step) {
    walk(context, self, step);
    context.emit(model.table, step.value, 1.0);
  };
  RunOptions options;
  options.until = Time::from_ticks(371);
  const Outcome part = run(model, options);
  options.until = Time::from_ticks(1000);
  Outcome whole = run(model, options);
  std::erase_if(whole.rows, [](const auto& row) { return std::get<0>(row).time().ticks() >= 371; });
  EXPECT_FALSE(part.rows.empty());
  EXPECT_TRUE(part.rows == whole.rows) << GetParam();
}

TEST_P(Boundaries, LastTickOfTheClock) {
  ScriptModel model(4);
  model.on_start = [](Context& context, ScriptLp&) {
    context.schedule((context.self() + 1) % 4, ticks(INT64_MAX - 1), Step{0, 1, 0});
  };
  model.on_step = [](Context& context, ScriptLp&, const Step& step) {
    if (step.left > 0)
      context.schedule((context.self() + 1) % 4, ticks(0), Step{0, step.left - 1, 0});
  };
  RunOptions options;
  options.until = Time::from_ticks(INT64_MAX - 1);
  EXPECT_EQ(expect_completed(model, options).result.committed, 0u) << GetParam();
  // run_model takes Time::max() for "the model's horizon", so the engine is called directly.
  options = GetParam().options();
  options.until = Time::max();
  RunControl control;
  const RunResult result = find_engine(GetParam().engine).make()->run(model, options, control);
  EXPECT_EQ(result.end, RunEnd::completed) << result.fault;
  EXPECT_EQ(result.committed, 8u) << GetParam();
}

// Numbers of LPs, events, workers.

TEST_P(Boundaries, NoEventsAtAll) {
  for (const std::uint64_t lps : {1u, 2u, 100u}) {
    ScriptModel model(lps);
    const Outcome actual = expect_completed(model);
    EXPECT_EQ(actual.result.committed, 0u);
    EXPECT_EQ(actual.result.reached, model.default_horizon());
  }
}

TEST_P(Boundaries, FinalStateCountsWithoutEvents) {
  ScriptModel model(10);
  model.on_start = [](Context&, ScriptLp& self) { self.memory.assign(3, 7); };
  ScriptModel other(10);
  other.on_start = [](Context& context, ScriptLp& self) {
    self.memory.assign(3, context.self() == 9 ? 8 : 7);
  };
  EXPECT_NE(expect_completed(model).result.fingerprint, run(other).result.fingerprint);
}

TEST_P(Boundaries, OneLp) {
  ScriptModel model(1, 100'000);
  script_walks(model);
  const Outcome actual = expect_completed(model);
  EXPECT_GT(actual.result.committed, 5000u);
  EXPECT_EQ(actual.result.workers, 1u);
}

TEST_P(Boundaries, ManyLps) {
  constexpr LpId kLps = kSanitizers ? 3'000 : 50'000;
  ScriptModel model(kLps, 60);
  script_walks(model);
  EXPECT_GT(expect_completed(model).result.committed, 2 * kLps);
}

TEST_P(Boundaries, ManyLpsOfWhichFewAreBusy) {
  ScriptModel model(50'000, 20'000);
  model.on_start = [](Context& context, ScriptLp&) {
    if (context.self() % 5000 == 77) context.schedule(context.self(), ticks(1), Step{});
  };
  model.on_step = [](Context& context, ScriptLp&, const Step& step) {
    const auto to = static_cast<LpId>(context.random().below(context.lp_count()));
    context.schedule(to, ticks(context.random().integer(1, 30)), Step{0, 0, step.value + 1});
  };
  EXPECT_GT(expect_completed(model).result.committed, 5000u);
}

TEST_P(Boundaries, MessagesToSelfWithZeroDelay) {
  ScriptModel model(6, 400);
  model.on_start = [](Context& context, ScriptLp&) {
    context.schedule(context.self(), ticks(0), Step{0, 20, 1});
  };
  model.on_step = [](Context& context, ScriptLp&, const Step& step) {
    if (step.left > 0) {
      context.schedule(context.self(), ticks(0), Step{0, step.left - 1, step.value * 3});
      if (step.left % 8 == 0)
        context.schedule((context.self() + 1) % 6, ticks(0), Step{1, 0, step.value});
    } else if (step.kind == 0) {
      context.schedule((context.self() + 1) % 6, ticks(9), Step{0, 20, step.value});
    }
  };
  const Outcome actual = expect_completed(model);
  EXPECT_GT(actual.result.committed, 6u * 21 * 40);
}

TEST_P(Boundaries, EverythingAtOneInstant) {
  ScriptModel model(64);
  model.on_start = [](Context& context, ScriptLp&) {
    context.schedule(context.self(), ticks(1), Step{0, 200, context.self()});
  };
  model.on_step = [](Context& context, ScriptLp& self, const Step& step) {
    if (step.left == 0) return;
    const auto to = static_cast<LpId>(context.random().below(context.lp_count()));
    context.schedule(to, ticks(0), Step{0, step.left - 1, step.value ^ self.digest});
  };
  EXPECT_EQ(expect_completed(model).result.committed, 64u * 201);
}

ORRERY_ON_EVERY_ENGINE(Boundaries);

TEST(Workers, MoreThanLps) {
  for (const std::uint64_t lps : {1u, 3u, 7u}) {
    ScriptModel model(lps, 2000);
    script_walks(model);
    const Outcome expected = run_model(model, "sequential", {});
    for (const unsigned workers : {2u, 8u, 100u}) {
      const EngineCase c{"timewarp", workers, "auto", workers};
      const Outcome actual = run_model(model, "timewarp", c.options());
      expect_same(expected, actual, c.text() + ", " + std::to_string(lps) + " LPs");
      EXPECT_EQ(actual.result.workers, std::min<std::uint64_t>(workers, lps));
    }
  }
}

TEST(Workers, FarMoreThanCores) {
  ScriptModel model(256, 300);
  script_walks(model);
  const Outcome expected = run_model(model, "sequential", {});
  const EngineCase c{"timewarp", 64};
  expect_same(expected, run_model(model, "timewarp", c.options()), c.text());
  ScriptModel empty(64);
  expect_same(run_model(empty, "sequential", {}), run_model(empty, "timewarp", c.options()),
              c.text() + ", no events");
}

TEST(Workers, ZeroIsOnePerCore) {
  ScriptModel model(64);
  script_walks(model);
  const Outcome actual = run_model(model, "timewarp", {});
  EXPECT_GE(actual.result.workers, 1u);
  expect_same(run_model(model, "sequential", {}), actual, "timewarp, workers chosen by itself");
}

TEST(Workers, TooManyAreRefusedWithTheLimit) {
  ScriptModel model(100'000);
  RunOptions options;
  options.workers = 100'000;
  try {
    run_model(model, "timewarp", options);
    FAIL() << "100000 workers were accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("1024"), std::string::npos) << error.what();
  }
}

TEST(Options, UnknownNamesAreRefusedBeforeTheRun) {
  ScriptModel model(4);
  model.on_create = [](LpId) { ADD_FAILURE() << "an LP was made for a run that is refused"; };
  for (const char* engine : {"sequential", "timewarp"}) {
    RunOptions options;
    options.pending = "hepa";
    EXPECT_THROW(run_model(model, engine, options), UsageError) << engine;
  }
  for (const char* checkpoint : {"", "periodc", "periodic:0", "periodic:", "periodic:3x"}) {
    RunOptions options;
    EXPECT_THROW(options.set(checkpoint::kCheckpoint, checkpoint), UsageError) << checkpoint;
  }
  EXPECT_THROW(find_engine("timewrap"), UsageError);
}

/// A microstep has 20 bits in the key: a limit beyond them would let keys wrap round unnoticed.
TEST(Options, LivelockLimitBeyondTheKeyIsRefused) {
  ScriptModel model(4);
  for (const char* engine : {"sequential", "timewarp"}) {
    RunOptions options;
    options.livelock_microsteps = Key::kMaxMicrostep;
    EXPECT_NO_THROW(run_model(model, engine, options)) << engine;
    options.livelock_microsteps = Key::kMaxMicrostep + 1;
    EXPECT_THROW(run_model(model, engine, options), UsageError) << engine;
  }
}

// Payloads.

template <std::size_t Bytes, std::size_t Alignment = 8>
struct alignas(Alignment) Load {
  std::array<std::uint64_t, Bytes / 8> words;
};

/// Passes a load of each type round; checks alignment and every word.
template <class... Loads>
class Carrier final : public LogicalProcess<Carrier<Loads...>, Loads...> {
 public:
  void start(Context& context) override { (send<Loads>(context, context.self() + 1), ...); }
  void finish(FinalContext& context) override { context.state(handled_); }

  template <class L>
  void handle(Context& context, const L& load) {
    ++handled_;
    if (reinterpret_cast<std::uintptr_t>(&load) % alignof(L) != 0)
      context.fail("payload at the wrong alignment for " + std::to_string(alignof(L)));
    for (std::size_t i = 0; i < load.words.size(); ++i)
      if (load.words[i] != load.words[0] + i)
        context.fail("word " + std::to_string(i) + " is wrong");
    send<L>(context, load.words[0] * 3 + 1);
  }

 private:
  template <class L>
  void send(Context& context, std::uint64_t first) {
    L load;
    for (std::size_t i = 0; i < load.words.size(); ++i) load.words[i] = first + i;
    const auto to = static_cast<LpId>(context.random().below(context.lp_count()));
    context.schedule(to, ticks(context.random().integer(0, 4) * 5 + 1), load);
  }
  std::uint64_t handled_ = 0;
};

template <class... Loads>
class Carriage final : public Model {
 public:
  explicit Carriage(std::int64_t horizon_ticks) : horizon_(Time::from_ticks(horizon_ticks)) {}
  std::uint64_t lp_count() const override { return 12; }
  Time default_horizon() const override { return horizon_; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<Carrier<Loads...>>();
  }

 private:
  const Time horizon_;
};

class Payloads : public Boundaries {};

TEST_P(Payloads, Alignments) {
  const Carriage<Load<64, 16>, Load<64, 32>, Load<64, 64>, Load<128, 128>, Load<8>> model(1000);
  EXPECT_GT(expect_completed(model).result.committed, 5u * 12 * 50);
}

TEST_P(Payloads, SizesRoundTheSteps) {
  // Event memory comes in multiples of a cache line up to 1024 bytes, then in powers of two.
  const Carriage<Load<8>, Load<16>, Load<72>, Load<960>, Load<968>, Load<976>, Load<984>,
                 Load<1000>, Load<1024>, Load<1032>, Load<1984>, Load<1992>, Load<2000>, Load<4096>>
      model(300);
  EXPECT_GT(expect_completed(model).result.committed, 14u * 12 * 15);
}

TEST_P(Payloads, Huge) {
  const Carriage<Load<100'000>, Load<8>> model(400);
  EXPECT_GT(expect_completed(model).result.committed, 2u * 12 * 20);
}

/// Three bytes: the fingerprint's last word is partly filled.
struct Odd {
  std::uint8_t bytes[3];
};
struct Nothing {};

class OddLp final : public LogicalProcess<OddLp, Odd, Nothing> {
 public:
  void start(Context& context) override { context.schedule(context.self(), ticks(1), Nothing{}); }
  void handle(Context& context, Nothing) {
    const auto byte = static_cast<std::uint8_t>(context.random().below(256));
    context.schedule((context.self() + 1) % context.lp_count(), ticks(3), Odd{{byte, 1, 2}});
  }
  void handle(Context& context, const Odd& odd) {
    sum_ += odd.bytes[0] + 256u * odd.bytes[1] + 65536u * odd.bytes[2];
    context.schedule(context.self(), ticks(1), Nothing{});
  }
  void finish(FinalContext& context) override { context.state(sum_); }

 private:
  std::uint64_t sum_ = 0;
};

class OddModel final : public Model {
 public:
  std::uint64_t lp_count() const override { return 9; }
  Time default_horizon() const override { return Time::from_ticks(1000); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<OddLp>();
  }
};

TEST_P(Payloads, EmptyAndOddSizes) {
  EXPECT_EQ(expect_completed(OddModel()).result.committed, 9u * 499);
}

ORRERY_ON_EVERY_ENGINE(Payloads);

}  // namespace
}  // namespace orrery::testing
