// SPDX-License-Identifier: Apache-2.0
//
// What a thread says of the model code that it runs, to itself and to a thread that asks.
#include "run/containment/activity.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "run/containment/handler_clock.h"
#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

TEST(Activity, DescribesLikeFaults) {
  ModelCode code;
  code.lp = 5;
  EXPECT_EQ(describe(code), "LP 5, start of the run");
  code.event = "Arrival";
  code.cause = Key(Time::from_ticks(12'500'000'000), 3, 1, 7);
  EXPECT_EQ(describe(code), "LP 5, event Arrival at 12.5 s (tick 12500000000)");
  code.call = "finish()";
  EXPECT_EQ(describe(code), "LP 5, finish()");
  code.of_lp = false;
  EXPECT_EQ(describe(code), "finish()");
}

TEST(Activity, ADescriptionStaysWithinItsBuffer) {
  ModelCode code;
  code.event = "AnEventWithARatherLongName";
  std::array<char, 8> text;
  EXPECT_EQ(describe(code, text.data(), text.size()), text.size());
  EXPECT_EQ(std::string(text.data(), text.size()), "LP 0, ev");
}

TEST(Activity, CallsNestAndEnd) {
  EXPECT_FALSE(running_model_code());
  {
    const ModelCall outer("prepare()");
    {
      const ModelCall inner("create()", 7);
      EXPECT_EQ(describe(*running_model_code()), "LP 7, create()");
    }
    EXPECT_EQ(describe(*running_model_code()), "prepare()");
  }
  EXPECT_FALSE(running_model_code());
}

class ActivityOn : public OnEveryEngine {};

TEST_P(ActivityOn, AHandlerIsNamedAsLongAsItRuns) {
  ScriptModel model(4, 50);
  std::atomic<int> wrong{0}, right{0};
  model.on_start = [](Context& c, ScriptLp&) { c.schedule(c.self(), ticks(5), Step{}); };
  model.on_step = [&](Context& c, ScriptLp&, const Step& step) {
    const auto code = running_model_code();
    const bool same = code && code->call == nullptr && code->lp == c.self() &&
                      code->event == "Step" && code->cause.time() == c.now();
    ++(same ? right : wrong);
    c.schedule((c.self() + 1) % 4, ticks(3), step);
  };
  run(model);
  EXPECT_EQ(wrong, 0) << GetParam();
  EXPECT_GT(right, 0);
  EXPECT_FALSE(running_model_code()) << "after the run";
}

TEST_P(ActivityOn, AHandlerThatFailedDoesNotRun) {
  ScriptModel model(4, 50);
  model.on_start = [](Context& c, ScriptLp&) { c.schedule(c.self(), ticks(5), Step{}); };
  model.on_step = [](Context&, ScriptLp&, const Step&) { throw std::runtime_error("no"); };
  run(model);
  EXPECT_FALSE(running_model_code()) << GetParam();
}

ORRERY_ON_EVERY_ENGINE(ActivityOn);

TEST(WatchedThreads, SayWhatTheyDo) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer holds signals back from a loop";
#endif
  const ScriptModel model(1);
  WatchedThreads threads;
  std::atomic<bool> inside{false}, leave{false};
  std::thread thread([&] {
    const ThreadWatch watch(threads, model);
    const ModelCall call("finish()", 3);
    inside = true;
    while (!leave) {
    }
  });
  while (!inside) std::this_thread::yield();
  HandlerClock clock(threads);
  ASSERT_TRUE(clock.look());
  const auto again = clock.look();
  ASSERT_TRUE(again);
  EXPECT_EQ(describe(again->code), "LP 3, finish()");
  EXPECT_GT(again->seconds, 0) << "it is the same call";
  clock.forget();
  EXPECT_EQ(clock.look()->seconds, 0);
  leave = true;
  thread.join();
  EXPECT_FALSE(clock.look()) << "the thread has gone";
}

TEST(WatchedThreads, SayNothingOutsideOfModelCode) {
  const ScriptModel model(1);
  WatchedThreads threads;
  const ThreadWatch watch(threads, model);
  EXPECT_TRUE(threads.look().empty());
}

}  // namespace
}  // namespace orrery::testing
