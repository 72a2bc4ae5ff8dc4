// SPDX-License-Identifier: Apache-2.0
//
// Who has computed for too long, who only had no core, and who does nothing: with processes of our
// own in place of a guest's.
#include "../../models/lab/guest_timeout.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <thread>

namespace orrery::lab::testing {
namespace {

using namespace std::chrono_literals;

/// A process that has started another, which computes, or waits for a signal.
class FakeGuest {
 public:
  explicit FakeGuest(bool computes, bool rarely = false) : id_(fork()) {
    if (id_ != 0) return;
    setpgid(0, 0);
    if (rarely) {
      const sched_param none{};
      sched_setscheduler(0, SCHED_IDLE, &none);
    }
    volatile unsigned work = 0;
    for (const bool pauses = fork() != 0 || !computes;;)
      if (pauses) {
        pause();
      } else {
        work = work + 1;
      }
  }
  ~FakeGuest() {
    setpgid(id_, id_);
    kill(-id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  FakeGuest(const FakeGuest&) = delete;
  FakeGuest& operator=(const FakeGuest&) = delete;
  pid_t id() const { return id_; }

 private:
  pid_t id_;
};

bool machine_tells_of_children() {
  const std::string own = std::to_string(getpid());
  return std::ifstream("/proc/" + own + "/task/" + own + "/children").is_open();
}

TEST(LabGuestTimeout, EndsWithWhoComputesForTooLong) {
  if (!machine_tells_of_children()) GTEST_SKIP() << "this machine does not tell of children";
  const FakeGuest guest(true);
  GuestTimeout timeout(200ms);
  std::optional<std::string> complaint;
  while (!(complaint = timeout.look(guest.id()))) std::this_thread::sleep_for(20ms);
  EXPECT_EQ(*complaint, "it has computed for 0.2 s of processor time without an end");
}

TEST(LabGuestTimeout, BeginsAnewWithWhoHasGotOn) {
  const FakeGuest guest(true);
  GuestTimeout timeout(200ms);
  for (int i = 0; i < 60; ++i) {
    ASSERT_FALSE(timeout.look(guest.id()));
    timeout.got_on();
    std::this_thread::sleep_for(10ms);
  }
}

TEST(LabGuestTimeout, EndsWithWhoDoesNothing) {
  const FakeGuest guest(false);
  GuestTimeout timeout(5 * GuestTimeout::kPeriod);
  int looks = 0;
  std::optional<std::string> complaint;
  while (!(complaint = timeout.look(guest.id()))) {  // at first neither may wait yet
    ASSERT_LT(++looks, 10'000);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(*complaint, "it has neither computed nor answered for 5 s");
  EXPECT_GE(looks, 4);
}

/// Somebody may stop a guest and continue it later; a guest that has stopped itself looks the same.
TEST(LabGuestTimeout, WaitsTenTimesAsLongForWhoIsStopped) {
  const FakeGuest guest(false);
  ASSERT_EQ(kill(guest.id(), SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(waitpid(guest.id(), &status, WUNTRACED), guest.id());
  ASSERT_TRUE(WIFSTOPPED(status));
  GuestTimeout timeout(5 * GuestTimeout::kPeriod);
  for (int looks = 0; looks < 49; ++looks) ASSERT_FALSE(timeout.look(guest.id())) << looks;
  EXPECT_EQ(timeout.look(guest.id()), "nothing is seen of what it computes for 50 s");
}

/// Beside others on its core, and of the least weight, it gets hardly any of it.
TEST(LabGuestTimeout, WaitsForWhoHasNoCore) {
  if (!machine_tells_of_children()) GTEST_SKIP() << "this machine does not tell of children";
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  {
    const FakeGuest hog(true), guest(true, true);
    GuestTimeout timeout(300ms);
    for (int i = 0; i < 40; ++i) {  // looks that stand for 40 s
      ASSERT_FALSE(timeout.look(guest.id()));
      std::this_thread::sleep_for(10ms);
    }
  }
  sched_setaffinity(0, sizeof before, &before);
}

}  // namespace
}  // namespace orrery::lab::testing
