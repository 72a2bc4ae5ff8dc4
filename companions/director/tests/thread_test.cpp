// SPDX-License-Identifier: Apache-2.0
//
// What is read of other processes' threads, and which of them are directed; nothing is changed.
#include "director/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <semaphore>
#include <thread>

#include "director/roll.h"
#include "director/scan.h"
#include "director/scheduling.h"

namespace orrery::director {
namespace {

/// A thread with a name that sleeps until it is let go.
class Sleeper {
 public:
  explicit Sleeper(const char* name)
      : thread_([this, name] {
          pthread_setname_np(pthread_self(), name);
          number_ = static_cast<pid_t>(syscall(SYS_gettid));
          named_.release();
          ends_.acquire();
        }) {
    named_.acquire();
  }
  ~Sleeper() { end(); }
  void end() {
    if (!thread_.joinable()) return;
    ends_.release();
    thread_.join();
  }
  pid_t number() const { return number_; }

 private:
  std::atomic<pid_t> number_{0};
  std::binary_semaphore named_{0}, ends_{0};
  std::thread thread_;
};

TEST(DirectorThread, ConsumptionStateAndName) {
  std::optional<Thread> self = Thread::open(getpid(), static_cast<pid_t>(syscall(SYS_gettid)));
  ASSERT_TRUE(self);
  EXPECT_EQ(self->state(), 'R');
  EXPECT_GT(self->id().born, 0u);
  EXPECT_EQ(self->id().born, birth_of(getpid(), self->id().thread));
  const Nanoseconds before = self->consumed().value_or(-1);
  EXPECT_GT(before, 0);
  // Whoever sleeps has been brought up to date.
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GT(self->consumed().value_or(-1), before);
}

TEST(DirectorThread, NamesMayHoldAnything) {
  Sleeper sleeper("a) R (b 1 2");
  std::optional<Thread> thread = Thread::open(getpid(), sleeper.number());
  ASSERT_TRUE(thread);
  EXPECT_EQ(thread->name(), "a) R (b 1 2");
  EXPECT_GT(thread->id().born, 0u);
  while (thread->state() != 'S') std::this_thread::yield();
}

TEST(DirectorThread, OneThatHasEndedIsNoError) {
  std::optional<Thread> thread;
  Sleeper sleeper("short");
  thread = Thread::open(getpid(), sleeper.number());
  ASSERT_TRUE(thread && thread->consumed());
  sleeper.end();
  // The system may need a moment after the thread was joined.
  while (thread->consumed()) std::this_thread::yield();
  EXPECT_EQ(thread->state(), 'X');
  EXPECT_FALSE(Thread::open(getpid(), thread->id().thread));
}

TEST(DirectorThread, NoSuchProcess) {
  EXPECT_TRUE(threads_of(0x7ffffff).empty());
  EXPECT_FALSE(Thread::open(0x7ffffff, 0x7ffffff));
  EXPECT_EQ(birth_of(0x7ffffff, 0x7ffffff), 0u);
}

/// Names of what a scan of this process found, helpers in brackets, in order.
std::vector<std::string> names_of(const std::vector<Found>& found) {
  std::vector<std::string> names;
  for (const Found& one : found)
    names.push_back(one.is_helper ? "(" + one.thread.name() + ")" : one.thread.name());
  std::sort(names.begin(), names.end());
  return names;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(DirectorScan, VirtualProcessorsOfQemu) {
  EXPECT_TRUE(is_virtual_processor("CPU 0/TCG"));
  EXPECT_TRUE(is_virtual_processor("CPU 17/KVM"));
  EXPECT_TRUE(is_virtual_processor("ALL CPUs/TCG"));
  EXPECT_FALSE(is_virtual_processor("qemu-system-x86"));
  EXPECT_FALSE(is_virtual_processor("CPU"));
  EXPECT_FALSE(is_virtual_processor("IO mon_iothread"));
}

TEST(DirectorScan, WithoutVirtualProcessorsAllThreadsAreDirected) {
  Sleeper sleeper("worker");
  Scanner scanner({.processes = {getpid()}, .group = "", .pattern = ""});
  const auto names = names_of(scanner.scan());
  EXPECT_TRUE(holds(names, "worker"));
  EXPECT_FALSE(holds(names, "(worker)"));
}

TEST(DirectorScan, BesideVirtualProcessorsOthersAreHelpers) {
  Sleeper worker("worker"), processor("CPU 0/TCG");
  Scanner scanner({.processes = {getpid()}, .group = "", .pattern = ""});
  const auto names = names_of(scanner.scan());
  EXPECT_TRUE(holds(names, "(worker)"));
  EXPECT_TRUE(holds(names, "CPU 0/TCG"));
}

TEST(DirectorScan, APatternChoosesByName) {
  Sleeper one("worker-1"), two("other");
  Scanner scanner({.processes = {getpid()}, .group = "", .pattern = "work*"});
  const auto names = names_of(scanner.scan());
  EXPECT_TRUE(holds(names, "worker-1"));
  EXPECT_TRUE(holds(names, "(other)"));
}

TEST(DirectorScan, OnlyWhatIsNewOrHasAnotherRoleIsFoundAgain) {
  Sleeper worker("worker");
  Scanner scanner({.processes = {getpid()}, .group = "", .pattern = ""});
  scanner.scan();
  EXPECT_TRUE(scanner.scan().empty());
  Sleeper processor("CPU 0/TCG");
  const auto names = names_of(scanner.scan());
  EXPECT_TRUE(holds(names, "(worker)"));
  EXPECT_TRUE(holds(names, "CPU 0/TCG"));
  EXPECT_TRUE(scanner.scan().empty());
}

TEST(DirectorScheduling, WhatTheDirectorMakesOfAThreadIsKnownAgain) {
  EXPECT_TRUE(is_directed(scheduling_of(Level::waiting)));
  EXPECT_TRUE(is_directed(scheduling_of(Level::ordinary)));
  for (const Level level : {Level::standby, Level::running, Level::helper})
    EXPECT_TRUE(scheduling_of(level).is_real_time());
  EXPECT_FALSE(is_directed(Scheduling{}));
}

TEST(DirectorScheduling, TheLevelsAreInOrder) {
  const Level levels[] = {Level::standby, Level::running, Level::helper, Level::director,
                          Level::guardian};
  for (std::size_t i = 1; i < std::size(levels); ++i)
    EXPECT_LT(scheduling_of(levels[i - 1]).priority, scheduling_of(levels[i]).priority);
}

TEST(DirectorRoll, GivesBackWhatAThreadHad) {
  Sleeper sleeper("worker");
  const pid_t number = sleeper.number();
  Scheduling before, now;
  // What needs no right: an ordinary thread may become one of batches, and be so again.
  ASSERT_EQ(set_scheduling(number, {.policy = SCHED_BATCH, .nice = 3}), 0);
  ASSERT_EQ(read_scheduling(number, before), 0);
  EXPECT_EQ(before.nice, 3);
  Roll roll;
  RollEntry* entry = roll.add({getpid(), number, birth_of(getpid(), number)}, before);
  ASSERT_NE(entry, nullptr);
  ASSERT_EQ(set_scheduling(number, {.policy = SCHED_OTHER, .nice = 3}), 0);
  roll.give_all_back();
  ASSERT_EQ(read_scheduling(number, now), 0);
  EXPECT_EQ(now, before);
  ASSERT_NE(roll.of_process(getpid()), nullptr);
  Roll::remove(*entry);
  EXPECT_EQ(roll.of_process(getpid()), nullptr);
}

TEST(DirectorRoll, AnotherThreadOfThatNumberIsLeftAlone) {
  Sleeper sleeper("worker");
  const pid_t number = sleeper.number();
  Scheduling before;
  ASSERT_EQ(read_scheduling(number, before), 0);
  Roll roll;
  roll.add({getpid(), number, birth_of(getpid(), number) + 1},
           {.policy = SCHED_BATCH, .nice = before.nice});
  roll.give_all_back();
  Scheduling now;
  ASSERT_EQ(read_scheduling(number, now), 0);
  EXPECT_EQ(now, before);
}

}  // namespace
}  // namespace orrery::director
