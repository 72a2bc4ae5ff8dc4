// SPDX-License-Identifier: Apache-2.0
//
// Models that do what they must not: the run ends as a fault, at the first of the offending events
// in the order of their keys, with one sentence that names LP, event type and time, the same on
// every engine; and nothing of the failed event leaves.
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

AssertionResult contains(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    if (text.find(part) == std::string::npos)
      return AssertionFailure() << "'" << part << "' is not in: " << text;
  }
  return AssertionSuccess();
}

class Faults : public OnEveryEngine {
 protected:
  /// Runs on both engines; the sentence must hold `parts` and be the same.
  static Outcome expect_fault(const Model& model, const std::vector<std::string>& parts,
                              RunOptions options = {}) {
    const Outcome expected = reference(model, options);
    const Outcome actual = run(model, options);
    EXPECT_EQ(actual.result.end, RunEnd::fault);
    EXPECT_TRUE(contains(actual.result.fault, parts)) << GetParam();
    expect_same(expected, actual, GetParam().text());
    return actual;
  }
};

/// Ordinary walks; LP `lp` misbehaves at its first event at or after `from`.
ScriptModel& misbehave(ScriptModel& model, LpId lp, std::int64_t from,
                       std::function<void(Context&)> crime) {
  script_walks(model);
  const auto walk = model.on_step;
  model.on_step = [walk, lp, from, crime](Context& context, ScriptLp& self, const Step& step) {
    walk(context, self, step);
    if (context.self() == lp && context.now().ticks() >= from) crime(context);
  };
  return model;
}

TEST_P(Faults, NegativeDelay) {
  ScriptModel model(16);
  misbehave(model, 5, 300, [](Context& c) { c.schedule(1, ticks(-7), Step{}); });
  expect_fault(model, {"LP 5", "Step", "negative delay", "to LP 1", "tick 3"});
}

TEST_P(Faults, MostNegativeDelay) {
  ScriptModel model(16);
  misbehave(model, 5, 300, [](Context& c) { c.schedule(1, ticks(INT64_MIN), Step{}); });
  expect_fault(model, {"LP 5", "Step", "negative delay"});
}

TEST_P(Faults, DelayBeyondTheClock) {
  for (const std::int64_t delay : {INT64_MAX, INT64_MAX - 100}) {
    ScriptModel model(16);
    misbehave(model, 9, 500, [delay](Context& c) { c.schedule(1, ticks(delay), Step{}); });
    expect_fault(model, {"LP 9", "Step", "beyond the clock's range", "do not send"});
  }
}

TEST_P(Faults, InfiniteSecondsAreNoDelay) {
  ScriptModel model(16);
  misbehave(model, 9, 500, [](Context& c) {
    c.schedule(1, Duration::from_seconds(std::numeric_limits<double>::infinity()), Step{});
  });
  expect_fault(model, {"LP 9", "Step", "the delay Duration::max() (which infinite seconds are)"});
}

TEST_P(Faults, SecondsThatAreNoNumberAreNoDelay) {
  ScriptModel model(16);
  misbehave(model, 9, 500, [](Context& c) {
    c.schedule(1, Duration::from_seconds(std::numeric_limits<double>::quiet_NaN()), Step{});
  });
  expect_fault(model, {"LP 9", "Step", "Duration::from_seconds: the seconds are not a number"});
}

TEST_P(Faults, LongestDelayThatFitsIsNoFault) {
  ScriptModel model(4);
  misbehave(model, 2, 500,
            [](Context& c) { c.schedule(1, Time::max() - c.now() - ticks(1), Step{}); });
  const Outcome actual = run(model);
  EXPECT_EQ(actual.result.end, RunEnd::completed) << actual.result.fault;
  expect_same(reference(model), actual, GetParam().text());
}

TEST_P(Faults, DestinationOutOfRange) {
  for (const LpId to : {LpId{16}, ~LpId{0}}) {
    ScriptModel model(16);
    misbehave(model, 15, 400, [to](Context& c) { c.schedule(to, ticks(1), Step{}); });
    expect_fault(model, {"LP 15", "Step", "LP " + std::to_string(to), "LPs 0 to 15"});
  }
}

/// Sent where nobody handles it.
struct Stranger {
  std::uint64_t value;
};

TEST_P(Faults, EventTypeWithoutHandler) {
  ScriptModel model(16);
  misbehave(model, 3, 400, [](Context& c) {
    if (c.now().ticks() < 900) c.schedule(7, ticks(2), Stranger{1});
  });
  expect_fault(model, {"LP 7", "no handler", "sent by LP 3"});
}

TEST_P(Faults, StandardException) {
  ScriptModel model(16);
  misbehave(model, 8, 450, [](Context&) { throw std::out_of_range("the shelf is too short"); });
  expect_fault(model, {"LP 8", "Step", "exception", "the shelf is too short", " at "});
}

TEST_P(Faults, ExceptionWithALongMessageFromTheLpsOwnMemory) {
  ScriptModel model(16);
  misbehave(model, 8, 450,
            [](Context&) { throw std::runtime_error(std::string(50'000, 'z') + "END"); });
  expect_fault(model, {"LP 8", "zzzEND"});
}

TEST_P(Faults, ExceptionThatIsNoStandardException) {
  ScriptModel model(16);
  misbehave(model, 8, 450, [](Context&) { throw 42; });
  expect_fault(model, {"LP 8", "Step", "not a std::exception"});
}

TEST_P(Faults, FailSaysWhy) {
  ScriptModel model(16);
  misbehave(model, 0, 450, [](Context& c) { c.fail("the books do not balance"); });
  expect_fault(model, {"LP 0", "Step", "the books do not balance"});
}

/// A handler runs long after the options were read: what it throws is its model's fault.
TEST_P(Faults, UsageErrorFromAHandlerIsAFaultOfTheModel) {
  ScriptModel model(16);
  misbehave(model, 8, 450, [](Context&) { throw UsageError("no such file"); });
  Outcome actual;
  ASSERT_NO_THROW(actual = run(model)) << GetParam();
  EXPECT_EQ(actual.result.end, RunEnd::fault);
  EXPECT_TRUE(contains(actual.result.fault, {"LP 8", "Step", "no such file"})) << GetParam();
}

TEST_P(Faults, EmitWithWrongColumns) {
  struct Crime {
    std::string name;
    std::function<void(Context&, const Table&)> emit;
    std::string what;
  };
  const std::vector<Crime> crimes = {
      {"too few", [](Context& c, const Table& t) { c.emit(t, 1); }, "2 columns"},
      {"too many", [](Context& c, const Table& t) { c.emit(t, 1, 2.0, 3); }, "2 columns"},
      {"real for integer", [](Context& c, const Table& t) { c.emit(t, 1.0, 2.0); },
       "value 1 is a floating-point number, its column 'count' is not"},
      {"integer for real", [](Context& c, const Table& t) { c.emit(t, 1, 2); },
       "value 2 is an integer, its column 'share' is not"},
      {"text for real", [](Context& c, const Table& t) { c.emit(t, 1, "much"); },
       "value 2 is a text, its column 'share' is not"},
      {"texts too few", [](Context& c, const Table& t) { c.emit(t, "one"); }, "2 columns"}};
  for (const Crime& crime : crimes) {
    SCOPED_TRACE(crime.name);
    ScriptModel model(8);
    misbehave(model, 2, 450, [&](Context& c) { crime.emit(c, model.table); });
    expect_fault(model, {"LP 2", "Step", "'table'", crime.what});
  }
}

TEST_P(Faults, EmitWithTooMuchText) {
  ScriptModel model(8);
  const Table words(model, "words", {{"first", ColumnType::text}, {"second", ColumnType::text}},
                    "");
  misbehave(model, 2, 450, [&words](Context& context) {
    const std::string most(Table::kMaxTextBytes, 'x');
    context.emit(words, most, "");
    context.emit(words, most, std::string("y"));
  });
  expect_fault(model, {"LP 2", "Step", "'words'", "more than 4096 bytes of text"});
}

/// Many LPs fail at different times, in an order that differs from their numbers' and from the
/// order of execution: the lowest key counts.
TEST_P(Faults, TheEarliestOfManyIsReported) {
  for (std::uint64_t seed = 1; seed <= (kSanitizers ? 2u : 5u); ++seed) {
    ScriptModel model(64, 5000);
    script_walks(model);
    const auto walk = model.on_step;
    model.on_step = [walk](Context& context, ScriptLp& self, const Step& step) {
      walk(context, self, step);
      const std::int64_t from = 400 + (context.self() * 37) % 64 * 5;
      if (context.now().ticks() >= from) throw std::runtime_error("broken from its time on");
    };
    RunOptions options;
    options.seed = seed;
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_fault(model, {"Step", "broken from its time on"}, options);
  }
}

/// At one instant, microstep by microstep: keys decide, not times alone.
TEST_P(Faults, TheEarliestWithinAnInstantIsReported) {
  ScriptModel model(32);
  model.on_start = [](Context& context, ScriptLp&) {
    context.schedule(context.lp_count() - 1 - context.self(), ticks(10), Step{0, 3, 0});
  };
  model.on_step = [](Context& context, ScriptLp&, const Step& step) {
    if (step.left == 0) throw std::runtime_error("all fail at the same time");
    context.schedule((context.self() * 5 + 3) % context.lp_count(), ticks(0),
                     Step{0, step.left - 1, step.value});
  };
  const Outcome actual = expect_fault(model, {"all fail at the same time", "tick 10"});
  EXPECT_EQ(actual.result.committed, 3u * 32) << GetParam();
}

TEST_P(Faults, FirstEventOfTheRun) {
  ScriptModel model(8);
  model.on_start = [](Context& context, ScriptLp&) {
    if (context.self() == 6) context.schedule(6, ticks(0), Step{});
  };
  model.on_step = [](Context&, ScriptLp&, const Step&) { throw std::runtime_error("at once"); };
  const Outcome actual = expect_fault(model, {"LP 6", "at once"});
  EXPECT_EQ(actual.result.committed, 0u);
}

/// Only committed effects leave: what the failed handler emitted before it failed is not among
/// them.
TEST_P(Faults, RowsOfTheFailedEventAreNotKept) {
  ScriptModel model(8);
  script_walks(model);
  const auto walk = model.on_step;
  model.on_step = [&model, walk](Context& context, ScriptLp& self, const Step& step) {
    walk(context, self, step);
    context.emit(model.table, self.handled, 0.5);
    if (context.self() == 3 && context.now().ticks() >= 450) throw std::runtime_error("too late");
  };
  const Outcome actual = run(model);
  ASSERT_EQ(actual.result.end, RunEnd::fault);
  EXPECT_EQ(actual.rows.size(), actual.result.committed) << GetParam();
  for (const auto& [key, lp, ordinal, table, cells] : actual.rows)
    EXPECT_FALSE(lp == 3 && key.time().ticks() >= 450)
        << GetParam() << ", at " << key.time().ticks();
  expect_same(reference(model), actual, GetParam().text());
}

/// An LP that fails after the horizon never does.
TEST_P(Faults, BeyondTheHorizonIsNotReported) {
  ScriptModel model(16, 400);
  misbehave(model, 8, 400, [](Context&) { throw std::runtime_error("never reached"); });
  const Outcome actual = run(model);
  EXPECT_EQ(actual.result.end, RunEnd::completed) << actual.result.fault;
}

// Set-up.

TEST_P(Faults, ExceptionFromStart) {
  ScriptModel model(16);
  script_walks(model);
  const auto start = model.on_start;
  model.on_start = [start](Context& context, ScriptLp& self) {
    start(context, self);
    if (context.self() % 5 == 4) throw std::runtime_error("stalled at the start");
  };
  const Outcome actual = run(model);
  ASSERT_EQ(actual.result.end, RunEnd::fault) << GetParam();
  EXPECT_TRUE(contains(actual.result.fault, {"LP 4,", "start of the run", "stalled at the start"}))
      << GetParam();
  EXPECT_EQ(actual.result.fault, reference(model).result.fault) << GetParam();
  EXPECT_EQ(actual.result.committed, 0u) << GetParam();
  EXPECT_TRUE(actual.rows.empty()) << GetParam();
}

TEST_P(Faults, BadSendFromStart) {
  ScriptModel model(16);
  model.on_start = [](Context& context, ScriptLp&) {
    if (context.self() == 11) context.schedule(16, ticks(1), Step{});
  };
  const Outcome actual = run(model);
  ASSERT_EQ(actual.result.end, RunEnd::fault) << GetParam();
  EXPECT_TRUE(contains(actual.result.fault, {"LP 11", "start of the run", "LPs 0 to 15"}))
      << GetParam();
  EXPECT_EQ(actual.result.fault, reference(model).result.fault) << GetParam();
}

TEST_P(Faults, ExceptionFromCreateNamesTheLp) {
  ScriptModel model(16);
  model.on_create = [](LpId id) {
    if (id == 5 || id == 12) throw std::runtime_error("no room for it");
  };
  const Outcome actual = run(model);
  ASSERT_EQ(actual.result.end, RunEnd::fault) << GetParam();
  EXPECT_TRUE(contains(actual.result.fault, {"LP 5", "no room for it"})) << GetParam();
  EXPECT_EQ(actual.result.fault, reference(model).result.fault) << GetParam();
}

TEST_P(Faults, UsageErrorFromCreateIsAUsageError) {
  ScriptModel model(16);
  model.on_create = [](LpId id) {
    if (id >= 5) throw UsageError("zone " + std::to_string(id) + " has no node");
  };
  try {
    run(model);
    FAIL() << "no exception on " << GetParam();
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()), "zone 5 has no node") << GetParam();
  }
}

/// All LPs are made before the first is started, on every engine: the making is the first to fail.
TEST_P(Faults, CreateComesBeforeStart) {
  ScriptModel model(16);
  model.on_create = [](LpId id) {
    if (id == 14) throw std::runtime_error("failed in create");
  };
  model.on_start = [](Context& context, ScriptLp&) {
    if (context.self() == 1) throw std::runtime_error("failed in start");
  };
  const Outcome actual = run(model);
  ASSERT_EQ(actual.result.end, RunEnd::fault) << GetParam();
  EXPECT_TRUE(contains(actual.result.fault, {"failed in create"})) << GetParam();
}

// finish(): after the last event, and as guarded as a handler.

TEST_P(Faults, ExceptionFromFinish) {
  ScriptModel model(8);
  script_walks(model);
  model.on_finish = [](FinalContext& context, const ScriptLp&) {
    if (context.self() % 4 == 3) throw std::runtime_error("the sums are wrong");
  };
  expect_fault(model, {"LP 3", "finish()", "the sums are wrong"});
  script_walks(model);
  model.on_finish = nullptr;
  EXPECT_EQ(run(model).result.end, RunEnd::completed) << "a run after it, " << GetParam();
}

TEST_P(Faults, EmitWithWrongColumnsInFinish) {
  ScriptModel model(8);
  model.on_finish = [&model](FinalContext& context, const ScriptLp&) {
    if (context.self() == 6) context.emit(model.table, 1);
  };
  expect_fault(model, {"LP 6", "finish()", "'table'", "2 columns"});
}

// Livelocks.

TEST_P(Faults, ZeroDelayLoopIsALivelockWithItsLps) {
  for (const std::uint32_t limit : {5u, 100u, 1000u}) {
    SCOPED_TRACE("limit " + std::to_string(limit));
    ScriptModel model(64);
    misbehave(model, 20, 500, [](Context& c) { c.schedule(10, ticks(0), Step{7, 0, 0}); });
    const auto walk = model.on_step;
    model.on_step = [walk](Context& context, ScriptLp& self, const Step& step) {
      if (step.kind != 7) return walk(context, self, step);
      const LpId next = context.self() == 10 ? 40 : context.self() == 40 ? 63 : 10;
      context.schedule(next, ticks(0), step);
    };
    RunOptions options;
    options.livelock_microsteps = limit;
    expect_fault(
        model,
        {"livelock", std::to_string(limit) + " events with zero delay", "LPs on it: 10, 40, 63"},
        options);
  }
}

TEST_P(Faults, SentencesHaveTheNamesOfLps) {
  ScriptModel model(16);
  model.on_name = [](LpId id) { return id % 2 == 1 ? "router" + std::to_string(id) : ""; };
  misbehave(model, 5, 300, [](Context& c) { c.schedule(7, ticks(-7), Step{}); });
  expect_fault(model, {"in LP 5 (router5), event Step", "to LP 7 (router7) with the negative"});
  misbehave(model, 6, 300, [](Context& c) { c.schedule(1, ticks(-7), Step{}); });
  expect_fault(model, {"in LP 6, event Step", "to LP 1 (router1) with the negative"});
}

TEST_P(Faults, NamesThatCannotBeHadLeaveTheNumber) {
  for (const char* const kind : {"throws", "control", "long"}) {
    ScriptModel model(16);
    model.on_name = [kind = std::string(kind)](LpId) -> std::string {
      if (kind == "throws") throw std::runtime_error("no name");
      return kind == "control" ? "\x1b[2J" : std::string(300, 'x');
    };
    misbehave(model, 5, 300, [](Context& c) { c.schedule(1, ticks(-7), Step{}); });
    expect_fault(model, {"in LP 5, event Step", "to LP 1 with the negative"});
  }
}

TEST_P(Faults, LivelockOfNamedLps) {
  ScriptModel model(4);
  model.on_name = [](LpId id) { return "router" + std::to_string(id); };
  model.on_start = [](Context& context, ScriptLp&) {
    if (context.self() == 2) context.schedule(2, ticks(5), Step{});
  };
  model.on_step = [](Context& context, ScriptLp&, const Step&) {
    context.schedule(2, ticks(0), Step{});
  };
  RunOptions options;
  options.livelock_microsteps = 200;
  expect_fault(model, {"livelock", "LPs on it: 2 (router2)"}, options);
}

TEST_P(Faults, LivelockOfOneLp) {
  ScriptModel model(4);
  model.on_start = [](Context& context, ScriptLp&) {
    if (context.self() == 2) context.schedule(2, ticks(5), Step{});
  };
  model.on_step = [](Context& context, ScriptLp&, const Step& step) {
    context.schedule(context.self(), ticks(0), step);
  };
  RunOptions options;
  options.livelock_microsteps = 2000;
  expect_fault(model, {"LP 2", "livelock", "LPs on it: 2", "tick 5"}, options);
}

/// Guesses visit other LPs near the limit; only steps that commit are named, of all workers.
TEST_P(Faults, LivelockNamesOnlyLpsOfCommittedSteps) {
  const auto lively = [](double stray) {
    return [stray](Context& c, ScriptLp&, const Step& step) {
      Random& random = c.random();
      const auto any = static_cast<LpId>(random.below(c.lp_count()));
      const auto delay = static_cast<std::int64_t>(1 + random.below(5));
      if (c.now().ticks() < 100) return c.schedule(any, ticks(delay), step);
      c.schedule(random.bernoulli(stray) ? any : (c.self() + 1) % 3, ticks(0), step);
    };
  };
  for (const double stray : {0.02, 0.5}) {
    SCOPED_TRACE("share of strays " + std::to_string(stray));
    ScriptModel model(40, 300);
    model.on_start = [](Context& c, ScriptLp&) {
      c.schedule(c.self(), ticks(1 + c.self() % 5), Step{});
    };
    model.on_step = lively(stray);
    RunOptions options;
    options.livelock_microsteps = 300;
    for (int repeat = 0; repeat < (kSanitizers ? 1 : 3); ++repeat)
      expect_fault(model, {"livelock", "LPs on it: 0, ", stray > 0.1 ? " and others" : ""},
                   options);
  }
}

TEST_P(Faults, ZeroDelayChainUpToTheLimitIsNone) {
  const std::uint32_t limit = 500;
  for (const std::uint32_t length : {limit, limit + 1}) {
    ScriptModel model(4);
    model.on_start = [length](Context& context, ScriptLp&) {
      if (context.self() == 0) context.schedule(0, ticks(5), Step{0, length, 0});
    };
    model.on_step = [](Context& context, ScriptLp&, const Step& step) {
      if (step.left > 0)
        context.schedule((context.self() + 1) % 4, ticks(0), Step{0, step.left - 1, 0});
    };
    RunOptions options;
    options.livelock_microsteps = limit;
    const Outcome actual = run(model, options);
    EXPECT_EQ(actual.result.end, length <= limit ? RunEnd::completed : RunEnd::fault)
        << GetParam() << ", chain of " << length << ": " << actual.result.fault;
    expect_same(reference(model, options), actual, GetParam().text());
  }
}

/// A harmless zero-delay chain before a fault of another kind is not mentioned with it.
TEST_P(Faults, OtherFaultsDoNotNameTheLpsOfAChain) {
  ScriptModel model(8);
  model.on_start = [](Context& context, ScriptLp&) {
    if (context.self() == 0) context.schedule(1, ticks(5), Step{0, 8, 0});
    if (context.self() == 3) context.schedule(3, ticks(9), Step{1, 0, 0});
  };
  model.on_step = [](Context& context, ScriptLp&, const Step& step) {
    if (step.kind == 1) throw std::runtime_error("something else");
    if (step.left > 0) context.schedule(context.self(), ticks(0), Step{0, step.left - 1, 0});
  };
  RunOptions options;
  options.livelock_microsteps = 10;
  const Outcome actual = expect_fault(model, {"LP 3", "something else"}, options);
  EXPECT_EQ(actual.result.fault.find("LPs on it"), std::string::npos) << actual.result.fault;
}

// Faults that only wrong guesses see.

/// LP 0 holds the run up in real time, so that others run ahead of it and see `Use` before `Open`.
/// Such executions fail in `crime`; none of them may be reported.
class Speculation : public OnEveryEngine {
 protected:
  static void run_ahead(std::function<void(ScriptLp&)> crime) {
    ScriptModel model(8, 2000);
    enum : std::uint32_t { kTick, kOpen, kUse, kBystander };
    model.on_start = [](Context& context, ScriptLp&) {
      // LPs 0 to 3 lie on the first workers, 4 to 7 on the last.
      if (context.self() == 0) context.schedule(0, ticks(10), Step{kTick, 0, 0});
      if (context.self() == 6) context.schedule(6, ticks(12), Step{kTick, 0, 0});
      if (context.self() >= 4) context.schedule(context.self(), ticks(16), Step{kBystander, 0, 0});
    };
    model.on_step = [crime](Context& context, ScriptLp& self, const Step& step) {
      switch (step.kind) {
        case kTick:
          if (context.self() == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            context.schedule(7, ticks(1), Step{kOpen, 0, 0});
          } else {
            context.schedule(7, ticks(1), Step{kUse, 0, 0});
          }
          context.schedule(context.self(), ticks(50), step);
          break;
        case kOpen:
          self.memory.push_back(1);
          break;
        case kUse:
          if (self.memory.empty()) return crime(self);
          self.memory.pop_back();
          break;
        default:
          context.schedule(context.self(), ticks(10), step);
      }
    };
    const Outcome expected = reference(model);
    ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
    for (int repetition = 0; repetition < 3; ++repetition) {
      const Outcome actual = run(model);
      expect_same(expected, actual, GetParam().text());
      if (GetParam().engine == "timewarp" && GetParam().workers > 1) {
        EXPECT_GT(statistic(actual.result, "rollbacks"), 0) << "the test has lost its point";
      }
    }
  }
};

TEST_P(Speculation, ExceptionsOfWrongGuessesAreNotReported) {
  run_ahead([](ScriptLp&) { throw std::logic_error("used before it was opened"); });
}

TEST_P(Speculation, OtherExceptionsOfWrongGuessesAreNotReported) {
  run_ahead([](ScriptLp&) { throw 1; });
}

ORRERY_ON_EVERY_ENGINE(Faults);
ORRERY_ON_EVERY_ENGINE(Speculation);

// Misuse of memory: found where LPs have heaps of their own.

class Misuse : public OnEveryEngine {
 protected:
  static Outcome expect_fault(const Model& model, const std::vector<std::string>& parts) {
    const Outcome outcome = run(model);
    EXPECT_EQ(outcome.result.end, RunEnd::fault) << GetParam();
    EXPECT_TRUE(contains(outcome.result.fault, parts)) << GetParam();
    return outcome;
  }
};

void* allocate_hidden(std::size_t bytes) {
  static void* (*volatile function)(std::size_t) = std::malloc;
  return function(bytes);
}
/// The compiler knows what free is and would refuse what these tests do with it.
void free_hidden(void* pointer) {
  static void (*volatile function)(void*) = std::free;
  function(pointer);
}
std::uint64_t word_of(void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}
void* pointer_of(std::uint64_t word) {
  return reinterpret_cast<void*>(word);
}

TEST_P(Misuse, DoubleFree) {
  ScriptModel model(8);
  misbehave(model, 5, 300, [](Context&) {
    void* memory = allocate_hidden(100);
    free_hidden(memory);
    free_hidden(memory);
  });
  expect_fault(model, {"LP 5", "Step", "misused its memory", "not allocated (freed twice?)"});
}

TEST_P(Misuse, DoubleFreeInDifferentEvents) {
  ScriptModel model(8);
  model.on_start = [](Context& context, ScriptLp& self) {
    self.memory.push_back(word_of(allocate_hidden(200)));
    context.schedule(context.self(), ticks(10 + context.self()), Step{});
  };
  model.on_step = [](Context& context, ScriptLp& self, const Step& step) {
    if (context.self() == 3 || self.handled == 1) free_hidden(pointer_of(self.memory[0]));
    if (self.handled < 3) context.schedule(context.self(), ticks(10), step);
  };
  expect_fault(model, {"LP 3", "tick 23", "misused its memory", "not allocated (freed twice?)"});
}

TEST_P(Misuse, FreeOfAnotherLpsMemory) {
  ScriptModel model(8);
  model.on_start = [](Context& context, ScriptLp& self) {
    self.memory.push_back(word_of(allocate_hidden(64)));
    if (context.self() == 2) context.schedule(5, ticks(40), Step{0, 0, self.memory[0]});
    context.schedule(context.self(), ticks(1), Step{});
  };
  model.on_step = [](Context& context, ScriptLp&, const Step& step) {
    if (step.value != 0) return free_hidden(pointer_of(step.value));
    context.schedule(context.self(), ticks(7), step);
  };
  expect_fault(model, {"LP 5", "tick 40", "misused its memory", "another LP"});
}

TEST_P(Misuse, FreeOfAnAddressWithinAnAllocation) {
  ScriptModel model(8);
  misbehave(model, 5, 300,
            [](Context&) { free_hidden(static_cast<char*>(allocate_hidden(4096)) + 64); });
  expect_fault(model, {"LP 5", "Step", "misused its memory"});
}

/// A handler that misuses memory and then throws has one fault; the next event is innocent.
TEST_P(Misuse, AFaultDoesNotSpillOverToTheNextEvent) {
  ScriptModel model(8);
  misbehave(model, 5, 300, [](Context&) {
    void* memory = allocate_hidden(100);
    free_hidden(memory);
    free_hidden(memory);
    throw std::runtime_error("and now it throws");
  });
  expect_fault(model, {"LP 5", "Step"});

  ScriptModel innocent(8);  // on the same threads, if an engine keeps them
  script_walks(innocent);
  EXPECT_EQ(run(innocent).result.end, RunEnd::completed);
}

TEST_P(Misuse, InStart) {
  ScriptModel model(8);
  script_walks(model);
  const auto start = model.on_start;
  model.on_start = [start](Context& context, ScriptLp& self) {
    start(context, self);
    if (context.self() != 2) return;
    void* memory = allocate_hidden(100);
    free_hidden(memory);
    free_hidden(memory);
  };
  expect_fault(model, {"LP 2", "start of the run", "misused its memory"});
}

TEST_P(Misuse, InFinish) {
  ScriptModel model(8);
  model.on_finish = [](FinalContext& context, const ScriptLp&) {
    if (context.self() != 2) return;
    void* memory = allocate_hidden(100);
    free_hidden(memory);
    free_hidden(memory);
  };
  expect_fault(model, {"LP 2", "finish()", "misused its memory"});
}

/// The same as Speculation, with misuse in place of the exception.
class SpeculativeMisuse : public Speculation {};

TEST_P(SpeculativeMisuse, OfWrongGuessesIsNotReported) {
  run_ahead([](ScriptLp&) {
    void* memory = allocate_hidden(100);
    free_hidden(memory);
    free_hidden(memory);
  });
}

TEST_P(SpeculativeMisuse, FollowedByAnExceptionIsNotReported) {
  run_ahead([](ScriptLp&) {
    void* memory = allocate_hidden(100);
    free_hidden(memory);
    free_hidden(memory);
    throw std::logic_error("used before it was opened");
  });
}

std::vector<EngineCase> with_lp_heaps() {
  return {{"sequential", 1, "auto", 0, true}, {"timewarp", 1}, {"timewarp", 2}, {"timewarp", 4}};
}
INSTANTIATE_TEST_SUITE_P(Engines, Misuse, ::testing::ValuesIn(with_lp_heaps()),
                         [](const auto& test) { return test.param.identifier(); });
INSTANTIATE_TEST_SUITE_P(Engines, SpeculativeMisuse, ::testing::ValuesIn(with_lp_heaps()),
                         [](const auto& test) { return test.param.identifier(); });

}  // namespace
}  // namespace orrery::testing
