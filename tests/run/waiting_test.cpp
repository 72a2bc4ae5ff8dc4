// SPDX-License-Identifier: Apache-2.0
//
// Waiting: how often a thread looks before it gives up, and in which order it spins, offers its
// core and sleeps. The two system calls are replaced for this process by ones that count, so that
// nothing depends on the clock.
#include "run/threads/waiting.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

namespace {
/// What a thread that is watched asks the system for, instead of getting it.
struct SystemCalls {
  std::uint32_t yields = 0;
  std::vector<long> naps_ns;
};
thread_local SystemCalls* watched = nullptr;
}  // namespace

// In the executable, these come before the system's.
extern "C" int sched_yield() noexcept {
  if (watched == nullptr) return static_cast<int>(syscall(SYS_sched_yield));
  ++watched->yields;
  return 0;
}
extern "C" int nanosleep(const timespec* pause, timespec* left) {
  if (watched == nullptr) return static_cast<int>(syscall(SYS_nanosleep, pause, left));
  watched->naps_ns.push_back(pause->tv_sec * 1'000'000'000 + pause->tv_nsec);
  return 0;
}

namespace orrery {
namespace {

class Watch {
 public:
  Watch() { watched = &calls; }
  ~Watch() { watched = nullptr; }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  SystemCalls calls;
};

TEST(SpinThenYield, LooksOnceIfItIsReady) {
  for (const bool crowded : {false, true}) {
    Watch watch;
    std::uint32_t looks = 0;
    EXPECT_TRUE(SpinThenYield(crowded).wait([&] { return ++looks == 1; }));
    EXPECT_EQ(looks, 1u);
    EXPECT_EQ(watch.calls.yields, 0u);
  }
}

TEST(SpinThenYield, GivesUpIfItIsNeverReadyAndNeverSleepsItself) {
  Watch watch;
  std::uint32_t looks = 0, yields_while_spinning = 0;
  const SpinThenYield waiting(false);
  EXPECT_FALSE(waiting.wait([&] {
    if (++looks == waiting.spins()) yields_while_spinning = watch.calls.yields;
    return false;
  }));
  EXPECT_GT(waiting.spins(), 0u);
  EXPECT_EQ(yields_while_spinning, 0u) << "it spins before it offers its core";
  EXPECT_EQ(watch.calls.yields, SpinThenYield::kYields);
  EXPECT_EQ(looks, waiting.spins() + SpinThenYield::kYields + 1)
      << "and it looks after the last offer";
  EXPECT_TRUE(watch.calls.naps_ns.empty());
}

TEST(SpinThenYield, SeesWhatBecomesReadyAtItsLastLook) {
  Watch watch;
  const SpinThenYield waiting(false);
  for (const std::uint32_t at :
       {waiting.spins(), waiting.spins() + 1, waiting.spins() + SpinThenYield::kYields + 1}) {
    std::uint32_t looks = 0;
    EXPECT_TRUE(waiting.wait([&] { return ++looks == at; })) << "at look " << at;
  }
}

TEST(SpinThenYield, DoesNotSpinWhereThereAreMoreThreadsThanCores) {
  Watch watch;
  std::uint32_t looks = 0;
  const SpinThenYield waiting(true);
  EXPECT_EQ(waiting.spins(), 0u);
  EXPECT_FALSE(waiting.wait([&] { return ++looks == 0; }));
  EXPECT_EQ(looks, SpinThenYield::kYields + 1);
  EXPECT_EQ(watch.calls.yields, SpinThenYield::kYields);
}

/// Waits until the backoff first yields; how many waits came before.
std::uint32_t waits_before_a_yield(Backoff& backoff, const SystemCalls& calls) {
  const std::uint32_t yields = calls.yields;
  for (std::uint32_t waits = 0; waits < SpinThenYield(false).spins(); ++waits) {
    backoff.wait();
    if (calls.yields > yields) return waits;
    EXPECT_TRUE(calls.naps_ns.empty()) << "it slept before it offered its core";
  }
  ADD_FAILURE() << "it never offered its core";
  return 0;
}

TEST(Backoff, SpinsThenOffersTheCoreThenNapsLongerEachTime) {
  Watch watch;
  Backoff backoff(false);
  const std::uint32_t spins = waits_before_a_yield(backoff, watch.calls);
  EXPECT_GT(spins, 0u);
  EXPECT_LT(spins, 50u) << "on a busy machine those that are waited for have no core meanwhile";
  for (std::uint32_t i = 1; i < Backoff::kYields; ++i) backoff.wait();
  EXPECT_EQ(watch.calls.yields, Backoff::kYields);
  EXPECT_TRUE(watch.calls.naps_ns.empty());
  for (int i = 0; i < 10; ++i) backoff.wait();
  EXPECT_EQ(watch.calls.yields, Backoff::kYields);
  const std::vector<long>& naps = watch.calls.naps_ns;
  ASSERT_EQ(naps.size(), 10u);
  EXPECT_GT(naps[0], 0);
  EXPECT_EQ(naps[1], 2 * naps[0]);
  for (std::size_t i = 1; i < naps.size(); ++i) EXPECT_GE(naps[i], naps[i - 1]);
  EXPECT_EQ(naps[9], naps[8]) << "there is a longest nap";
  EXPECT_LT(naps[9], 1'000'000) << "which is short, since nobody can wake it";
}

TEST(Backoff, BeginsAnewWhenItIsReset) {
  Watch watch;
  Backoff backoff(false);
  const std::uint32_t spins = waits_before_a_yield(backoff, watch.calls);
  for (std::uint32_t i = 0; i < Backoff::kYields + 5; ++i) backoff.wait();
  ASSERT_FALSE(watch.calls.naps_ns.empty());
  const long first_nap = watch.calls.naps_ns.front();
  backoff.reset();
  watch.calls = {};
  EXPECT_EQ(waits_before_a_yield(backoff, watch.calls), spins);
  for (std::uint32_t i = 0; i < Backoff::kYields; ++i) backoff.wait();
  EXPECT_EQ(watch.calls.naps_ns, std::vector<long>{first_nap});
}

TEST(Backoff, OffersTheCoreAtOnceWhereThereAreMoreThreadsThanCores) {
  Watch watch;
  Backoff backoff(true);
  EXPECT_EQ(waits_before_a_yield(backoff, watch.calls), 0u);
}

}  // namespace
}  // namespace orrery
