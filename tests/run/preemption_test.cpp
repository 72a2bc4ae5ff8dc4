// SPDX-License-Identifier: Apache-2.0
//
// Handlers that are interrupted: what runs meanwhile leaves no trace in them, whatever it does to
// registers, exceptions, errno, rounding and thread-local variables; where they may not be, they
// are not; one that is not wanted any more ends there.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cfenv>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

#include "core/model_stack.h"
#include "memory/application_mode.h"
#include "memory/arena.h"
#include "memory/lp_heap.h"
#include "orrery/orrery.h"
#include "run/containment/activity.h"
#include "run/containment/guarded_call.h"
#include "run/containment/preemption.h"

namespace orrery {
namespace {

class NoModel final : public Model {
 public:
  std::uint64_t lp_count() const override { return 1; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override { return nullptr; }
};

thread_local int of_the_model = 0;

/// Spoils what it can.
class Spoiler final : public Preemptor {
 public:
  bool may_interrupt() const override { return allowed; }
  bool look_around(bool room) noexcept override {
    has_room = room;
    memory::end_attention(memory::kLook);
    ++looks;
    EXPECT_EQ(memory::running_heap(), nullptr);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    EXPECT_EQ(std::current_exception(), nullptr);
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    errno = 77;
    of_the_model = -1;
    std::fesetround(FE_UPWARD);
    std::feraiseexcept(FE_DIVBYZERO);
    std::feclearexcept(FE_INEXACT);
    heap_misuse() = {true, memory::HeapMisuse::foreign};
    try {
      throw std::runtime_error("meanwhile");
    } catch (const std::exception&) {
    }
    asm volatile(
        "pxor %%xmm0, %%xmm0\n pxor %%xmm5, %%xmm5\n pxor %%xmm15, %%xmm15\n xor %%eax, %%eax\n"
        "xor %%r11d, %%r11d\n fninit\n" ::
            : "xmm0", "xmm5", "xmm15", "rax", "r11", "cc");
    return wanted;
  }

  bool allowed = true, wanted = true, has_room = false;
  std::uint64_t looks = 0;
};

class PreemptionTest : public ::testing::Test {
 protected:
  /// As a handler of an LP. False if it was dropped.
  template <class Action>
  bool call(Action&& action) {
    bool ended = false;
    on_model_stack([&] {
      WatchedThreads threads;
      const ThreadWatch watch(threads, model_);
      const MisuseWatch misuse;
      const Preemptible preemptible(spoiler_, text_, 0);
      ended = recoverable([&] {
        const memory::ApplicationMode application(heap_);
        action();
      });
      model_calls.squashed = false;
    });
    return ended;
  }
  static void ask() { memory::ask_attention(memory::kLook); }

  const NoModel model_;
  const ModelText text_{model_};
  Spoiler spoiler_;
  memory::Arena arena_;
  memory::LpHeap heap_{arena_};
};

class InterruptedBySignals : public PreemptionTest {
 protected:
  void SetUp() override {
    if (!Preemptible::kPossible) GTEST_SKIP() << "handlers are interrupted at calls only here";
  }
};

TEST_F(PreemptionTest, AtACooperativePoint) {
  ASSERT_TRUE(call([this] {
    ask();
    errno = 5;
    of_the_model = 3;
    std::fesetround(FE_DOWNWARD);
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(FE_INEXACT);
    poll();
    EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
    EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_INEXACT);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(errno, 5);
    EXPECT_EQ(of_the_model, 3);
    poll();
    EXPECT_EQ(spoiler_.looks, 1u) << "only once asked";
    EXPECT_FALSE(heap_misuse().seen);
    heap_misuse() = {true, memory::HeapMisuse::not_live};
    ask();
    poll();
    EXPECT_TRUE(heap_misuse().seen) << "what the handler did wrong before is told when it returns";
    EXPECT_EQ(std::exchange(heap_misuse(), {}).what, memory::HeapMisuse::not_live);
  }));
  EXPECT_EQ(spoiler_.looks, 2u);
}

TEST_F(PreemptionTest, WithinACatchBlockAndWhileUnwinding) {
  struct Unwound {
    ~Unwound() {
      EXPECT_EQ(std::uncaught_exceptions(), 1);
      ask();
      poll();
      EXPECT_EQ(std::uncaught_exceptions(), 1);
    }
  };
  ASSERT_TRUE(call([this] {
    try {
      const Unwound unwound;
      throw std::logic_error("first");
    } catch (const std::exception& exception) {
      ask();
      poll();
      EXPECT_STREQ(exception.what(), "first");
      try {
        throw;
      } catch (const std::logic_error& again) {
        EXPECT_STREQ(again.what(), "first");
      }
    }
  }));
  EXPECT_GE(spoiler_.looks, 2u) << "and where its heap has grown";
}

TEST_F(PreemptionTest, WhoIsNotWantedEndsThere) {
  bool came_back = false;
  spoiler_.wanted = false;
  EXPECT_FALSE(call([&] {
    ask();
    poll();
    came_back = true;
  }));
  EXPECT_FALSE(came_back);
  EXPECT_EQ(memory::running_heap(), nullptr);
}

TEST_F(PreemptionTest, NotInPlatformCodeNorInTheHeapNorWithALock) {
  std::mutex mutex;
  ASSERT_TRUE(call([&] {
    ask();
    {
      const memory::PlatformMode platform;
      poll();
      pthread_kill(pthread_self(), SIGURG);
      EXPECT_EQ(spoiler_.looks, 0u);
      memory::end_attention(memory::kLook);
    }
    {
      const memory::HeapScope heap;
      ask();
      poll();
      EXPECT_EQ(spoiler_.looks, 0u);
    }
    if (Preemptible::kPossible) {  // sanitizers see the locks instead of us
      const std::lock_guard lock(mutex);
      poll();
      EXPECT_EQ(spoiler_.looks, 0u);
    }
    spoiler_.allowed = false;
    poll();
    EXPECT_EQ(spoiler_.looks, 0u);
    spoiler_.allowed = true;
    poll();
    EXPECT_EQ(spoiler_.looks, 1u) << "what was refused stays asked for";
  }));
}

/// As deep as half of the stack no other handler finds room, near its end the platform neither.
TEST_F(InterruptedBySignals, AsTheStackHasRoom) {
  struct Deep {
    static int go(int depth, const Spoiler& spoiler) {
      volatile char room[4096];
      room[0] = 1;
      if (depth > 0) return go(depth - 1, spoiler) + room[0] - 1;
      const std::uint64_t before = spoiler.looks;
      ask();
      poll();
      return spoiler.looks == before ? 0 : spoiler.has_room ? 2 : 1;
    }
  };
  ASSERT_TRUE(call([this] {
    const auto pages = static_cast<int>(model_calls.stack_bytes / 4096);
    EXPECT_EQ(Deep::go(10, spoiler_), 2);
    EXPECT_EQ(Deep::go(pages * 5 / 8, spoiler_), 1);
    EXPECT_EQ(Deep::go(pages - 40, spoiler_), 0);
    memory::end_attention(memory::kLook);
  }));
}

/// Every instruction of a computation in registers of all kinds, interrupted from outside.
TEST_F(InterruptedBySignals, LeaveRegistersAlone) {
  constexpr int kRounds = 2000;
  std::atomic<bool> over{false};
  const pthread_t self = pthread_self();
  // `ask` from outside, as a bell does.
  std::atomic<std::uint8_t>& attention = memory::thread_context.attention;
  std::thread ringer([&] {
    while (!over.load(std::memory_order_relaxed)) {
      attention.fetch_or(memory::kLook);
      pthread_kill(self, SIGURG);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  const auto compute = [] {
    std::array<double, 8> vector{1, 2, 3, 4, 5, 6, 7, 8};
    long double x87 = 1;
    std::uint64_t integer = 88172645463325252u;
    for (int i = 0; i < 3000; ++i) {
      for (double& lane : vector) lane = lane * 1.0000001 + 1e-9;
      x87 = x87 * 1.0000001L + 1e-12L;
      integer ^= integer << 13;
      integer ^= integer >> 7;
      integer ^= integer << 17;
    }
    double sum = 0;
    for (const double lane : vector) sum += lane;
    return std::tuple(sum, x87, integer);
  };
  const auto expected = compute();
  ASSERT_TRUE(call([&] {
    of_the_model = 9;
    errno = 11;
    for (int i = 0; i < kRounds; ++i) EXPECT_EQ(compute(), expected) << i;
    EXPECT_EQ(of_the_model, 9);
    EXPECT_EQ(errno, 11);
  }));
  over = true;
  ringer.join();
  EXPECT_GT(spoiler_.looks, 50u);
}

TEST_F(InterruptedBySignals, ALoop) {
  spoiler_.wanted = false;
  bool ended = true;
  on_model_stack([&] {
    WatchedThreads threads;
    const ThreadWatch watch(threads, model_);
    const Preemptible preemptible(spoiler_, text_, 100e-6);
    ASSERT_FALSE(preemptible.lacks_tick());
    ended = recoverable([&] {
      const memory::ApplicationMode application(heap_);
      volatile bool going = true;
      while (going) {
      }
    });
    model_calls.squashed = false;
  });
  EXPECT_FALSE(ended);
}

}  // namespace
}  // namespace orrery
