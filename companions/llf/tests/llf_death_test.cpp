// SPDX-License-Identifier: Apache-2.0
//
// Federates that are killed, in whatever they do: the others are told, get their tokens, and go on.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "llf/tests/federates.h"

namespace orrery::testing {
namespace {

/// Kills federate "victim" while it does `last`, on one token; "heir" is ready or comes to be.
void expect_the_others_go_on(const std::function<void(llf*, std::atomic<int>&)>& last,
                             const char* state) {
  const std::string group = own_group();
  const llf_options one = options(1);
  InSharedMemory<std::atomic<int>> stage;
  Processes processes;
  processes.start([&] {
    llf* victim = llf_join(group.c_str(), "victim", &one);
    if (victim == nullptr || llf_meet(victim, 2, -1) != 0) return false;
    llf_lvt(victim, 1);
    last(victim, *stage);
    return false;  // it never comes here
  });
  processes.start([&] {
    llf* heir = llf_join(group.c_str(), "heir", &one);
    if (heir == nullptr || llf_lvt(heir, 2) != 0 || llf_meet(heir, 2, -1) != 0) return false;
    if (std::string(state) == "gvt") {  // or the round would be over at once
      llf_pause(heir);
      await([&] { return stage->load() == 2; });
      llf_resume(heir);
    }
    int notice;
    do {
      notice = llf_wait(heir, 20'000'000);
    } while (notice == LLF_DEADLINE);
    llf_time gvt;
    int64_t in_transit;
    if (notice == LLF_GVT) notice = llf_gvt(heir, 2, 0, &gvt, &in_transit);
    const std::string expected = "federate 'victim' of group '" + group + "', process " +
                                 std::to_string(processes[0]) + ", has died without leaving";
    if (expected != llf_error()) return false;
    return (llf_safe_point(heir) & LLF_DEATH) == 0 && llf_leave(heir) == 0;
  });
  std::array<llf_view, 4> views;
  await([&] {
    const int count = llf_look(group.c_str(), views.data(), sizeof(llf_view), 4);
    for (int i = 0; i < count; ++i)
      if (std::string(views[i].name) == "victim" && views[i].state == std::string(state))
        return stage->load() == 1;
    return false;
  });
  kill(processes[0], SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(processes.end_of(0)));
  stage->store(2);
  EXPECT_EQ(processes.end_of(1), 0);
  EXPECT_EQ(llf_look(group.c_str(), views.data(), sizeof(llf_view), 4), 0);
}

TEST(LlfDeath, OfOneThatRuns) {
  expect_the_others_go_on(
      [](llf*, std::atomic<int>& stage) {
        stage = 1;
        for (;;) usleep(1000);
      },
      "running");
}

TEST(LlfDeath, OfOneThatWaits) {
  expect_the_others_go_on(
      [](llf* victim, std::atomic<int>& stage) {
        stage = 1;
        llf_wait(victim, -1);
      },
      "waiting");
}

TEST(LlfDeath, OfOneThatIsPaused) {
  expect_the_others_go_on(
      [](llf* victim, std::atomic<int>& stage) {
        stage = 1;
        llf_pause(victim);
        for (;;) usleep(1000);
      },
      "paused");
}

TEST(LlfDeath, OfOneThatHasBegunARound) {
  expect_the_others_go_on(
      [](llf* victim, std::atomic<int>& stage) {
        stage = 1;
        llf_time gvt;
        int64_t in_transit;
        llf_gvt(victim, 1, 0, &gvt, &in_transit);
      },
      "gvt");
}

/// The one that is ready dies, and the one that runs then goes to sleep: the token is not left to
/// the dead one for ever.
TEST(LlfDeath, OfOneThatIsReady) {
  const std::string group = own_group();
  const llf_options one = options(1);
  llf* runs = llf_join(group.c_str(), "runs", &one);
  ASSERT_NE(runs, nullptr);
  ASSERT_EQ(llf_lvt(runs, 1), 0);
  Processes processes;
  processes.start([&] { return llf_join(group.c_str(), "ready", &one) == nullptr; });
  std::array<llf_view, 4> views;
  const auto look = [&] { return llf_look(group.c_str(), views.data(), sizeof(llf_view), 4); };
  await([&] { return look() == 2 && views[0].state == std::string("ready"); });
  ASSERT_EQ(kill(processes[0], SIGSTOP), 0);  // so that it does not take the token before it dies
  ASSERT_EQ(kill(processes[0], SIGKILL), 0);
  EXPECT_TRUE(WIFSIGNALED(processes.end_of(0)));
  int notice;
  do {
    notice = llf_wait(runs, -1);
  } while (notice == LLF_MESSAGE);
  EXPECT_EQ(notice, LLF_DEATH);
  EXPECT_NE(std::string(llf_error()).find("federate 'ready'"), std::string::npos);
  EXPECT_EQ(look(), 1);
  llf_leave(runs);
}

/// A thread that ends without leaving is dead as well.
TEST(LlfDeath, OfAProcessThatExits) {
  const std::string group = own_group();
  Processes processes;
  processes.start([&] { return llf_join(group.c_str(), "one", nullptr) != nullptr; });
  EXPECT_EQ(processes.failed(), 0);
  EXPECT_EQ(
      access(("/dev/shm/orrery-llf." + std::to_string(geteuid()) + "." + group).c_str(), F_OK), 0);
  EXPECT_EQ(llf_clean(group.c_str()), 0);
  EXPECT_NE(
      access(("/dev/shm/orrery-llf." + std::to_string(geteuid()) + "." + group).c_str(), F_OK), 0);
  EXPECT_EQ(llf_clean(group.c_str()), 0);
}

/// What a dead run has left is no hindrance, of whatever shape it was.
TEST(LlfDeath, LeavesASegmentThatIsMadeAnew) {
  const std::string group = own_group();
  const llf_options few = options(1, 2), many = options(3, 200);
  Processes processes;
  for (const char* name : {"one", "two"})
    processes.start([&, name] { return llf_join(group.c_str(), name, &few) != nullptr; });
  // With one token the second gets in when the first has ended.
  EXPECT_EQ(processes.failed(), 0);
  llf* federate = llf_join(group.c_str(), "one", &many);
  ASSERT_NE(federate, nullptr) << llf_error();
  std::array<llf_view, 4> views;
  EXPECT_EQ(llf_look(group.c_str(), views.data(), sizeof(llf_view), 4), 1);
  EXPECT_EQ(llf_meet(federate, 200, 0), LLF_ERROR);
  EXPECT_NE(std::string(llf_error()).find("waited for 200"), std::string::npos) << llf_error();
  llf_leave(federate);
}

/// Federates are killed at random moments while others exchange messages; whoever is left comes to
/// the end.
TEST(LlfDeath, AtAnyTimeIsSurvived) {
  constexpr int kFederates = 5, kRuns = 30;
  const llf_options two = options(2);
  for (int run = 0; run < kRuns; ++run) {
    const std::string group = own_group() + "." + std::to_string(run);
    InSharedMemory<std::atomic<int>> started;
    Processes processes;
    for (int self = 0; self < kFederates; ++self)
      processes.start([&, self] {
        llf* federate = llf_join(group.c_str(), std::to_string(self).c_str(), &two);
        if (federate == nullptr || llf_meet(federate, kFederates, -1) < 0) return false;
        started->fetch_add(1);
        const int peer = llf_find(federate, std::to_string((self + 1) % kFederates).c_str());
        bool lonely = false;
        for (llf_time lvt = 1; !lonely; ++lvt) {
          if (llf_lvt(federate, lvt) != 0) return false;
          lonely = (llf_safe_point(federate) & LLF_DEATH) != 0;
          llf_message_to(federate, peer, lvt + 1);
          lonely |= (llf_wait(federate, -1) & LLF_DEATH) != 0;
          llf_messages_read(federate);
        }
        return llf_leave(federate) == 0;
      });
    await([&] { return started->load() == kFederates; });
    usleep(static_cast<useconds_t>(run) * 150);
    const auto victim = static_cast<std::size_t>(run % kFederates);
    kill(processes[victim], SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(processes.end_of(victim)));
    EXPECT_EQ(processes.failed(), 0);
  }
}

}  // namespace
}  // namespace orrery::testing
