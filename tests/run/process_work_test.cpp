// SPDX-License-Identifier: Apache-2.0
//
// PreemptiveServers by small cases on every engine: who works when, what is left, what is lost.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "run/process_stage.h"

namespace orrery::testing {
namespace {

class ProcessWork : public ProcessSemantics {};

/// Comes at a time, and notes the end of its work, in lower case if it was not done.
Process job(Stage& stage, char letter, std::int64_t comes, std::int64_t lasts, WorkOptions options,
            Work* told = nullptr) {
  co_await delay(ticks(comes));
  const Work work = co_await stage.crane.work(ticks(lasts), options);
  stage.note(static_cast<char>(work ? letter : letter + 32));
  if (told != nullptr) *told = work;
}
constexpr WorkOptions plain{.priority = 5};

TEST_P(ProcessWork, IsDoneInOrder) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.spawn(job(stage, 'A', 0, 10, plain));
              stage.spawn(job(stage, 'B', 1, 10, plain));
              stage.spawn(job(stage, 'C', 2, 10, {.priority = 4, .preempts = false}));
              stage.spawn(job(stage, 'D', 3, 10, plain));
              stage.spawn(job(stage, 'E', 4, 10, plain));  // three wait already
            }),
            "e4 A10 C20 B30 D40");
}

TEST_P(ProcessWork, ResumesRestartsOrEnds) {
  for (const Preempted preempted : {Preempted::resumes, Preempted::restarts, Preempted::leaves}) {
    static Work seen;  // of the last engine that ran it, and every one runs it alike
    seen = {};
    const std::string letters = told([preempted](Stage& stage) {
      stage.spawn(job(stage, 'A', 0, 20, {.priority = 5, .preempted = preempted}, &seen));
      stage.spawn(job(stage, 'B', 4, 3, {.priority = 1}));
      stage.spawn(job(stage, 'C', 9, 3, {.priority = 0}));
    });
    if (preempted == Preempted::resumes) {
      EXPECT_EQ(letters, "B7 C12 A26");
      EXPECT_EQ(seen.lost, ticks(0));
      EXPECT_EQ(seen.preemptions, 2u);
    } else if (preempted == Preempted::restarts) {
      EXPECT_EQ(letters, "B7 C12 A32");
      EXPECT_EQ(seen.lost, ticks(4 + 2));
      EXPECT_EQ(seen.preemptions, 2u);
    } else {
      EXPECT_EQ(letters, "a4 B7 C12");
      EXPECT_EQ(seen.lost, ticks(4));
      EXPECT_EQ(seen.left, ticks(20));
      EXPECT_EQ(seen.preemptions, 1u);
    }
  }
}

Process breakdown(Stage& stage, std::int64_t comes, std::int64_t lasts, Removal removal) {
  co_await delay(ticks(comes));
  stage.crane.take_out(1, removal);
  EXPECT_EQ(stage.crane.available(), 0u);
  co_await delay(ticks(lasts));
  stage.crane.put_back(1);
}

TEST_P(ProcessWork, WaitsForRepair) {
  for (const Removal removal : {Removal::preempts, Removal::lets_finish})
    EXPECT_EQ(told([removal](Stage& stage) {
                stage.spawn(job(stage, 'A', 0, 10, plain));
                stage.spawn(job(stage, 'B', 1, 10, plain));
                stage.spawn(breakdown(stage, 4, 20, removal));
                stage.spawn(job(stage, 'C', 5, 1, {.priority = 0}));  // nobody to preempt
              }),
              removal == Removal::preempts ? "C25 A31 B41" : "A10 C25 B35");
}

TEST_P(ProcessWork, FollowsShifts) {
  EXPECT_EQ(told([](Stage& stage) {
              const Shifts shifts(ticks(20), {{ticks(5), 2}, {ticks(15), 0}});
              stage.spawn(stage.crane.follow(shifts, Removal::preempts));
              for (const char letter : {'A', 'B', 'C'})
                stage.spawn(job(stage, letter, 0, 6, plain));
            }),
            // None to 5; two to 15, when C has done 4 of 6; none to 25.
            "A11 B11 C27");
}

TEST_P(ProcessWork, ThatIsDoneIsNotPreempted) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.spawn(job(stage, 'B', 10, 5, {.priority = 0}));
              stage.spawn(job(stage, 'A', 0, 10, {.priority = 5, .preempted = Preempted::leaves}));
            }),
            "A10 B15");
}

Process patient(Stage& stage, std::int64_t patience, char letter) {
  co_await delay(Duration::zero());
  const Work work = co_await stage.crane.work_for(ticks(patience), ticks(5), plain);
  stage.note(work ? letter : 'n');
  EXPECT_EQ(work.waited, ticks(work ? 10 : patience));
}

TEST_P(ProcessWork, GivesUpWaitingButNotWorking) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.spawn(job(stage, 'A', 0, 10, plain));
              stage.spawn(patient(stage, 9, 'x'));
              stage.spawn(patient(stage, 11, 'y'));
              stage.spawn(job(stage, 'C', 12, 30, {.priority = 0}));  // y waits on without a limit
            }),
            "n9 A10 C42 y45");
}

Process interruptible(Stage& stage) {
  try {
    co_await stage.crane.work(ticks(30), plain);
    stage.note('d');
  } catch (const Interrupted&) {
    stage.note('i');
    EXPECT_EQ(stage.crane.busy(), 1u);  // the next one works
  }
}
Process interrupts(Stage& stage) {
  co_await delay(ticks(4));
  stage.interrupt(stage.other);
}

TEST_P(ProcessWork, EndsWhereItsProcessIsInterrupted) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.other = stage.spawn(interruptible(stage));
              stage.spawn(job(stage, 'B', 1, 10, plain));
              stage.spawn(interrupts(stage));
            }),
            "i4 B14");
}

Process in_time(Stage& stage, std::int64_t limit) {
  const auto got = co_await any_of(stage.crane.work(ticks(20), plain), delay(ticks(limit)));
  stage.note(got.index() == 0 ? 'w' : 'l');
  EXPECT_EQ(stage.crane.busy(), 0u);
}

TEST_P(ProcessWork, IsAPartOfAGroup) {
  EXPECT_EQ(told([](Stage& stage) { stage.spawn(in_time(stage, 30)); }), "w20");
  EXPECT_EQ(told([](Stage& stage) { stage.spawn(in_time(stage, 15)); }), "l15");
}

// ---- Metrics -----------------------------------------------------------------------------------

Process forgets_the_context(Stage& stage) {
  Resource<int> desk(1);
  stage.observe(desk, stage.metrics());
  stage.with_context([&](Context& context) { desk.request(context, 1); });
  desk.request(stage.now(), 2);
  co_return;
}

TEST_P(ProcessWork, ObservedResourcesTakeTheContext) {
  expect_fault([](Stage& stage) { stage.spawn(forgets_the_context(stage)); },
               "a resource that has metrics is called with the context");
}

Process observed(Stage& stage) {
  stage.observe(stage.crane, stage.metrics());
  stage.spawn(job(stage, 'A', 0, 60, plain));
  stage.spawn(job(stage, 'B', 10, 20, {.priority = 0}));
  for (int i = 0; i < 4; ++i) stage.spawn(job(stage, 'C', 20, 10, plain));
  stage.spawn(breakdown(stage, 50, 10, Removal::preempts));
  co_return;
}

/// A works to 10 and from 30 to 50 and 60 to 90, B to 30, two C to 110; two C balk.
TEST_P(ProcessWork, RecordsItsMetrics) {
  const Play play([](Stage& stage) { stage.spawn(observed(stage)); });
  const Outcome outcome = expect_completed(play);
  const auto level = [&](const Metric& metric) { return outcome.result.levels.at(metric.index()); };
  EXPECT_EQ(level(play.metrics.busy).area, 50 + 50);
  EXPECT_EQ(level(play.metrics.queue).area, 1 * 10 + 3 * 10 + 2 * 20 + 3 * 10 + 2 * 30 + 1 * 10);
  const auto values = [&](const Metric& metric) {
    return outcome.result.metrics.at(metric.index());
  };
  EXPECT_EQ(values(play.metrics.wait).count, 4u);
  EXPECT_EQ(values(play.metrics.balked).sum, 2);
  EXPECT_EQ(values(play.metrics.balked).count, 6u);
}

ORRERY_ON_EVERY_ENGINE(ProcessWork);

}  // namespace
}  // namespace orrery::testing
