// SPDX-License-Identifier: Apache-2.0
//
// What processes mean, by small cases on every engine: in which order they go on, what ends a wait
// and what no longer can, who has a server when, and what becomes of exceptions and of those who
// have not ended.
#include "orrery/process.h"

#include <gtest/gtest.h>

#include <coroutine>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/model_stack.h"
#include "crashes.h"
#include "run/containment/crash_guard.h"
#include "run/process_stage.h"

namespace orrery::testing {
namespace {

/// Notes the letter after each of so many delays.
Process clock(Stage& stage, char letter, std::int64_t period, int times) {
  for (int i = 0; i < times; ++i) {
    co_await delay(ticks(period));
    stage.note(letter);
  }
}

// ---- Time and order ----------------------------------------------------------------------------

TEST_P(ProcessSemantics, SeveralProcessesTakeTheirTime) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.spawn(clock(stage, 'a', 5, 3));
              stage.spawn(clock(stage, 'b', 7, 2));
              EXPECT_EQ(stage.process_count(), 2u);
            }),
            "a5 b7 a10 b14 a15");
}

/// Whoever is spawned or woken goes on when the one who did it waits, ends or returns.
Process parent(Stage& stage) {
  stage.note('p');
  stage.spawn(clock(stage, 'c', 0, 2));
  stage.note('q');
  co_await delay(Duration::zero());
  stage.note('r');
}

TEST_P(ProcessSemantics, NobodyIsInterruptedByThoseWhomItWakes) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.spawn(parent(stage));
              stage.note('x');
            }),
            "x0 p0 q0 r0 c0 c0");
}

TEST_P(ProcessSemantics, HandlersBeginProcesses) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.on_step = [](Stage& here, const Step& step) {
                here.spawn(clock(here, static_cast<char>(step.kind), 3, 2));
              };
              for (const char letter : {'a', 'b'})
                stage.schedule(stage.self(), ticks(letter),
                               Step{static_cast<std::uint32_t>(letter)});
            }),
            "a100 b101 a103 b104");
}

// ---- Ends and calls ----------------------------------------------------------------------------

Process waits_for_end(Stage& stage, ProcessRef process) {
  EXPECT_EQ(stage.is_alive(process), stage.now().ticks() < 10);
  co_await ended(process);
  stage.note('e');
  co_await ended(process);
  stage.note('f');
  co_await ended(ProcessRef());
  stage.note('g');
}

TEST_P(ProcessSemantics, WaitForTheEndOfAnother) {
  EXPECT_EQ(told([](Stage& stage) {
              const ProcessRef other = stage.spawn(clock(stage, 'a', 5, 2));
              for (int i = 0; i < 2; ++i) stage.spawn(waits_for_end(stage, other));
            }),
            "a5 a10 e10 f10 g10 e10 f10 g10");
}

Process throws_at(Stage&, std::int64_t tick) {
  co_await delay(ticks(tick));
  throw std::runtime_error("it went wrong");
}
Process calls(Stage& stage) {
  co_await clock(stage, 'a', 2, 2);
  try {
    co_await throws_at(stage, 3);
  } catch (const std::runtime_error&) {
    stage.note('c');
  }
  for (int i = 0; i < 100'000; ++i) co_await clock(stage, 'n', 1, 0);  // on no deeper stack
  co_await clock(stage, 'b', 1, 1);
}

TEST_P(ProcessSemantics, CallEachOther) {
  EXPECT_EQ(told([](Stage& stage) { stage.spawn(calls(stage)); }), "a2 a4 c7 b8");
}

TEST_P(ProcessSemantics, ExceptionsEndTheRun) {
  expect_fault([](Stage& stage) { stage.spawn(throws_at(stage, 3)); }, "it went wrong");
  expect_fault([](Stage& stage) { stage.spawn(throws_at(stage, 0)); }, "it went wrong");
}

Process fails(Stage& stage) {
  co_await delay(ticks(4));
  stage.fail("the model says so");
}

TEST_P(ProcessSemantics, FaultsEndTheRun) {
  expect_fault([](Stage& stage) { stage.spawn(fails(stage)); }, "the model says so");
  expect_fault([](Stage& stage) { stage.spawn(clock(stage, 'a', -1, 1)); }, "negative delay");
}

/// A part of an LP that has a process of its own.
class Lamp {
 public:
  explicit Lamp(ProcessHost& lp) : lp_(lp) {}
  Process shine(Stage* stage) {
    for (int i = 0; i < 2; ++i) {
      co_await delay(ticks(6));
      times_.push_back(lp_.now());
      stage->note('l');
    }
    EXPECT_EQ(times_.size(), 2u);
  }

 private:
  ProcessHost& lp_;
  std::vector<Time> times_;
};
Process with_lamp(Stage& stage) {
  Lamp lamp(stage);
  co_await lamp.shine(&stage);
  stage.with_context([](Context& context) { EXPECT_EQ(context.now().ticks(), 12); });
}

TEST_P(ProcessSemantics, AreAlsoOfPartsOfTheLp) {
  EXPECT_EQ(told([](Stage& stage) { stage.spawn(with_lamp(stage)); }), "l6 l12");
}

// ---- Servers -----------------------------------------------------------------------------------

Process served(Stage& stage, char letter, std::int64_t priority) {
  const Server server = co_await stage.servers.acquire(priority);
  if (!server) {
    EXPECT_TRUE(server.has_balked());
    co_return stage.note('!');
  }
  stage.note(letter);
  co_await delay(ticks(10));
}

TEST_P(ProcessSemantics, ServersHaveQueuesWithPrioritiesAndLimits) {
  EXPECT_EQ(told([](Stage& stage) {
              for (const char letter : {'a', 'b', 'c', 'd'})
                stage.spawn(served(stage, letter, letter == 'c' ? -1 : 0));
            }),
            "a0 !0 c10 b20");
}

Process impatient(Stage& stage, std::int64_t patience) {
  {
    const Server server = co_await stage.servers.acquire_for(ticks(patience));
    stage.note(server ? 's' : 'i');
    EXPECT_EQ(server.waited(), ticks(server ? 10 : patience));
    EXPECT_FALSE(server.has_balked());
  }
  co_await delay(ticks(3));
  stage.note('z');
}

TEST_P(ProcessSemantics, GiveUpWaitingForServers) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.spawn(served(stage, 'a', 0));
              stage.spawn(impatient(stage, 4));
              stage.spawn(impatient(stage, 12));
            }),
            "a0 i4 z7 s10 z13");
}

Process gives_back(Stage& stage) {
  Server server = co_await stage.servers.acquire();
  EXPECT_TRUE(server);
  co_await delay(ticks(2));
  server.release();
  EXPECT_FALSE(server);
  server.release();
  Server again = co_await stage.servers.acquire();
  stage.note('g');
  server = std::move(again);
  EXPECT_EQ(stage.servers.busy(), 1u);
}

TEST_P(ProcessSemantics, GiveServersBackOnce) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.spawn(gives_back(stage));
              stage.spawn(served(stage, 'a', 0));
            }),
            "a2 g12");
}

// ---- Values and signals ------------------------------------------------------------------------

Process receives(Stage& stage, std::int64_t from) {
  co_await delay(ticks(from));
  const std::string value = co_await stage.mailbox.receive();
  stage.note(value.at(0));
  EXPECT_EQ(value.substr(1), " is a value that is longer than what a string holds in itself");
}
Process puts(Stage& stage, std::string letters) {
  co_await delay(ticks(10));
  for (const char letter : letters)
    stage.mailbox.put(letter + std::string(" is a value that is longer than what a string holds in "
                                           "itself"));
  stage.note('p');
  EXPECT_EQ(stage.mailbox.try_receive().has_value(), letters.size() > 2);
}

TEST_P(ProcessSemantics, ValuesGoToThoseWhoWaitInTheirOrder) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.spawn(receives(stage, 2));
              stage.spawn(receives(stage, 1));
              stage.spawn(puts(stage, "ab"));
            }),
            "p10 a10 b10");
  EXPECT_EQ(told([](Stage& stage) {
              stage.spawn(receives(stage, 1));
              stage.spawn(puts(stage, "abcd"));
              stage.spawn(receives(stage, 20));
              stage.spawn(receives(stage, 21));
            }),
            "p10 a10 c20 d21")
      << "try_receive() has taken b";
}

TEST_P(ProcessSemantics, ManyValuesWait) {
  EXPECT_EQ(told([](Stage& stage) {
              Mailbox<std::unique_ptr<int>> numbers;
              int put = 0, received = 0;
              for (int round = 1; round < 60; ++round) {
                for (int i = 0; i < round; ++i) numbers.put(std::make_unique<int>(put++));
                for (int i = 0; i < round - (round < 40 ? 1 : 0); ++i)
                  EXPECT_EQ(**numbers.try_receive(), received++);
              }
              EXPECT_EQ(numbers.size(), static_cast<std::size_t>(put - received));
              while (const auto number = numbers.try_receive()) EXPECT_EQ(**number, received++);
              EXPECT_EQ(put, received);
              stage.note('m');
            }),
            "m0");
}

Process receives_soon(Stage& stage, std::int64_t limit) {
  for (;;) {
    const auto value = co_await stage.mailbox.receive_for(ticks(limit));
    if (!value) co_return stage.note('-');
    stage.note(value->at(0));
  }
}

TEST_P(ProcessSemantics, GiveUpWaitingForValues) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.spawn(receives_soon(stage, 7));
              stage.spawn(puts(stage, ""));
            }),
            "-7 p10");
  EXPECT_EQ(told([](Stage& stage) {
              stage.spawn(receives_soon(stage, 12));
              stage.spawn(puts(stage, "a"));
            }),
            "p10 a10 -22");
}

Process waits(Stage& stage, char letter, std::int64_t limit) {
  const bool came =
      limit == 0 ? co_await stage.signal.wait() : co_await stage.signal.wait_for(ticks(limit));
  stage.note(came ? letter : '-');
}
Process notifies(Stage& stage) {
  co_await delay(ticks(5));
  EXPECT_TRUE(stage.signal.notify_one());
  co_await delay(ticks(5));
  stage.signal.notify_all();
  EXPECT_FALSE(stage.signal.is_awaited());
  EXPECT_FALSE(stage.signal.notify_one()) << "those who are woken do not wait any more";
  stage.note('n');
}

TEST_P(ProcessSemantics, SignalsWakeWhoWaits) {
  EXPECT_EQ(told([](Stage& stage) {
              EXPECT_FALSE(stage.signal.notify_one()) << "and is not kept";
              for (const auto& [letter, limit] : {std::pair{'a', 0}, {'b', 7}, {'c', 0}, {'d', 30}})
                stage.spawn(waits(stage, letter, limit));
              stage.spawn(notifies(stage));
            }),
            "a5 -7 n10 c10 d10");
}

// ---- Interrupts and wakings that come too late -------------------------------------------------

Process sleeper(Stage& stage, std::int64_t first, std::int64_t then) {
  try {
    co_await delay(ticks(first));
    stage.note('s');
  } catch (const Interrupted& interrupted) {
    stage.note(static_cast<char>(interrupted.reason));
  }
  if (then == 0) co_return;
  co_await delay(ticks(then));
  stage.note('t');
}
Process interrupts(Stage& stage, ProcessRef process, std::int64_t at, bool expected) {
  co_await delay(ticks(at));
  EXPECT_EQ(stage.interrupt(process, 'i'), expected);
}

/// The event of the interrupted delay comes at 20, while the process waits until 35.
TEST_P(ProcessSemantics, InterruptedDelaysWakeNobody) {
  EXPECT_EQ(told([](Stage& stage) {
              const ProcessRef process = stage.spawn(sleeper(stage, 20, 30));
              stage.spawn(interrupts(stage, process, 5, true));
              stage.spawn(interrupts(stage, process, 60, false));
            }),
            "i5 t35");
}

/// It has ended at 5; another has its place when the event comes.
TEST_P(ProcessSemantics, InterruptedDelaysWakeNobodyWhoComesLater) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.on_step = [](Stage& here, const Step&) { here.spawn(clock(here, 'c', 40, 1)); };
              stage.schedule(stage.self(), ticks(6), Step{});
              const ProcessRef process = stage.spawn(sleeper(stage, 20, 0));
              stage.spawn(interrupts(stage, process, 5, true));
            }),
            "i5 c46");
}

Process interrupted_in_queue(Stage& stage) {
  try {
    const Server server = co_await stage.servers.acquire_for(ticks(100));
    stage.note('?');
  } catch (const Interrupted&) {
    stage.note('i');
    EXPECT_EQ(stage.servers.waiting(), 0u);
  }
  co_await delay(ticks(200));
  stage.note('z');
}

TEST_P(ProcessSemantics, InterruptsEndWaitsForServers) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.spawn(served(stage, 'a', 0));
              const ProcessRef process = stage.spawn(interrupted_in_queue(stage));
              stage.spawn(interrupts(stage, process, 5, true));
            }),
            "a0 i5 z205");
}

Process holder(Stage& stage) {
  try {
    const Server server = co_await stage.servers.acquire();
    co_await delay(ticks(100));
  } catch (const Interrupted&) {
    stage.note('i');
  }
}

TEST_P(ProcessSemantics, InterruptsGiveServersBack) {
  EXPECT_EQ(told([](Stage& stage) {
              const ProcessRef process = stage.spawn(holder(stage));
              stage.spawn(served(stage, 'a', 0));
              stage.spawn(interrupts(stage, process, 5, true));
            }),
            "i5 a5");
}

/// Both signal and interrupt at one moment: the wait is fulfilled, the next one is interrupted.
Process fulfilled(Stage& stage) {
  co_await stage.signal.wait();
  stage.note('f');
  try {
    co_await delay(ticks(1));
  } catch (const Interrupted&) {
    stage.note('i');
  }
  co_await delay(ticks(1));
  stage.note('g');
}
Process does_both(Stage& stage) {
  co_await delay(ticks(3));
  stage.signal.notify_all();
  EXPECT_TRUE(stage.interrupt(stage.other));
}

TEST_P(ProcessSemantics, WhatIsFulfilledIsNotInterrupted) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.other = stage.spawn(fulfilled(stage));
              stage.spawn(does_both(stage));
            }),
            "f3 i3 g4");
}

/// The other way round nothing is fulfilled: who is interrupted does not wait any more.
Process catches(Stage& stage, char what) {
  try {
    if (what == 's') co_await stage.signal.wait_for(ticks(100));
    if (what == 'v') co_await stage.mailbox.receive();
    if (what == 'a') {
      const Server server = co_await stage.servers.acquire_for(ticks(100));
      stage.note('?');
    }
    stage.note('?');
  } catch (const Interrupted&) {
    stage.note(what);
  }
}
Process late(Stage& stage) {
  co_await delay(ticks(1));
  co_await catches(stage, 'a');
}
Process interrupts_and_grants(Stage& stage, ProcessRef first, ProcessRef second, ProcessRef third) {
  {
    const Server server = co_await stage.servers.acquire();
    co_await delay(ticks(3));
    for (const ProcessRef process : {first, second, third}) EXPECT_TRUE(stage.interrupt(process));
    EXPECT_FALSE(stage.signal.is_awaited());
    EXPECT_FALSE(stage.signal.notify_one());
    stage.mailbox.put("value");
    EXPECT_EQ(stage.mailbox.size(), 1u);
    EXPECT_EQ(stage.servers.waiting(), 0u);
  }
  EXPECT_EQ(stage.servers.busy(), 0u);
  EXPECT_TRUE(stage.interrupt(first)) << "a second one comes at the next wait, if there is any";
  co_await delay(ticks(1));
  EXPECT_EQ(stage.servers.busy(), 0u);
  EXPECT_EQ(stage.servers.statistics(stage.now()).reneged, 1u);
  EXPECT_EQ(stage.process_count(), 1u);
  stage.note('e');
}

TEST_P(ProcessSemantics, WhoIsInterruptedGetsNothing) {
  EXPECT_EQ(told([](Stage& stage) {
              const ProcessRef first = stage.spawn(catches(stage, 's'));
              const ProcessRef second = stage.spawn(catches(stage, 'v'));
              const ProcessRef third = stage.spawn(late(stage));
              stage.spawn(interrupts_and_grants(stage, first, second, third));
            }),
            "s3 v3 a3 e4");
}

Process careless(Stage&) {
  co_await delay(ticks(9));
}

TEST_P(ProcessSemantics, InterruptsThatNobodyCatchesEndTheRun) {
  expect_fault(
      [](Stage& stage) {
        const ProcessRef process = stage.spawn(careless(stage));
        stage.spawn(interrupts(stage, process, 5, true));
      },
      "the process was interrupted where it waited");
}

Process knows_itself(Stage& stage) {
  const ProcessRef self = stage.this_process();
  EXPECT_TRUE(stage.is_alive(self));
  EXPECT_EQ(self, stage.other);
  co_await delay(ticks(1));
  EXPECT_EQ(self, stage.this_process());
  stage.note('k');
}

TEST_P(ProcessSemantics, ProcessesHaveNames) {
  EXPECT_EQ(told([](Stage& stage) {
              EXPECT_EQ(stage.this_process(), ProcessRef());
              EXPECT_FALSE(stage.is_alive(ProcessRef()));
              stage.other = stage.spawn(knows_itself(stage));
            }),
            "k1");
}

// ---- Mistakes ----------------------------------------------------------------------------------

/// For ever, from 7 on.
Process echoes(Stage&, std::unique_ptr<Signal> own, Signal* others, std::int64_t first) {
  co_await delay(ticks(first));
  for (;;) {
    others->notify_all();
    co_await own->wait();
  }
}

TEST_P(ProcessSemantics, WakingEachOtherForEverIsALivelock) {
  expect_fault(
      [](Stage& stage) {
        auto first = std::make_unique<Signal>(), second = std::make_unique<Signal>();
        Signal *const one = first.get(), *const two = second.get();
        stage.spawn(echoes(stage, std::move(first), two, 5));
        stage.spawn(echoes(stage, std::move(second), one, 7));
      },
      "livelock: processes went on 1048576 times in one event");
}

Process waits_for_nothing(Stage&) {
  co_await std::suspend_always();
}

TEST_P(ProcessSemantics, WaitingForWhatNobodyEndsIsRefused) {
  expect_fault([](Stage& stage) { stage.spawn(waits_for_nothing(stage)); },
               "a process waits for something that nobody will wake it from");
}

ORRERY_ON_EVERY_ENGINE(ProcessSemantics);

// ---- Expanded events, ends ---------------------------------------------------------------------

Process answers(Stage& stage, std::int64_t after) {
  co_await stage.signal.wait();
  stage.note('w');
  co_await delay(ticks(after));
  stage.note('a');
}

/// What an expanded event wakes sends at the end of the event, or later.
TEST(ProcessesInExpandedEvents, AreBoundByTheirDurations) {
  for (const std::int64_t after : {4, 5}) {
    const Play play([after](Stage& stage) {
      stage.on_step = [](Stage& here, const Step&) { here.signal.notify_all(); };
      stage.spawn(answers(stage, after));
      stage.schedule_expanded(stage.self(), ticks(10), ticks(5), Step{});
    });
    for (const char* engine : {"sequential", "expanded"}) {
      const Outcome outcome = run_model(play, engine, {});
      EXPECT_EQ(outcome.result.end, after < 5 ? RunEnd::fault : RunEnd::completed)
          << outcome.result.fault;
    }
  }
}

/// Counts those that exist, in the memory of a test that rolls nothing back.
struct Counted {
  Counted() { ++count; }
  Counted(const Counted&) { ++count; }
  ~Counted() { --count; }
  static inline int count = 0;
};

Process has_locals(Stage& stage, Counted) {
  const std::vector<Counted> several(3);
  const Server server = co_await stage.servers.acquire_for(ticks(5'000));
  const std::unique_ptr<Counted> one = std::make_unique<Counted>();
  co_await stage.signal.wait_for(ticks(10'000));
}
Process has_more(Stage& stage) {
  const Counted own;
  co_await has_locals(stage, own);
}

TEST(ProcessesThatHaveNotEnded, AreDestroyedWithTheirLp) {
  for (const bool on_heaps : {false, true}) {
    Counted::count = 0;
    int most = 0;
    const Play play([&most](Stage& stage) {
      for (int i = 0; i < 3; ++i) stage.spawn(has_more(stage));
      const Process never_spawned = has_locals(stage, Counted());
      stage.on_step = [](Stage&, const Step&) {};
      most = Counted::count;
    });
    RunOptions options;
    options.set(sequential::kOnHeaps, on_heaps);
    const Outcome outcome = run_model(play, "sequential", options);
    EXPECT_EQ(outcome.result.end, RunEnd::completed) << outcome.result.fault;
    EXPECT_GT(most, 0);
    EXPECT_EQ(Counted::count, 0);
  }
}

TEST(ProcessesThatHaveNotEnded, AreDestroyedAfterAFault) {
  Counted::count = 0;
  const Play play([](Stage& stage) {
    stage.spawn(has_more(stage));
    stage.spawn(throws_at(stage, 3));
  });
  EXPECT_EQ(run_model(play, "sequential", {}).result.end, RunEnd::fault);
  EXPECT_EQ(Counted::count, 0);
}

Process crashes(Stage&, Counted) {
  const Counted before;
  co_await delay(ticks(3));
  const Counted behind;
  *nowhere = 1;
  co_await delay(ticks(3));
}

/// A frame that a dropped handler has left in the middle is not destroyed, where it is not put
/// back.
TEST(ProcessesThatHaveNotEnded, AreDestroyedAfterACrash) {
  if (!ORRERY_MODEL_STACKS) GTEST_SKIP() << "a crash ends the process here";
  const CrashGuard guard;
  const Play play([](Stage& stage) {
    stage.spawn(has_more(stage));
    stage.spawn(crashes(stage, Counted()));
  });
  Counted::count = 0;
  const Outcome outcome = run_model(play, "sequential", {});
  EXPECT_EQ(outcome.result.end, RunEnd::fault);
  EXPECT_NE(outcome.result.fault.find("a crash (SIGSEGV"), std::string::npos);
  EXPECT_EQ(Counted::count, 3) << "those of the frame that crashed";
}

}  // namespace
}  // namespace orrery::testing
