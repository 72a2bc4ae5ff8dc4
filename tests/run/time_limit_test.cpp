// SPDX-License-Identifier: Apache-2.0
//
// Calls that take too long: on every engine the same sentence; dropped where LPs lie in heaps, the
// end of the process elsewhere; and nothing happens to those that are only slow for once.
#include "run/execution/time_limit.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/cycles.h"
#include "core/model_stack.h"
#include "run/containment/crash_guard.h"
#include "run/containment/preemption.h"
#include "run/engine_cases.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

constexpr std::int64_t kLimit = 100'000;  // microseconds, the least
constexpr const char* kSentence =
    "model fault in LP 2, event Step at 7 ns (tick 7): it ran for more than 0.1 s of wall-clock "
    "time, the --event-time-limit (a loop without end?)";

void spin(double seconds) {
  const std::uint64_t end = read_cycles() + cycles_in(seconds);
  while (read_cycles() < end) {
  }
}

enum class Way { spins, in_the_library, sends, waits };

void do_for_ever(Way way, Context& context) {
  for (volatile bool going = true; going;) {
    char text[64];
    switch (way) {
      case Way::spins:
        break;
      case Way::in_the_library:
        for (int i = 0; i < 100; ++i) std::snprintf(text, sizeof text, "%.17g", 1.0 / 3);
        spin(3e-6);  // a tenth of the time, so that a busy machine finds it here within a second
        break;
      case Way::sends:
        context.schedule(0, Duration::from_ticks(1 << 20), Step{});
        break;
      case Way::waits: {  // the C library goes on with this after a signal, unlike with a pause
        sem_t never;
        sem_init(&never, 0, 0);
        sem_wait(&never);
      }
    }
  }
}

/// Each LP gets an event at 5 ns; at 7 ns LP 2 gets one more.
std::unique_ptr<ScriptModel> looping(std::function<void(Context&)> last) {
  auto model = std::make_unique<ScriptModel>(4, 50);
  model->on_start = [](Context& c, ScriptLp&) { c.schedule(c.self(), ticks(5), Step{}); };
  model->on_step = [last = std::move(last)](Context& c, ScriptLp& lp, const Step&) {
    if (c.self() != 2) return;
    if (lp.handled == 1) c.schedule(2, ticks(2), Step{});
    if (lp.handled == 2) last(c);
  };
  return model;
}

RunOptions limited() {
  RunOptions options;
  options.set(event_time_limit_option(), kLimit);
  return options;
}

class TimeLimitOn : public OnEveryEngine {
 protected:
  static bool drops() { return Preemptible::kPossible && GetParam().has_heaps(); }
  const CrashGuard guard_;
};

TEST_P(TimeLimitOn, EndsALoop) {
  // The thread sanitizer puts signals off until the thread calls the C library.
  constexpr Way kWay = kThreadSanitizer ? Way::in_the_library : Way::spins;
  const auto model = looping([](Context& c) { do_for_ever(kWay, c); });
  if (!drops()) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        run(*model, limited()), ::testing::ExitedWithCode(3),
        std::string("model fault in LP 2, event Step at 7 ns .*it ran for more than 0.1 s"));
    return;
  }
  const Outcome outcome = run(*model, limited());
  ASSERT_EQ(outcome.result.end, RunEnd::fault);
  EXPECT_EQ(outcome.result.fault.substr(0, outcome.result.fault.find('\n')), kSentence);
}

/// A handler that takes time is none that does not end, and neither are many.
TEST_P(TimeLimitOn, LetsOthersBe) {
  const auto model = looping([](Context&) { spin(0.02); });
  expect_completed(*model, limited());
}

ORRERY_ON_EVERY_ENGINE(TimeLimitOn);

class TimeLimit : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Preemptible::kPossible) GTEST_SKIP() << "nothing is dropped here";
  }
  static RunOptions two_workers(RunOptions options = limited()) {
    options.workers = 2;
    return options;
  }
  const CrashGuard guard_;
};

TEST_F(TimeLimit, ReachesHandlersThatAreInALibraryMostOfTheTime) {
  for (const Way way : {Way::in_the_library, Way::sends}) {
    const auto model = looping([=](Context& c) { do_for_ever(way, c); });
    const Outcome outcome = run_model(*model, "timewarp", two_workers());
    ASSERT_EQ(outcome.result.end, RunEnd::fault);
    EXPECT_TRUE(outcome.result.fault.starts_with(kSentence)) << outcome.result.fault;
  }
}

TEST_F(TimeLimit, WhatNeverComesBackEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto model = looping([](Context& c) { do_for_ever(Way::waits, c); });
  EXPECT_EXIT(run_model(*model, "timewarp", two_workers()), ::testing::ExitedWithCode(3),
              "LP 2, event Step at 7 ns .*it ran for more than 0.1 s.*is lost");
}

/// Over a library a handler of signals is the platform's code, and what comes upon it must not take
/// it for the model's.
TEST_F(TimeLimit, IsNotDeceivedBySignalsUponSignals) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto model = looping([](Context& c) {
    std::thread([self = pthread_self()] {
      for (;;) pthread_kill(self, kAttentionSignal);
    }).detach();
    do_for_ever(Way::waits, c);
  });
  EXPECT_EXIT(run_model(*model, "timewarp", two_workers()), ::testing::ExitedWithCode(3),
              "LP 2, event Step at 7 ns .*it ran for more than 0.1 s.*is lost");
}

/// Time is no matter of the LP's state.
TEST_F(TimeLimit, AnEventThatCommitsMayTryAgain) {
  std::atomic<int> tries{0};
  const auto model = looping([&](Context& c) {
    if (tries.fetch_add(1) == 0) do_for_ever(Way::spins, c);
  });
  const Outcome actual = run_model(*model, "timewarp", two_workers());
  EXPECT_EQ(actual.result.end, RunEnd::completed) << actual.result.fault;
  EXPECT_EQ(tries, 2);
  RunOptions options;
  options.workers = 1;
  expect_same(run_model(*model, "sequential", options), actual, "the second time it was quick");
}

TEST_F(TimeLimit, CountsForAllCallsOfAnLp) {
  const auto model = looping([](Context&) {});
  model->on_finish = [](FinalContext& c, const ScriptLp&) {
    if (c.self() == 1) spin(1e9);
  };
  const Outcome outcome = run_model(*model, "timewarp", two_workers());
  EXPECT_EQ(outcome.result.end, RunEnd::fault);
  EXPECT_NE(
      outcome.result.fault.find("LP 1, event finish() at 50 ns (tick 50): it ran for more than"),
      std::string::npos)
      << outcome.result.fault;
}

}  // namespace
}  // namespace orrery::testing
