// SPDX-License-Identifier: Apache-2.0
//
// The threads of a run: their number, the steps of setting up, and what becomes of failures, in
// whatever order they come.
#include "run/threads/team.h"
#include "run/threads/supervised_run.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/machine.h"
#include "memory/application_mode.h"
#include "memory/arena.h"
#include "memory/lp_heap.h"
#include "orrery/error.h"
#include "sanitizers.h"
#include "scarce_memory.h"

namespace orrery {
namespace {

/// As many LPs as it is told, none of which is ever made.
class Crowd final : public Model {
 public:
  explicit Crowd(std::uint64_t lps) : lps_(lps) {}
  std::uint64_t lp_count() const override { return lps_; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override { return nullptr; }

  Metric first{*this, "first", "", "One"}, second{*this, "second", "", "Another"};

 private:
  const std::uint64_t lps_;
};

/// Long enough for other threads to come somewhere, if nothing holds them.
void delay() {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

/// Until another worker has failed.
void wait_for_failure(const Team& team) {
  while (!team.failed()) sched_yield();
}

std::string take_fault(const Team& team) {
  RunResult result;
  return team.take_failure(Crowd(1), result) ? result.fault : "none";
}

// ---- How many

unsigned count(unsigned asked, std::uint64_t lps) {
  RunOptions options;
  options.workers = asked;
  return count_workers(options, Crowd(lps));
}

TEST(CountWorkers, TakesOneForEachCoreUnlessToldOtherwise) {
  EXPECT_EQ(count(0, 1u << 20), usable_cores());
  EXPECT_EQ(count(3, 1u << 20), 3u);
  EXPECT_EQ(count(kMostWorkers, 1u << 20), kMostWorkers);
}

TEST(CountWorkers, NeverTakesMoreThanThereAreLps) {
  EXPECT_EQ(count(8, 5), 5u);
  EXPECT_EQ(count(0, 1), 1u);
  EXPECT_EQ(count(8, (std::uint64_t{1} << 32) + 1), 8u) << "a count of more than 32 bits";
}

TEST(CountWorkers, RefusesMoreThanAreEverPossible) {
  for (const std::uint64_t lps : {std::uint64_t{2}, std::uint64_t{1} << 20}) {
    try {
      count(kMostWorkers + 1, lps);
      FAIL() << "1025 workers were accepted";
    } catch (const UsageError& error) {
      EXPECT_STREQ(error.what(), "--workers 1025 is too many; at most 1024 are possible");
    }
  }
}

TEST(Team, BindsNobodyWhereThatIsOfNoUse) {
  EXPECT_FALSE(Team(1, true).binds());
  EXPECT_FALSE(Team(usable_cores() + 1, true).binds()) << "more workers than cores";
  EXPECT_TRUE(Team(usable_cores() + 1, true).crowded());
  Team unbound(2, false);
  EXPECT_FALSE(unbound.binds());
  EXPECT_TRUE(unbound.bind(1)) << "nothing was asked for, nothing refused";
  std::vector<std::string> notes;
  unbound.add_notes(notes);
  EXPECT_TRUE(notes.empty());
}

// ---- Steps

constexpr unsigned kWorkers = 4;

TEST(Team, EndsStepsTogether) {
  constexpr int kSteps = 200;
  std::array<std::array<int, kWorkers>, kSteps> done{};  // plain: a step publishes what it did
  std::atomic<int> missed{0};
  Team team(kWorkers, false);
  team.start(0, {[&](unsigned worker) {
               for (int step = 0; step < kSteps; ++step) {
                 done[step][worker] = 1;
                 if (!team.end_step()) ++missed;
                 for (const int one : done[step]) missed += 1 - one;
               }
             }});
  EXPECT_TRUE(team.running());
  team.finish();
  EXPECT_FALSE(team.running());
  EXPECT_EQ(missed, 0);
  EXPECT_EQ(take_fault(team), "none");
}

/// Each worker leaves after the first step that failed; the steps that each has passed.
std::array<int, kWorkers> passed_steps(Team& team, unsigned failing, int failing_step) {
  std::array<int, kWorkers> passed{};
  team.start(0, {[&](unsigned worker) {
               for (int step = 0; step < 10; ++step) {
                 if (worker == failing && step == failing_step)
                   team.note_failure({1, 5, false, "it fails"});
                 if (!team.end_step()) return;
                 ++passed[worker];
               }
             }});
  team.finish();
  return passed;
}

TEST(Team, LeavesAfterTheStepInWhichOneFailed) {
  for (int round = 0; round < 50; ++round) {
    for (const int step : {0, 1, 7}) {
      Team team(kWorkers, false);
      const std::array<int, kWorkers> passed = passed_steps(team, 2, step);
      EXPECT_EQ(passed, (std::array<int, kWorkers>{step, step, step, step}));
      EXPECT_EQ(take_fault(team), "it fails");
      EXPECT_FALSE(team.failed()) << "a failure of the model is none of a worker's";
    }
  }
}

using testing::kSanitizers;
using testing::kThreadSanitizer;

std::atomic<bool> held{false}, may_go{false};
void hold(int) {
  held = true;
  while (!may_go) sched_yield();
}

/// Whether the thread sleeps in the system.
bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  return text.compare(text.rfind(')') + 2, 1, "S") == 0;
}

// A worker that waits for the end of a step is held by a signal until another one has gone on and
// noted a failure in the next step. The step that it waits for was passed nevertheless.
TEST(Team, AFailureInTheNextStepDoesNotEndThisOneForASlowWorker) {
  if constexpr (kThreadSanitizer) GTEST_SKIP() << "signals come late under the thread sanitizer";
  struct sigaction before, holding{};
  holding.sa_handler = hold;
  sigaction(SIGUSR1, &holding, &before);
  held = may_go = false;
  std::atomic<pid_t> slow{0};
  bool slow_passed[2]{}, fast_passed[2]{};
  Team team(2, false);
  team.start(0, {[&](unsigned worker) {
               if (worker == 0) {
                 slow = static_cast<pid_t>(syscall(SYS_gettid));
                 for (bool& passed : slow_passed) passed = team.end_step();
                 return;
               }
               while (slow == 0 || !sleeps(slow)) sched_yield();
               syscall(SYS_tgkill, getpid(), slow.load(), SIGUSR1);
               while (!held) sched_yield();
               fast_passed[0] = team.end_step();
               team.note_failure({2, 1, false, "too late for the first step"});
               may_go = true;
               fast_passed[1] = team.end_step();
             }});
  team.finish();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_TRUE(fast_passed[0]);
  EXPECT_TRUE(slow_passed[0]) << "the failure was noted in the step after";
  EXPECT_FALSE(fast_passed[1]);
  EXPECT_FALSE(slow_passed[1]);
  EXPECT_EQ(take_fault(team), "too late for the first step");
}

// ---- Failures of the model

TEST(Team, TheLowestFailureCountsInWhateverOrderTheyCome) {
  std::vector<SetUpFailure> failures{{1, 0, false, "started 0"},
                                     {0, 9, false, "made 9"},
                                     {0, 4, false, "made 4"},
                                     {2, 1, false, "accepted 1"}};
  const auto order = [](const SetUpFailure& a, const SetUpFailure& b) {
    return a.sentence < b.sentence;
  };
  std::sort(failures.begin(), failures.end(), order);
  do {
    Team team(1, false);
    for (const SetUpFailure& failure : failures) team.note_failure(failure);
    EXPECT_EQ(take_fault(team), "made 4");
  } while (std::next_permutation(failures.begin(), failures.end(), order));
}

TEST(Team, TheLowestFailureCountsWhoeverNotesIt) {
  for (int round = 0; round < 50; ++round) {
    Team team(kWorkers, false);
    team.start(0, {[&](unsigned worker) {
                 for (LpId lp = 20; lp > 0; --lp) {
                   const LpId own = lp * kWorkers + (worker + static_cast<unsigned>(round)) % 4;
                   team.note_failure({1, own, false, "LP " + std::to_string(own)});
                 }
                 team.end_step();
               }});
    team.finish();
    EXPECT_EQ(take_fault(team), "LP 4");
  }
}

TEST(Team, AFaultIsStoredWithNothingCommitted) {
  Team team(1, false);
  RunResult untouched;
  EXPECT_FALSE(team.take_failure(Crowd(3), untouched));
  EXPECT_EQ(untouched.end, RunEnd::completed);
  team.note_failure({0, 2, false, "LP 2 cannot be made"});
  RunResult result;
  EXPECT_TRUE(team.take_failure(Crowd(3), result));
  EXPECT_EQ(result.end, RunEnd::fault);
  EXPECT_EQ(result.fault, "LP 2 cannot be made");
  EXPECT_EQ(result.committed, 0u);
  EXPECT_EQ(result.executed, 0u);
  EXPECT_EQ(result.fingerprint, 0u);
  EXPECT_EQ(result.reached, Time::zero());
  ASSERT_EQ(result.metrics.size(), 2u) << "those of the model, empty";
  EXPECT_EQ(result.metrics[0].count, 0u);
}

TEST(Team, AFailureOfTheInputIsThrown) {
  Team team(1, false);
  team.note_failure({2, 0, true, "give a file that exists"});
  team.note_failure({2, 3, false, "a fault"});
  RunResult result;
  try {
    team.take_failure(Crowd(4), result);
    FAIL() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "give a file that exists");
  }
  EXPECT_EQ(result.end, RunEnd::completed) << "there is no result";
}

// ---- Failures of workers

/// What a worker throws comes out of finish() when the others, who see that it failed, have left.
template <class Thrown>
void expect_thrown_again(const Thrown& thrown, unsigned thrower) {
  Team team(kWorkers, false);
  std::atomic<unsigned> left{0};
  team.start(0, {[&](unsigned worker) {
               if (worker == thrower) throw thrown;
               wait_for_failure(team);
               delay();
               ++left;
             }});
  EXPECT_THROW(team.finish(), Thrown);
  EXPECT_EQ(left, kWorkers - 1) << "they had all left";
  EXPECT_FALSE(team.running());
  EXPECT_NO_THROW(team.finish()) << "it is told once";
}

TEST(Team, ThrowsAgainWhatAWorkerThrows) {
  expect_thrown_again(std::bad_alloc(), 0);
  expect_thrown_again(42, kWorkers - 1);
}

TEST(Team, ThrowsAgainWhatTheFirstWorkerThrew) {
  Team team(2, false);
  team.start(0, {[&](unsigned worker) {
               if (worker == 1) throw 1;
               wait_for_failure(team);
               throw 2;
             }});
  try {
    team.finish();
    FAIL() << "nothing was thrown";
  } catch (const int first) {
    EXPECT_EQ(first, 1);
  }
}

TEST(Team, AWorkerThatThrowsEndsTheStepOfThoseWhoWait) {
  for (int round = 0; round < 50; ++round) {
    Team team(kWorkers, false);
    std::atomic<int> passed{0}, not_passed{0};
    team.start(0, {[&](unsigned worker) {
                 if (worker == 1) throw std::bad_alloc();
                 for (int step = 0; step < 3; ++step) ++(team.end_step() ? passed : not_passed);
               }});
    EXPECT_THROW(team.finish(), std::bad_alloc);
    EXPECT_EQ(passed, 0);
    EXPECT_EQ(not_passed, 3 * static_cast<int>(kWorkers - 1)) << "nor does a later step hold them";
  }
}

/// For those who sleep until they are woken.
struct Bell {
  void ring() {
    const std::lock_guard lock(mutex);
    rung = true;
    changed.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return rung; });
  }
  std::mutex mutex;
  std::condition_variable changed;
  bool rung = false;
};

TEST(Team, WakesThoseWhoSleepOnceTheyCanSeeTheFailure) {
  Team team(kWorkers, false);
  Bell bell;
  std::atomic<bool> seen_by_wake{false};
  std::atomic<unsigned> seen{0}, wakes{0};
  const auto work = [&](unsigned worker) {
    if (worker == 3) {
      delay();  // the others sleep by now
      throw 3;
    }
    bell.wait();
    seen += team.failed() ? 1 : 0;
  };
  const auto wake = [&] {
    seen_by_wake = team.failed();
    ++wakes;
    bell.ring();
  };
  team.start(0, {work, wake});
  EXPECT_THROW(team.finish(), int);
  EXPECT_TRUE(seen_by_wake);
  EXPECT_EQ(seen, kWorkers - 1) << "who is woken sees why";
  EXPECT_EQ(wakes, 1u) << "by the one that failed";
}

TEST(Team, LeavesTheApplicationModeOfAWorkerThatThrows) {
  memory::Arena arena;
  memory::LpHeap heap(arena);
  std::atomic<bool> platform{false};
  Team team(1, false);
  team.start(0, {[&](unsigned) {
                   memory::enter_application_mode(heap);
                   throw 5;
                 },
                 [&] { platform = memory::running_heap() == nullptr; }});
  EXPECT_THROW(team.finish(), int);
  EXPECT_TRUE(platform);
}

TEST(Team, JoinsWhenItIsDestroyed) {
  std::atomic<unsigned> left{0};
  {
    Team team(kWorkers, false);
    team.start(0, {[&](unsigned worker) {
                 delay();
                 ++left;
                 if (worker == 0) throw 0;  // which nobody asks for
               }});
  }
  EXPECT_EQ(left, kWorkers);
}

TEST(Team, StartsTheOthersWhereTheCallerIsAWorker) {
  Team team(kWorkers, false);
  std::array<std::atomic<int>, kWorkers> calls{};
  team.start(1, {[&](unsigned worker) {
               ++calls[worker];
               team.end_step();
             }});
  EXPECT_TRUE(team.end_step()) << "the caller's thread takes part";
  team.finish();
  EXPECT_EQ(calls[0], 0);
  for (unsigned worker = 1; worker < kWorkers; ++worker) EXPECT_EQ(calls[worker], 1);
}

TEST(Team, LetsThoseGoThatStartedIfTheSystemRefusesTheRest) {
  if constexpr (kSanitizers) GTEST_SKIP() << "sanitizers need the address space";
  constexpr unsigned kMany = 512;
  for (const unsigned first : {0u, 1u}) {
    SCOPED_TRACE("first " + std::to_string(first));
    std::atomic<unsigned> started{0}, passed{0};
    std::string sentence;
    {
      Team team(kMany, false);
      const testing::ScarceMemory scarce(rlim_t{40} << 20);  // a few stacks
      try {
        team.start(first, {[&](unsigned) {
                     ++started;
                     passed += team.end_step() ? 1 : 0;
                   }});
      } catch (const SystemFailure& error) {
        sentence = error.what();
      }
      EXPECT_TRUE(team.failed());
    }
    EXPECT_GT(started, 0u);
    EXPECT_LT(started, kMany);
    EXPECT_EQ(passed, 0u);
    EXPECT_NE(sentence.find("the system refused to start 512 threads"), std::string::npos);
    EXPECT_NE(sentence.find("use fewer --workers"), std::string::npos) << sentence;
  }
}

}  // namespace
}  // namespace orrery
