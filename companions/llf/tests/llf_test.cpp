// SPDX-License-Identifier: Apache-2.0
//
// Federates that live: who runs, messages, rounds of GVT, and what is refused in which words.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <thread>

#include "llf/tests/federates.h"

namespace orrery::testing {
namespace {

using ::testing::Test;

std::string path_of(const std::string& group) {
  return "/dev/shm/orrery-llf." + std::to_string(geteuid()) + "." + group;
}
bool exists(const std::string& group) {
  return access(path_of(group).c_str(), F_OK) == 0;
}

TEST(Llf, JoinsAndLeavesNothing) {
  const std::string group = own_group();
  llf* federate = llf_join(group.c_str(), "one", nullptr);
  ASSERT_NE(federate, nullptr) << llf_error();
  EXPECT_TRUE(exists(group));
  EXPECT_EQ(llf_lvt(federate, 5), 0);
  EXPECT_EQ(llf_safe_point(federate), 0);
  EXPECT_EQ(llf_wait(federate, 0), LLF_DEADLINE);
  EXPECT_EQ(llf_leave(federate), 0);
  EXPECT_FALSE(exists(group));
  EXPECT_EQ(llf_leave(nullptr), 0);
}

TEST(Llf, IsForgottenOnceItIsSealed) {
  const std::string group = own_group();
  llf* first = llf_join(group.c_str(), "one", nullptr);
  ASSERT_NE(first, nullptr) << llf_error();
  EXPECT_EQ(llf_seal(first), 0);
  EXPECT_FALSE(exists(group));
  EXPECT_EQ(llf_seal(first), 0);
  EXPECT_EQ(llf_lvt(first, 5), 0);
  EXPECT_EQ(llf_safe_point(first), 0);
  // The name is another group's now, which the sealed one leaves alone.
  llf* second = llf_join(group.c_str(), "one", nullptr);
  ASSERT_NE(second, nullptr) << llf_error();
  EXPECT_EQ(llf_find(first, "two"), LLF_ERROR);
  EXPECT_EQ(llf_leave(first), 0);
  EXPECT_TRUE(exists(group));
  EXPECT_EQ(llf_leave(second), 0);
  EXPECT_FALSE(exists(group));
}

TEST(Llf, SaysWhatIsNoName) {
  EXPECT_EQ(llf_join("", "one", nullptr), nullptr);
  EXPECT_STREQ(llf_error(), "'' is no name of a group: it has 1 to 71 letters, digits, and . _ -");
  EXPECT_EQ(llf_join("../etc", "one", nullptr), nullptr);
  EXPECT_EQ(llf_join("group", "a b", nullptr), nullptr);
  EXPECT_STREQ(llf_error(),
               "'a b' is no name of a federate: it has 1 to 47 letters, digits, and . _ -");
  EXPECT_EQ(llf_join(nullptr, "one", nullptr), nullptr);
  EXPECT_EQ(llf_clean("a/b"), LLF_ERROR);
}

TEST(Llf, SaysWhatOptionsAreWrong) {
  llf_options wrong = options(1);
  wrong.size = 3;
  EXPECT_EQ(llf_join("group", "one", &wrong), nullptr);
  EXPECT_NE(std::string(llf_error()).find("must be sizeof(llf_options)"), std::string::npos);
  wrong = options(5000);
  EXPECT_EQ(llf_join("group", "one", &wrong), nullptr);
  EXPECT_NE(std::string(llf_error()).find("there are at most 1024"), std::string::npos);
}

/// The rest of a test in a process of its own, so that there are two federates.
TEST(Llf, RefusesASecondOfOneName) {
  const std::string group = own_group();
  llf* first = llf_join(group.c_str(), "rank-0", nullptr);
  ASSERT_NE(first, nullptr);
  Processes others;
  others.start([&] {
    if (llf_join(group.c_str(), "rank-0", nullptr) != nullptr) return false;
    return std::string(llf_error()) ==
           "group '" + group + "' has a federate 'rank-0' already, process " +
               std::to_string(getppid()) +
               "; either two federates have one name, or another simulation runs whose group has "
               "this name";
  });
  EXPECT_EQ(others.failed(), 0);
  llf_leave(first);
}

TEST(Llf, RefusesMoreThanThereIsRoomFor) {
  const std::string group = own_group();
  const llf_options two = options(2, 2);
  llf* first = llf_join(group.c_str(), "one", &two);
  ASSERT_NE(first, nullptr);
  InSharedMemory<std::atomic<int>> stage;
  Processes others;
  others.start([&] {
    llf* second = llf_join(group.c_str(), "two", &two);
    if (second == nullptr) return false;
    stage->store(1);
    await([&] { return stage->load() == 2; });
    return llf_leave(second) == 0;
  });
  await([&] { return stage->load() == 1; });
  others.start([&] {
    if (llf_join(group.c_str(), "three", &two) != nullptr) return false;
    const std::string said = llf_error();
    return said == "group '" + group +
                       "' has 2 federates, and no room for 'three'; the federate that joins "
                       "first can ask for more (llf_options.slots, at most 1024)";
  });
  EXPECT_EQ(others.end_of(1), 0);
  stage->store(2);
  EXPECT_EQ(others.end_of(0), 0);
  EXPECT_EQ(llf_meet(first, 3, -1), LLF_ERROR);
  EXPECT_NE(std::string(llf_error()).find("but group"), std::string::npos) << llf_error();
  llf_leave(first);
}

TEST(Llf, RefusesAnotherNumberOfTokens) {
  const std::string group = own_group();
  const llf_options one = options(1), two = options(2);
  llf* first = llf_join(group.c_str(), "one", &one);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(llf_join(group.c_str(), "two", &two), nullptr);
  EXPECT_NE(std::string(llf_error()).find("federate 'two' asks for 2 tokens, but process"),
            std::string::npos)
      << llf_error();
  llf_leave(first);
}

TEST(Llf, RefusesWhatIsNoSegment) {
  const std::string group = own_group(), path = path_of(group);
  const int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(ftruncate(file, 100), 0);
  EXPECT_EQ(llf_join(group.c_str(), "one", nullptr), nullptr);
  EXPECT_NE(std::string(llf_error()).find("is no group of llf"), std::string::npos) << llf_error();
  ASSERT_EQ(ftruncate(file, 100'000), 0);
  ASSERT_EQ(pwrite(file, "another", 7, 0), 7);
  EXPECT_EQ(llf_join(group.c_str(), "one", nullptr), nullptr);
  EXPECT_NE(std::string(llf_error()).find("another version of liborrery-llf"), std::string::npos);
  EXPECT_EQ(llf_look(group.c_str(), nullptr, sizeof(llf_view), 0), LLF_ERROR);
  close(file);
  unlink(path.c_str());
}

/// One that was only begun is none.
TEST(Llf, MakesWhatWasOnlyBegun) {
  const std::string group = own_group();
  close(open(path_of(group).c_str(), O_RDWR | O_CREAT, 0600));
  llf* federate = llf_join(group.c_str(), "one", nullptr);
  ASSERT_NE(federate, nullptr) << llf_error();
  llf_leave(federate);
  EXPECT_FALSE(exists(group));
}

TEST(Llf, RefusesASegmentOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a file of another user";
  const std::string group = own_group(), path = path_of(group);
  const int file = open(path.c_str(), O_RDWR | O_CREAT, 0666);
  ASSERT_EQ(fchown(file, 12345, 0), 0);
  EXPECT_EQ(llf_join(group.c_str(), "one", nullptr), nullptr);
  EXPECT_NE(std::string(llf_error()).find("belongs to user 12345"), std::string::npos);
  close(file);
  unlink(path.c_str());
}

TEST(Llf, SaysWhichTimesAreNone) {
  const std::string group = own_group();
  llf* federate = llf_join(group.c_str(), "one", nullptr);
  ASSERT_NE(federate, nullptr);
  EXPECT_EQ(llf_lvt(federate, LLF_NEVER), 0);
  EXPECT_EQ(llf_lvt(federate, LLF_NEVER + 1), LLF_ERROR);
  EXPECT_EQ(llf_lvt(federate, LLF_EARLIEST - 1), LLF_ERROR);
  const int self = llf_find(federate, "one");
  EXPECT_EQ(llf_message_to(federate, self, LLF_NEVER), LLF_ERROR);
  EXPECT_EQ(llf_message_to(federate, -1, 5), LLF_ERROR);
  EXPECT_EQ(llf_message_to(federate, 63, 5), LLF_ERROR);
  EXPECT_EQ(llf_message_to(federate, self, 5), 0);
  EXPECT_EQ(llf_wait(federate, -1), LLF_MESSAGE);
  EXPECT_EQ(llf_messages_read(federate), 0);
  EXPECT_EQ(llf_wait(federate, 1000), LLF_DEADLINE);
  EXPECT_EQ(llf_find(federate, "two"), LLF_ERROR);
  EXPECT_EQ(std::string(llf_error()), "there is no federate 'two' in group '" + group + "'");
  llf_leave(federate);
}

TEST(Llf, SaysWhoGoesBackBeyondGvt) {
  const std::string group = own_group();
  llf* federate = llf_join(group.c_str(), "one", nullptr);
  ASSERT_NE(federate, nullptr);
  llf_time gvt;
  int64_t in_transit;
  ASSERT_EQ(llf_gvt(federate, 7, 1, &gvt, &in_transit), 0);
  EXPECT_EQ(in_transit, 1);
  EXPECT_EQ(llf_lvt(federate, 3), 0) << "as long as messages are on their way there is no GVT";
  ASSERT_EQ(llf_gvt(federate, 7, 0, &gvt, &in_transit), 0);
  EXPECT_EQ(gvt, 7);
  EXPECT_EQ(llf_lvt(federate, 7), 0);
  EXPECT_EQ(llf_lvt(federate, 6), LLF_ERROR);
  EXPECT_EQ(std::string(llf_error()), "federate 'one' of group '" + group +
                                          "' gives the LVT 6, which is before its GVT 7; "
                                          "what is before GVT cannot be executed any more");
  EXPECT_EQ(llf_message_to(federate, 0, 6), LLF_ERROR);
  EXPECT_EQ(llf_gvt(federate, 6, 0, &gvt, &in_transit), LLF_ERROR);
  llf_leave(federate);
}

TEST(Llf, IsForTheThreadThatJoined) {
  const std::string group = own_group();
  llf* federate = llf_join(group.c_str(), "one", nullptr);
  ASSERT_NE(federate, nullptr);
  std::thread([&] {
    EXPECT_EQ(llf_wait(federate, 0), LLF_ERROR);
    EXPECT_NE(std::string(llf_error()).find("is another thread"), std::string::npos);
    EXPECT_EQ(llf_leave(federate), LLF_ERROR);
  }).join();
  EXPECT_EQ(llf_leave(federate), 0);
}

TEST(Llf, IsNotForTheChildOfAFork) {
  const std::string group = own_group();
  llf* federate = llf_join(group.c_str(), "one", nullptr);
  ASSERT_NE(federate, nullptr);
  Processes children;
  children.start([&] {
    if (llf_safe_point(federate) != LLF_ERROR || llf_lvt(federate, 1) != LLF_ERROR ||
        llf_wait(federate, 0) != LLF_ERROR ||
        std::string(llf_error()).find("is the process that has forked this one") ==
            std::string::npos)
      return false;
    if (llf_leave(federate) != 0) return false;  // frees what the child has of it
    llf* own = llf_join(group.c_str(), "two", nullptr);
    return own != nullptr && llf_leave(own) == 0;
  });
  EXPECT_EQ(children.failed(), 0);
  EXPECT_EQ(llf_wait(federate, 0), LLF_DEADLINE);
  EXPECT_EQ(llf_leave(federate), 0);
  EXPECT_FALSE(exists(group));
}

TEST(Llf, MeetsAsManyAsThereAreToBe) {
  const std::string group = own_group();
  const llf_options one = options(1);
  llf* first = llf_join(group.c_str(), "first", &one);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(llf_meet(first, 1, -1), 0);
  EXPECT_EQ(llf_meet(first, 2, 1'000'000), LLF_ERROR);
  EXPECT_NE(std::string(llf_error()).find("waited for 2 federates to join"), std::string::npos);
  Processes others;
  for (const char* name : {"a", "b"})
    others.start([&] {
      llf* other = llf_join(group.c_str(), name, &one);
      return other != nullptr && llf_meet(other, 3, -1) == 0 && llf_find(other, "first") >= 0 &&
             llf_leave(other) == 0;
    });
  EXPECT_EQ(llf_meet(first, 3, -1), 0);
  EXPECT_EQ(llf_pause(first), 0);
  EXPECT_EQ(others.failed(), 0);
  EXPECT_EQ(llf_resume(first), 0);
  EXPECT_EQ(llf_leave(first), 0);
}

struct Counts {
  std::atomic<int> running{0}, most{0};
  void enter() {
    const int now = running.fetch_add(1) + 1;
    int seen = most.load();
    while (now > seen && !most.compare_exchange_weak(seen, now)) continue;
  }
  void exit() { running.fetch_sub(1); }
};

/// Eight processes on two tokens: messages in a circle and safe points.
TEST(Llf, RunsNoMoreThanThereAreTokens) {
  constexpr int kFederates = 8;
  constexpr int kEvents = 400;
  const std::string group = own_group();
  const llf_options two = options(2);
  struct World {
    Counts counts;
    std::array<std::atomic<int>, kFederates> inbox{};
  };
  InSharedMemory<World> world;
  const auto live = [&](int self) {
    const int next = (self + 1) % kFederates;
    llf* federate = llf_join(group.c_str(), std::to_string(self).c_str(), &two);
    if (federate == nullptr) return false;
    world->counts.enter();
    const auto outside = [&](auto call) {
      world->counts.exit();
      const int result = call();
      world->counts.enter();
      return result;
    };
    bool well = outside([&] { return llf_meet(federate, kFederates, -1); }) == 0;
    const int peer = llf_find(federate, std::to_string(next).c_str());
    for (int event = 1; well && event <= kEvents; ++event) {
      well = llf_lvt(federate, event) == 0;
      // Who has come to its end has begun the round.
      well &= (outside([&] { return llf_safe_point(federate); }) & ~LLF_GVT) == 0;
      world->inbox[next].fetch_add(1);
      well &= llf_message_to(federate, peer, event + 1) == 0;
      for (;;) {
        llf_messages_read(federate);
        if (world->inbox[self].load() >= event) break;
        const int notice = outside([&] { return llf_wait(federate, -1); });
        well &= (notice & ~LLF_GVT) == LLF_MESSAGE || notice == LLF_GVT;
        // Who waits does not, once there is a round; the message will come all the same.
        if (notice == LLF_GVT) outside([&] { return llf_pause(federate) | llf_resume(federate); });
      }
    }
    llf_time gvt;
    int64_t in_transit;
    well &= outside([&] { return llf_gvt(federate, kEvents, 0, &gvt, &in_transit); }) == 0;
    world->counts.exit();
    return well && gvt == kEvents && llf_leave(federate) == 0;
  };
  Processes processes;
  for (int i = 0; i < kFederates; ++i) processes.start([&live, i] { return live(i); });
  EXPECT_EQ(processes.failed(), 0);
  EXPECT_LE(world->counts.most.load(), 2);
  EXPECT_FALSE(exists(group));
}

TEST(Llf, RunsAsManyAsThereAreTokens) {
  const std::string group = own_group();
  const llf_options two = options(2);
  InSharedMemory<std::atomic<int>> running;
  Processes processes;
  for (const char* name : {"a", "b"})
    processes.start([&, name] {
      llf* federate = llf_join(group.c_str(), name, &two);
      if (federate == nullptr || llf_meet(federate, 2, -1) != 0) return false;
      running->fetch_add(1);
      await([&] { return running->load() == 2; });  // with a token, which only a test may do
      return llf_leave(federate) == 0;
    });
  EXPECT_EQ(processes.failed(), 0);
}

/// Two federates bound to one core have one token, until one of them may use a second core.
TEST(Llf, TokensFollowTheCoresThatFederatesMayUse) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "there is only one core";
  CPU_ZERO(&one);
  for (int core = 0; CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
  const std::string group = own_group();
  InSharedMemory<std::atomic<int>> running;
  Processes processes;
  for (const char* name : {"a", "b"})
    processes.start([&, name] {
      if (sched_setaffinity(0, sizeof one, &one) != 0) return false;
      llf* federate = llf_join(group.c_str(), name, nullptr);
      if (federate == nullptr || llf_meet(federate, 2, -1) != 0) return false;
      if (running->fetch_add(1) == 0) {
        if (sched_setaffinity(0, sizeof all, &all) != 0 || llf_wait(federate, 0) < 0) return false;
      }
      await([&] { return running->load() == 2; });  // with a token, which only a test may do
      return llf_leave(federate) == 0;
    });
  EXPECT_EQ(processes.failed(), 0);
}

/// With one token the order of events is that of their times, whoever has them.
TEST(Llf, RunsTheLeastLvtFirst) {
  constexpr int kFederates = 4, kEvents = 50;
  const std::string group = own_group();
  const llf_options one = options(1);
  struct World {
    std::atomic<int> next{0};
    std::array<std::atomic<int>, kFederates * kEvents> times{};
  };
  InSharedMemory<World> world;
  Processes processes;
  for (int self = 0; self < kFederates; ++self)
    processes.start([&, self] {
      llf* federate = llf_join(group.c_str(), std::to_string(self).c_str(), &one);
      if (federate == nullptr || llf_lvt(federate, self) != 0 ||
          llf_meet(federate, kFederates, -1) != 0)
        return false;
      for (int event = 0; event < kEvents; ++event) {
        const int time = event * kFederates + self;
        if (llf_lvt(federate, time) != 0 || llf_safe_point(federate) != 0) return false;
        world->times[static_cast<std::size_t>(world->next.fetch_add(1))].store(time);
      }
      return llf_leave(federate) == 0;
    });
  EXPECT_EQ(processes.failed(), 0);
  for (int i = 0; i < kFederates * kEvents; ++i)
    ASSERT_EQ(world->times[static_cast<std::size_t>(i)].load(), i);
}

/// Threads of one process, too.
TEST(Llf, RunsThreads) {
  const std::string group = own_group();
  const llf_options one = options(1);
  Counts counts;
  const auto live = [&](const char* name) {
    llf* federate = llf_join(group.c_str(), name, &one);
    ASSERT_NE(federate, nullptr) << llf_error();
    EXPECT_EQ(llf_meet(federate, 3, -1), 0);
    for (int event = 0; event < 100; ++event) {
      counts.enter();
      EXPECT_EQ(llf_lvt(federate, event), 0);
      counts.exit();
      EXPECT_GE(llf_safe_point(federate), 0);
    }
    EXPECT_EQ(llf_leave(federate), 0);
  };
  std::thread a(live, "a"), b(live, "b"), c(live, "c");
  a.join(), b.join(), c.join();
  EXPECT_EQ(counts.most.load(), 1);
  EXPECT_FALSE(exists(group));
}

TEST(Llf, PullsTheOthersIntoARound) {
  const std::string group = own_group();
  const llf_options one = options(1);
  Processes processes;
  const auto join_in = [](llf* federate, llf_time lowest) {
    llf_time gvt;
    int64_t in_transit;
    return llf_gvt(federate, lowest, 0, &gvt, &in_transit) == 0 && gvt == 3 && in_transit == 0;
  };
  const auto member = [&](const char* name, const std::function<bool(llf*)>& life) {
    processes.start([&group, &one, name, life] {
      llf* federate = llf_join(group.c_str(), name, &one);
      return federate != nullptr && llf_meet(federate, 3, -1) == 0 && life(federate) &&
             llf_leave(federate) == 0;
    });
  };
  member("begins",
         [&](llf* federate) { return llf_lvt(federate, 5) == 0 && join_in(federate, 5); });
  member("waits", [&](llf* federate) {
    return llf_lvt(federate, 3) == 0 && llf_wait(federate, -1) == LLF_GVT && join_in(federate, 3);
  });
  member("executes", [&](llf* federate) {
    for (llf_time lvt = 4;; ++lvt) {
      if (llf_lvt(federate, lvt) != 0) return false;
      const int notice = llf_safe_point(federate);
      if (notice == LLF_GVT) return llf_safe_point(federate) == LLF_GVT && join_in(federate, lvt);
      if (notice != 0) return false;
    }
  });
  EXPECT_EQ(processes.failed(), 0);
}

TEST(Llf, ShowsWhoIsThere) {
  const std::string group = own_group();
  EXPECT_EQ(llf_look(group.c_str(), nullptr, sizeof(llf_view), 0), 0);
  const llf_options one = options(1);
  llf* late = llf_join(group.c_str(), "late", &one);
  ASSERT_NE(late, nullptr);
  llf_lvt(late, 9);
  Processes others;
  others.start([&] {
    llf* early = llf_join(group.c_str(), "early", &one);
    return early != nullptr && llf_lvt(early, 4) == 0 && llf_wait(early, -1) == LLF_MESSAGE &&
           llf_leave(early) == 0;
  });
  std::array<llf_view, 4> views;
  llf_pause(late);
  await([&] {
    return llf_look(group.c_str(), views.data(), sizeof(llf_view), 4) == 2 &&
           std::string(views[0].state) == "waiting";
  });
  llf_resume(late);
  EXPECT_STREQ(views[0].name, "early");
  EXPECT_EQ(views[0].process, others[0]);
  EXPECT_EQ(views[0].lvt, 4);
  EXPECT_EQ(views[0].unread, LLF_NEVER);
  EXPECT_STREQ(views[1].name, "late");
  EXPECT_STREQ(views[1].state, "paused");
  EXPECT_EQ(llf_look(group.c_str(), views.data(), sizeof(llf_view), 1), 2) << "also without room";
  EXPECT_EQ(llf_clean(group.c_str()), LLF_ERROR);
  EXPECT_NE(std::string(llf_error()).find("has federates that live"), std::string::npos);
  EXPECT_EQ(llf_message_to(late, llf_find(late, "early"), 20), 0);
  llf_pause(late);
  EXPECT_EQ(others.failed(), 0);
  llf_resume(late);
  llf_leave(late);
}

TEST(LlfTimes, OfDoublesKeepTheirOrder) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::array<double, 11> ordered{-infinity, -1e300, -2.5, -1e-300, 0,       1e-300,
                                       1,         1.0001, 1e17, 1.7e308, infinity};
  for (std::size_t i = 1; i < ordered.size(); ++i)
    EXPECT_LT(llf_time_of(ordered[i - 1]), llf_time_of(ordered[i])) << ordered[i];
  EXPECT_EQ(llf_time_of(infinity), LLF_NEVER);
  EXPECT_GT(llf_time_of(-infinity), LLF_EARLIEST);
  EXPECT_EQ(llf_time_of(0), 0);
  EXPECT_EQ(llf_double_of(LLF_NEVER), infinity);
  for (const double time : {-3.0000001, -2.5, -1e-300, 0.0, 1.0, 0.1, 1e17, 1.23456789e-5}) {
    const double back = llf_double_of(llf_time_of(time));
    EXPECT_LE(back, time) << "a bound must stay one";
    EXPECT_NEAR(back, time, std::abs(time) * 4e-15);
    EXPECT_EQ(llf_time_of(back), llf_time_of(time));
  }
}

}  // namespace
}  // namespace orrery::testing
