// SPDX-License-Identifier: Apache-2.0
//
// Expanded events: what a handler sees of them and what it must not do, on every engine; and what
// the engine `expanded` makes of them: that independent events overlap and others do not, what a
// fault takes back, how it copes with few cores, and which options it refuses.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "engine/expanded/schedule.h"
#include "engine/expanded/settings.h"
#include "engine/expanded/slot.h"
#include "equality/random_model.h"
#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

/// All modes of the engine.
std::vector<RunOptions> all_ways(unsigned workers) {
  std::vector<RunOptions> ways;
  for (const char* mode : {"auto", "in-place", "batched"}) {
    RunOptions options;
    options.workers = workers;
    options.bind = false;
    options.set(expanded::kMode, mode);
    ways.push_back(options);
  }
  return ways;
}

std::string text(const RunOptions& o) {
  return o.get(expanded::kMode) + ", " + std::to_string(o.workers) + " workers";
}

class Expanded : public OnEveryEngine {
 protected:
  static Outcome expect_fault(const Model& model, const std::vector<std::string>& parts) {
    const Outcome expected = reference(model);
    const Outcome actual = run(model);
    EXPECT_EQ(actual.result.end, RunEnd::fault) << GetParam();
    for (const std::string& part : parts)
      EXPECT_NE(actual.result.fault.find(part), std::string::npos)
          << "'" << part << "' is not in: " << actual.result.fault;
    expect_same(expected, actual, GetParam().text());
    return actual;
  }
};

/// Walks of ordinary and expanded events, of zero and of other durations.
void script_mixed_walks(ScriptModel& model) {
  model.on_start = [](Context& context, ScriptLp&) {
    context.schedule_expanded(context.self(), ticks(context.self() % 5), ticks(context.self() % 3),
                              Step{0, 0, context.self()});
    context.schedule(context.self(), ticks(1), Step{1, 0, context.self()});
  };
  model.on_step = [&model](Context& context, ScriptLp& self, const Step& step) {
    auto& random = context.random();
    const auto to = static_cast<LpId>(random.below(context.lp_count()));
    const Duration wait =
        context.duration() + ticks(random.integer(step.value % 4 == 0 ? 0 : 1, 9));
    const std::int64_t duration = random.integer(-6, 12);
    self.memory.assign(1, step.value);
    if (step.value % 3 == 0) context.emit(model.table, step.value, 0.25);
    context.record(model.metric, static_cast<double>(context.duration().ticks()));
    const Step next{step.kind, 0, step.value * 5 + 1};
    if (duration < -3) return context.schedule(to, wait, next);
    context.schedule_expanded(to, wait, ticks(std::max<std::int64_t>(duration, 0)), next);
  };
}

TEST_P(Expanded, MixedWalks) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    ScriptModel model(20 * seed, 300);
    script_mixed_walks(model);
    RunOptions options;
    options.seed = seed;
    EXPECT_GT(expect_completed(model, options).result.committed, 500u);
  }
}

TEST_P(Expanded, TheHandlerSeesStartDurationAndEnd) {
  ScriptModel model(2, 1000);
  model.on_start = [](Context& context, ScriptLp&) {
    EXPECT_EQ(context.duration(), Duration::zero());
    EXPECT_EQ(context.end(), Time::zero());
    context.schedule_expanded(context.self(), ticks(10), ticks(7), Step{0, 3, 0});
  };
  model.on_step = [](Context& context, ScriptLp&, const Step& step) {
    const std::int64_t now = context.now().ticks();
    EXPECT_EQ(context.end(), context.now() + context.duration());
    if (step.left == 3) {
      EXPECT_EQ(now, 10);
      EXPECT_EQ(context.duration(), ticks(7));
      context.schedule(context.self(), context.duration(), Step{0, 2, 0});
    } else if (step.left == 2) {
      EXPECT_EQ(now, 17);
      EXPECT_EQ(context.duration(), ticks(0)) << "left over from an expanded event";
      context.schedule_expanded(context.self(), ticks(0), ticks(0), Step{0, 1, 0});
    } else if (step.left == 1) {
      EXPECT_EQ(now, 17);
      EXPECT_EQ(context.duration(), ticks(0));
    }
  };
  EXPECT_EQ(expect_completed(model).result.committed, 6u);
}

/// The last moment of the clock is not a time.
TEST_P(Expanded, TheLongestDurationIsNoFault) {
  ScriptModel model(2, 1000);
  model.on_start = [](Context& context, ScriptLp&) {
    context.schedule_expanded(context.self(), ticks(5), Time::max() - Time::zero() - ticks(6),
                              Step{});
  };
  EXPECT_EQ(expect_completed(model).result.committed, 2u);
}

/// What commits is decided by the start: the horizon may lie within an event.
TEST_P(Expanded, HorizonWithinAnEvent) {
  ScriptModel model(3, 100);
  model.on_start = [](Context& context, ScriptLp&) {
    context.schedule_expanded(context.self(), ticks(90 + 5 * context.self()), ticks(50), Step{});
  };
  model.on_step = [](Context& context, ScriptLp&, const Step&) {
    context.schedule(context.self(), context.duration(), Step{});
  };
  const Outcome actual = expect_completed(model);
  EXPECT_EQ(actual.result.committed, 2u) << "those at 90 and 95, not the one at 100";
}

template <class Crime>
void misbehave(ScriptModel& model, Crime crime) {
  script_mixed_walks(model);
  const auto walk = model.on_step;
  model.on_step = [walk, crime](Context& context, ScriptLp& self, const Step& step) {
    walk(context, self, step);
    if (context.self() == 5 && context.now().ticks() >= 200) crime(context);
  };
}

TEST_P(Expanded, NegativeDurationIsAFault) {
  ScriptModel model(16);
  misbehave(model, [](Context& c) { c.schedule_expanded(1, c.duration(), ticks(-7), Step{}); });
  expect_fault(model, {"LP 5", "Step", "expanded event to LP 1", "negative duration of -7 ticks",
                       "0 or more"});
}

TEST_P(Expanded, EndBeyondTheClockIsAFault) {
  for (const std::int64_t duration : {INT64_MAX, INT64_MAX - 100}) {
    ScriptModel model(16);
    misbehave(model, [duration](Context& c) {
      c.schedule_expanded(2, c.duration(), ticks(duration), Step{});
    });
    expect_fault(model, {"LP 5", "Step", "expanded event to LP 2", "beyond the clock's range",
                         std::to_string(duration), "use a shorter duration"});
  }
}

TEST_P(Expanded, SendBeforeItsOwnEndIsAFault) {
  for (const bool expanded : {false, true}) {
    ScriptModel model(8);
    model.on_start = [](Context& context, ScriptLp&) {
      if (context.self() == 3) context.schedule_expanded(3, ticks(100), ticks(5), Step{});
    };
    model.on_step = [expanded](Context& context, ScriptLp&, const Step&) {
      if (expanded) return context.schedule_expanded(1, ticks(3), ticks(50), Step{});
      context.schedule(1, ticks(3), Step{});
    };
    expect_fault(model, {"LP 3", "Step", "sends an event to LP 1 3 ns after its start",
                         "before its own end at 105 ns", "context.duration()"});
  }
}

TEST_P(Expanded, NegativeDelayIsStillCalledThat) {
  ScriptModel model(8);
  model.on_start = [](Context& context, ScriptLp&) {
    if (context.self() == 3) context.schedule_expanded(3, ticks(100), ticks(5), Step{});
  };
  model.on_step = [](Context& context, ScriptLp&, const Step&) {
    context.schedule(1, ticks(-3), Step{});
  };
  expect_fault(model, {"LP 3", "negative delay -3 ns"});
}

struct Nothing {};
struct Reals {
  double values[3];
};
struct Odd {
  std::uint8_t bytes[13];
};
class TypesModel;
class TypesLp final : public LogicalProcess<TypesLp, Nothing, Reals, Odd> {
 public:
  explicit TypesLp(std::int64_t duration) : duration_(duration) {}
  void start(Context& c) override {
    const Duration d = ticks(duration_);
    c.schedule_expanded(c.self(), ticks(1), d, Nothing{});
    c.schedule_expanded(c.self(), ticks(2), d, Reals{{0.5, 1.5, 2.5}});
    c.schedule_expanded(c.self(), ticks(3), d, Odd{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}});
  }
  void handle(Context& c, Nothing) { EXPECT_EQ(c.duration(), ticks(duration_)); }
  void handle(Context& c, const Reals& reals) {
    EXPECT_EQ(reals.values[2], 2.5);
    EXPECT_EQ(c.duration(), ticks(duration_));
  }
  void handle(Context& c, const Odd& odd) {
    for (std::uint8_t i = 0; i < 13; ++i) EXPECT_EQ(odd.bytes[i], i + 1);
    EXPECT_EQ(c.duration(), ticks(duration_));
  }

 private:
  std::int64_t duration_;
};
class TypesModel final : public Model {
 public:
  explicit TypesModel(std::int64_t duration) : duration_(duration) {}
  std::uint64_t lp_count() const override { return 3; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<TypesLp>(duration_);
  }

 private:
  std::int64_t duration_;
};

/// Types without bytes, with bytes that are not hashed, and with an odd number of them; a duration
/// enters the fingerprint with all.
TEST_P(Expanded, PayloadsOfAllKinds) {
  std::set<std::uint64_t> fingerprints;
  for (const std::int64_t duration : {0, 1, 2, 1'000'000}) {
    const TypesModel model(duration);
    const Outcome actual = expect_completed(model);
    EXPECT_EQ(actual.result.committed, 9u);
    fingerprints.insert(actual.result.fingerprint);
  }
  EXPECT_EQ(fingerprints.size(), 4u);
}

ORRERY_ON_EVERY_ENGINE(Expanded);

// The schedule alone.

using expanded::barrier_of;
using TestEvent = expanded::Event;
using TestSchedule = expanded::Schedule;

class TestEvents {
 public:
  TestEvent* make(std::int64_t time, LpId lp, std::int64_t duration, std::uint32_t microstep = 0) {
    auto& memory = memory_.emplace_back(std::make_unique<Memory>());
    auto* event = new (memory->data()) TestEvent(EventHeader(
        Key(Time::from_ticks(time), microstep, 0, ++count_), lp, 1, PayloadSize(8, true, true)));
    std::memcpy(event->payload(), &duration, 8);
    return event;
  }

 private:
  struct alignas(64) Memory : std::array<std::byte, 64> {};
  std::vector<std::unique_ptr<Memory>> memory_;
  std::uint64_t count_ = 0;
};

TEST(ExpandedSchedule, Barriers) {
  TestEvents events;
  EXPECT_EQ(barrier_of(*events.make(10, 0, 5)), Key::start_of(Time::from_ticks(15)));
  EXPECT_EQ(barrier_of(*events.make(10, 0, 0)), Key(Time::from_ticks(10), 1, 0, 0));
  EXPECT_EQ(barrier_of(*events.make(10, 0, 0, 7)), Key(Time::from_ticks(10), 8, 0, 0));
  EXPECT_EQ(barrier_of(*events.make(10, 0, 0, Key::kMaxStep)), Key::start_of(Time::from_ticks(11)));
}

class ScheduleTest : public ::testing::Test {
 protected:
  void push(TestEvent* event) {
    event->next = nullptr;
    schedule.push(event);
  }
  /// Takes the next event if there is one that may start: its time, else -1.
  std::int64_t take(std::uint32_t* handle = nullptr) {
    const auto choice = schedule.next([](unsigned) { return false; });
    if (choice.event == nullptr) return -1;
    const auto started = schedule.start(choice, 0);
    if (handle != nullptr) *handle = started;
    return choice.event->time().ticks();
  }
  TestEvents events;
  const LpExecutions executions;
  TestSchedule schedule{8, executions};
};

TEST_F(ScheduleTest, WhatStartsBeforeTheEarliestEndMayStart) {
  push(events.make(10, 0, 5));
  push(events.make(14, 1, 100));
  push(events.make(15, 2, 1));
  std::uint32_t first = 0, second = 0;
  schedule.begin_round();
  EXPECT_EQ(take(&first), 10);
  EXPECT_EQ(take(&second), 14);
  EXPECT_EQ(take(), -1) << "15 is when the first one ends";
  schedule.finish(first);
  schedule.begin_round();
  EXPECT_EQ(take(), 15) << "the second one ends at 114";
}

TEST_F(ScheduleTest, ZeroDurationHoldsBackTheNextMicrostep) {
  push(events.make(10, 0, 0));
  push(events.make(10, 1, 0));
  push(events.make(10, 2, 0, 1));
  schedule.begin_round();
  EXPECT_EQ(take(), 10);
  EXPECT_EQ(take(), 10);
  EXPECT_EQ(take(), -1);
}

TEST_F(ScheduleTest, OneEventOfAnLpAtATime) {
  push(events.make(10, 0, 50));
  push(events.make(11, 0, 50));
  push(events.make(12, 1, 50));
  std::uint32_t first = 0;
  schedule.begin_round();
  EXPECT_EQ(take(&first), 10);
  EXPECT_EQ(take(), 12) << "11 waits for its LP, 12 need not wait for 11";
  EXPECT_EQ(take(), -1);
  schedule.finish(first);
  schedule.begin_round();
  EXPECT_EQ(take(), 11);
}

/// The trap: 12 is below the barriers of all that is in progress, but an event that has not started
/// because its LP is busy may still send something to 12's LP before it.
TEST_F(ScheduleTest, AnEventThatWaitsForItsLpRaisesItsBarrier) {
  push(events.make(10, 0, 50));
  push(events.make(11, 0, 1));
  push(events.make(12, 1, 50));
  std::uint32_t first = 0, second = 0;
  schedule.begin_round();
  EXPECT_EQ(take(&first), 10);
  EXPECT_EQ(take(), -1);
  schedule.finish(first);
  schedule.begin_round();
  EXPECT_EQ(take(&second), 11);
  EXPECT_EQ(take(), -1);
  schedule.finish(second);
  push(events.make(12, 1, 0));
  schedule.begin_round();
  EXPECT_EQ(take(), 12);
}

TEST_F(ScheduleTest, SearchBeyondBusyLpsIsBounded) {
  push(events.make(10, 0, 1000));
  const auto most = static_cast<std::int64_t>(TestSchedule::kMostAside);
  for (std::int64_t i = 0; i < most; ++i) push(events.make(11 + i, 0, 1000));
  push(events.make(500, 1, 1));
  std::uint32_t first = 0;
  schedule.begin_round();
  EXPECT_EQ(take(&first), 10);
  EXPECT_EQ(take(), -1);
  schedule.finish(first);
  schedule.begin_round();
  EXPECT_EQ(take(), 11);
  EXPECT_EQ(take(), 500);
}

TEST_F(ScheduleTest, EventsOfABusyLpMayFollowToItsWorker) {
  push(events.make(10, 0, 50));
  push(events.make(11, 0, 50));
  schedule.begin_round();
  const auto first = schedule.next([](unsigned) { return true; });
  schedule.start(first, 3);
  const auto second = schedule.next([](unsigned worker) { return worker == 3; });
  ASSERT_NE(second.event, nullptr);
  EXPECT_EQ(second.worker, 3u);
}

TEST_F(ScheduleTest, NothingStartsBeyondTheLimit) {
  push(events.make(10, 0, 50));
  push(events.make(11, 1, 50));
  schedule.lower_limit(Key::start_of(Time::from_ticks(11)));
  schedule.begin_round();
  EXPECT_EQ(take(), 10);
  EXPECT_EQ(take(), -1);
}

// The engine.

/// Counts handlers that run at the same time.
struct Overlap {
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  void enter() {
    const int inside = ++now;
    int seen = most.load();
    while (seen < inside && !most.compare_exchange_weak(seen, inside)) {
    }
    // Long enough for the others to come.
    for (int i = 0; i < 100 && most.load() < 2; ++i)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    --now;
  }
};

TEST(ExpandedEngine, IndependentEventsOverlapAndOthersDoNot) {
  for (const std::int64_t duration : {50, 0}) {
    for (const RunOptions& options : all_ways(3)) {
      if (options.get(expanded::kMode) != "batched") continue;
      Overlap overlap;
      ScriptModel model(4, 1000);
      model.on_start = [duration](Context& c, ScriptLp&) {
        c.schedule_expanded(c.self(), ticks(10 + c.self()), ticks(duration), Step{});
      };
      model.on_step = [&overlap](Context&, ScriptLp&, const Step&) { overlap.enter(); };
      const Outcome actual = run_model(model, "expanded", options);
      EXPECT_EQ(actual.result.committed, 4u);
      if (duration > 0) {
        EXPECT_GE(overlap.most, 2) << text(options);
      } else {
        EXPECT_EQ(overlap.most, 1) << text(options);
      }
    }
  }
}

/// Two handlers of one LP never run at once, whatever their durations say.
TEST(ExpandedEngine, AnLpIsNeverInTwoHands) {
  for (const RunOptions& options : all_ways(4)) {
    std::array<std::atomic<int>, 6> inside{};
    std::atomic<int> violations{0};
    ScriptModel model(6, 500);
    script_mixed_walks(model);
    const auto walk = model.on_step;
    model.on_step = [&, walk](Context& context, ScriptLp& self, const Step& step) {
      if (inside[context.self()]++ != 0) ++violations;
      walk(context, self, step);
      --inside[context.self()];
    };
    expect_same(run_model(model, "sequential", {}), run_model(model, "expanded", options),
                text(options));
    EXPECT_EQ(violations, 0) << text(options);
  }
}

/// A later event fails at once, an earlier one takes its time and fails as well: the earlier one
/// counts, and what others have finished behind it does not.
TEST(ExpandedEngine, TheLowestFaultCountsAndTakesBackWhatIsBehindIt) {
  for (const RunOptions& options : all_ways(4)) {
    ScriptModel model(8, 1000);
    model.on_start = [](Context& c, ScriptLp&) {
      c.schedule_expanded(c.self(), ticks(10 + c.self()), ticks(100), Step{});
    };
    model.on_step = [&model](Context& c, ScriptLp&, const Step&) {
      c.emit(model.table, c.self(), 0.5);
      if (c.self() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      if (c.self() == 2 || c.self() == 4) throw std::runtime_error("told to");
      if (c.now().ticks() < 500) c.schedule_expanded(c.self(), c.duration(), ticks(100), Step{});
    };
    const Outcome expected = run_model(model, "sequential", {});
    const Outcome actual = run_model(model, "expanded", options);
    EXPECT_NE(actual.result.fault.find("LP 2,"), std::string::npos) << actual.result.fault;
    EXPECT_EQ(actual.result.committed, 2u) << text(options);
    expect_same(expected, actual, text(options));
  }
}

/// Also where so much is finished by then that what is final is being forgotten: that starts with
/// 4,096 events. (What followed a fault was forgotten, too, in one run of four; found by the
/// fuzzer.)
TEST(ExpandedEngine, WhatIsBehindAFaultIsTakenBackInLongRuns) {
  const RandomModel model({.lps = 64,
                           .grain_ticks = 1,
                           .horizon = Duration::from_ticks(825),
                           .fault_at_event = 60,
                           .durations = true});
  RunOptions options;
  options.seed = 772454;
  const Outcome expected = run_model(model, "sequential", options);
  ASSERT_EQ(expected.result.end, RunEnd::fault);
  ASSERT_GT(expected.result.committed, 4'096u);
  ASSERT_LT(expected.result.committed, 4'200u);
  for (unsigned i = 0; i < (kSanitizers ? 6u : 24u); ++i) {
    const EngineCase engine{"expanded", 2 + i % 3, "batched"};
    const Outcome actual = run_model(model, "expanded", engine.options(options));
    EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint) << engine.text();
    EXPECT_EQ(actual.result.committed, expected.result.committed) << engine.text();
  }
}

TEST(ExpandedEngine, FarMoreWorkersThanCores) {
  ScriptModel model(64, 80);
  script_mixed_walks(model);
  const Outcome expected = run_model(model, "sequential", {});
  for (const RunOptions& options : all_ways(16))
    expect_same(expected, run_model(model, "expanded", options), text(options));
  RunOptions options;
  options.workers = 100;
  ScriptModel small(3, 500);
  script_mixed_walks(small);
  const Outcome actual = run_model(small, "expanded", options);
  EXPECT_EQ(actual.result.workers, 3u);
  expect_same(run_model(small, "sequential", {}), actual, "more workers than LPs");
}

TEST(ExpandedEngine, NoEventsAtAll) {
  const ScriptModel model(8);
  for (const RunOptions& options : all_ways(3))
    expect_same(run_model(model, "sequential", {}), run_model(model, "expanded", options),
                text(options));
}

/// Asked to stop at any moment it stands where everything up to some key is done.
TEST(ExpandedEngine, AStoppedRunIsConsistent) {
  for (const RunOptions& base : all_ways(3)) {
    ScriptModel model(16, 2'000'000'000);
    script_mixed_walks(model);
    const auto walk = model.on_step;
    RunControl control;
    model.on_step = [walk, &control](Context& context, ScriptLp& self, const Step& step) {
      walk(context, self, step);
      if (context.now().ticks() > 300) control.stop_requested = true;
    };
    RunOptions options = base;
    options.until = model.default_horizon();
    const RunResult result = find_engine("expanded").make()->run(model, options, control);
    ASSERT_EQ(result.end, RunEnd::interrupted) << text(options);
    model.on_step = walk;
    RunOptions before, within;
    before.until = result.reached;
    within.until = result.reached + ticks(1);
    EXPECT_GE(result.committed, run_model(model, "sequential", before).result.committed);
    EXPECT_LE(result.committed, run_model(model, "sequential", within).result.committed);
  }
}

TEST(ExpandedEngine, RefusesWhatItDoesNotKnow) {
  ScriptModel model(4);
  model.on_create = [](LpId) { ADD_FAILURE() << "an LP was made for a run that is refused"; };
  RunOptions options;
  try {
    options.set(expanded::kMode, "bached");
    FAIL() << "not refused";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("batched"), std::string::npos) << error.what();
  }
  options.workers = 5000;
  EXPECT_THROW(run_model(model, "expanded", options), UsageError);
}

TEST(ExpandedEngine, ModesThatHaveGoneAreAcceptedWithANote) {
  const ScriptModel model(8);
  for (const char* mode : {"single", "decentralised"}) {
    RunOptions options;
    options.workers = 2;
    options.set(expanded::kMode, mode);
    const Outcome actual = run_model(model, "expanded", options);
    expect_same(run_model(model, "sequential", {}), actual, mode);
    ASSERT_FALSE(actual.result.notes.empty()) << mode;
    EXPECT_EQ(actual.result.notes[0], std::string("--expanded-mode ") + mode + " is batched now");
  }
}

/// A worker is called when several others end its reasons to wait at once.
TEST(ExpandedEngine, CallsAreNotLost) {
  expanded::Slot slot;
  const std::uint32_t last = slot.take_calls();
  slot.call();
  slot.call();
  EXPECT_NE(slot.wait_for_word(last, SpinThenYield(true)), last);
  EXPECT_EQ(slot.take_calls(), last);
  slot.give(nullptr, 7);
  slot.publish();
  const std::uint32_t word = slot.wait_for_word(last, SpinThenYield(true));
  EXPECT_EQ(expanded::Slot::count_of(word), 1u);
  EXPECT_FALSE(slot.is_done(word));
  slot.dismiss();
  EXPECT_EQ(slot.take_calls() & expanded::Slot::kLeave, expanded::Slot::kLeave);
}

}  // namespace
}  // namespace orrery::testing
