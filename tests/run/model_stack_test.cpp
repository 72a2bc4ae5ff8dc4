// SPDX-License-Identifier: Apache-2.0
//
// Calls of model code on a stack of their own: what passes through, what is dropped, and that
// nothing of it is left behind. Nothing is asserted within an action, which runs as a model's code.
#include "core/model_stack.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include "crashes.h"
#include "memory/application_mode.h"
#include "memory/arena.h"
#include "memory/lp_heap.h"
#include "orrery/error.h"
#include "run/containment/crash_guard.h"

namespace orrery {
namespace {

using testing::descend;
using testing::nowhere;
using testing::seven;
using testing::zero;

class ModelStackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!ORRERY_MODEL_STACKS) GTEST_SKIP() << "model code runs on the stack of its thread here";
    signal_stack_.ss_sp = signal_bytes_;
    signal_stack_.ss_size = sizeof signal_bytes_;
    sigaltstack(&signal_stack_, &before_);
  }
  void TearDown() override {
    if (ORRERY_MODEL_STACKS) sigaltstack(&before_, nullptr);
  }
  /// What became of it: "" or the text of what it threw.
  template <class Action>
  std::string call(Action&& action) {
    std::string outcome;
    on_model_stack([&] { outcome = call_here(action); });
    return outcome;
  }
  template <class Action>
  std::string call_here(Action&& action) {
    const memory::ApplicationMode application(heap_);
    try {
      if (!recoverable(action)) throw_crash();
      return "";
    } catch (const std::exception& exception) {
      const memory::PlatformMode platform;
      return exception.what();
    } catch (...) {
      return "not a std::exception";
    }
  }
  void expect_crash(const char* text, const std::string& outcome) {
    EXPECT_NE(outcome.find(text), std::string::npos) << outcome;
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    EXPECT_EQ(std::current_exception(), nullptr);
    EXPECT_EQ(model_calls.place, nullptr);
    EXPECT_EQ(memory::thread_context.attention.load(), 0);
  }

  memory::Arena arena_;
  memory::LpHeap heap_{arena_};
  const CrashGuard guard_;

 private:
  alignas(64) char signal_bytes_[64 * 1024];
  stack_t signal_stack_{}, before_{};
};

TEST_F(ModelStackTest, RunsOnAStackOfOurs) {
  const char* there = nullptr;
  const char here = 0;
  bool aligned = false;
  on_model_stack([&] {
    alignas(64) char room[64];
    there = room;
    aligned = reinterpret_cast<std::uintptr_t>(room) % 64 == 0;
    EXPECT_GE(reinterpret_cast<std::byte*>(room), model_calls.stack_begin);
    EXPECT_LT(reinterpret_cast<std::byte*>(room),
              model_calls.stack_begin + model_calls.stack_bytes);
    const std::byte* const begin = model_calls.stack_begin;
    on_model_stack([&] { EXPECT_EQ(model_calls.stack_begin, begin) << "no second one within"; });
    EXPECT_EQ(model_calls.stack_begin, begin);
  });
  EXPECT_TRUE(aligned);
  EXPECT_GT(std::abs(there - &here), std::ptrdiff_t{64} << 10);
  EXPECT_EQ(model_calls.stack_begin, nullptr);
  EXPECT_THROW(on_model_stack([] { throw std::runtime_error("through"); }), std::runtime_error);
  EXPECT_EQ(model_calls.stack_begin, nullptr);
}

TEST_F(ModelStackTest, PassesResultsAndExceptionsOn) {
  int sum = 0;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(call([&] { sum += i; }), "");
  EXPECT_EQ(sum, 499'500);
  EXPECT_EQ(call([] { throw std::runtime_error("out of customers"); }), "out of customers");
  EXPECT_EQ(call([] { throw 7; }), "not a std::exception");
  EXPECT_EQ(model_calls.place, nullptr);
}

TEST_F(ModelStackTest, DropsWhatCrashes) {
  expect_crash("a crash (SIGSEGV, ", call([] { *nowhere = 1; }));
  expect_crash("a crash (SIGFPE, ", call([] { seven = seven / zero; }));
  expect_crash("a crash (SIGILL, ", call([] { __builtin_trap(); }));
  expect_crash("a crash (SIGABRT, ", call([] { std::abort(); }));
  expect_crash("a crash (SIGABRT, ", call([] { std::abort(); }));  // abort() holds no lock
  expect_crash("'orrery run --engine checker'", call([] { *nowhere = 1; }));
}

TEST_F(ModelStackTest, DropsARecursionWithoutEnd) {
  for (int i = 0; i < 3; ++i)
    expect_crash("KiB is exhausted (a recursion without end?)", call([] { descend(0); }));
  EXPECT_EQ(call([] {}), "");
}

/// The stack ends within code of the platform: it goes on in the reserve.
int descend_with_platform_code(int depth, int& returns) {
  volatile char room[64];
  room[0] = 1;
  {
    const memory::PlatformMode platform;
    volatile char platform_room[4096];
    platform_room[0] = room[0];
    room[1] = platform_room[0];
  }
  ++returns;
  return depth > 100'000'000 ? 0 : descend_with_platform_code(depth + 1, returns) + room[0];
}
TEST_F(ModelStackTest, LetsPlatformCodeComeToItsEnd) {
  for (int i = 0; i < 3; ++i) {
    int returns = 0;
    expect_crash("KiB is exhausted (a recursion without end?)",
                 call([&] { descend_with_platform_code(0, returns); }));
    EXPECT_GT(returns, 1000);
    EXPECT_EQ(memory::thread_context.attention.load(), 0);
  }
}

TEST_F(ModelStackTest, DropsInsteadOfEndingTheProcess) {
  expect_crash("it called exit(); model code must not", call([] { std::exit(0); }));
  expect_crash("it called quick_exit(); ", call([] { std::quick_exit(0); }));
  expect_crash("it called _exit(); ", call([] { _exit(0); }));
  expect_crash("it called _Exit(); ", call([] { std::_Exit(0); }));
}

/// While an exception is handled, and while one is on its way.
TEST_F(ModelStackTest, ForgetsExceptionsOfWhatItDrops) {
  struct CrashesAtTheEnd {
    ~CrashesAtTheEnd() { *nowhere = 1; }
  };
  expect_crash("a crash (SIGSEGV, ", call([] {
                 try {
                   throw std::runtime_error("caught");
                 } catch (const std::exception&) {
                   *nowhere = 1;
                 }
               }));
  expect_crash("a crash (SIGSEGV, ", call([] {
                 const CrashesAtTheEnd local;
                 throw std::runtime_error("on its way");
               }));
  EXPECT_EQ(call([] { throw std::runtime_error("the next one"); }), "the next one");
}

TEST_F(ModelStackTest, LeavesTheEnvironmentOfFloats) {
  expect_crash("a crash", call([] {
                 std::fesetround(FE_UPWARD);
                 *nowhere = 1;
               }));
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  // The x87 stack of what was dropped is empty: eight values find room again.
  expect_crash("a crash", call([] {
                 asm volatile("fld1; fld1; fld1; fld1; fld1; fld1");
                 *nowhere = 1;
               }));
  volatile long double one = 1, two = 2;
  EXPECT_EQ(static_cast<double>((one + two) * (two + two) - (one + one) * (one + two)), 6.0);
}

/// A stream that was being written to can be written to, by this thread and by others.
TEST_F(ModelStackTest, ReleasesStreams) {
  expect_crash("a crash", call([] {
                 flockfile(stdout);
                 flockfile(stdout);
                 *nowhere = 1;
               }));
  bool free = false;
  std::thread([&free] {
    free = ftrylockfile(stdout) == 0;
    if (free) funlockfile(stdout);
  }).join();
  EXPECT_TRUE(free);
}

/// A handler that comes back from there in order is none that failed.
TEST_F(ModelStackTest, ClosesTheReserveBehindPlatformCode) {
  static constexpr auto use_platform_code = [] {
    const memory::PlatformMode platform;
    volatile char room[32 * 1024];
    room[0] = 1;
    room[1] = room[0];
  };
  struct Deep {
    static int descend() {
      volatile char room[512];
      room[0] = 1;
      const std::byte* const here = static_cast<std::byte*>(__builtin_frame_address(0));
      if (here > model_calls.stack_begin + 8 * 1024) return descend() + room[0];
      for (int i = 0; i < 10; ++i) {
        use_platform_code();
        const memory::PlatformMode small;
      }
      return 0;
    }
  };
  EXPECT_EQ(call([] { seven = Deep::descend(); }), "");
  EXPECT_EQ(memory::thread_context.attention.load(), 0);
}

TEST_F(ModelStackTest, TenThousandCrashesLeaveNothing) {
  rusage before{}, after{};
  int told = 0;
  on_model_stack([&] {
    for (int i = 0; i < 100; ++i) call_here([] { *nowhere = 1; });
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < 10'000; ++i)
      told += call_here([] { *nowhere = 1; }).find("SIGSEGV") != std::string::npos ? 1 : 0;
    getrusage(RUSAGE_SELF, &after);
  });
  EXPECT_EQ(told, 10'000);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 4096) << "KiB";
}

/// The innermost place is gone on at.
TEST_F(ModelStackTest, PlacesNest) {
  int inner = 0, outer = 0;
  const std::string outcome = call([&] {
    for (int i = 0; i < 3; ++i) inner += recoverable([] { *nowhere = 1; }) ? 0 : 1;
    try {
      recoverable([] { throw 5; });
    } catch (int) {
      ++outer;
    }
    *nowhere = 1;
  });
  expect_crash("a crash (SIGSEGV, ", outcome);
  EXPECT_EQ(inner, 3);
  EXPECT_EQ(outer, 1);
}

/// Platform code, malloc of the LP's heap, ordinary memory: the process ends, as it would have.
TEST_F(ModelStackTest, DoesNotDropWhatIsNotTheModels) {
  EXPECT_EXIT(
      {
        call([] {
          const memory::PlatformMode platform;
          *nowhere = 1;
        });
      },
      ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(recoverable([] { *nowhere = 1; }), ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(on_model_stack([] { recoverable([] { *nowhere = 1; }); }),
              ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT({ *nowhere = 1; }, ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(
      {
        call([] {
          memory::enter_heap();
          *nowhere = 1;
        });
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

/// As the handler of the signal sees it; a child of a death test is not asked (see below).
TEST_F(ModelStackTest, AsksWhatRuns) {
  siginfo_t info{};
  info.si_code = SEGV_MAPERR;
  const auto survives = [&info] {
    ucontext_t context{};
    return survives_crash(SIGSEGV, &info, &context);
  };
  bool model = false, platform = true, in_heap = true, ordinary = true, no_place = true;
  call([&] { model = survives(); });
  call([&] {
    const memory::PlatformMode mode;
    platform = survives();
  });
  call([&] {
    const memory::HeapScope whole;
    in_heap = survives();
  });
  on_model_stack([&] { recoverable([&] { ordinary = survives(); }); });
  on_model_stack([&] {
    const memory::ApplicationMode application(heap_);
    no_place = survives();
  });
  EXPECT_TRUE(model);
  EXPECT_FALSE(platform);
  EXPECT_FALSE(in_heap);
  EXPECT_FALSE(ordinary);
  EXPECT_FALSE(no_place);
}

/// A signal that somebody sent is no crash of the handler that happens to run.
TEST_F(ModelStackTest, DoesNotTakeASignalFromOutsideForACrash) {
  for (const int code : {SI_USER, SI_QUEUE, SI_TKILL}) {
    bool survived = true;
    EXPECT_EQ(call([&] {
                siginfo_t info{};
                info.si_code = code;
                info.si_pid = getppid();
                ucontext_t context{};
                survived = survives_crash(SIGSEGV, &info, &context);
              }),
              "");
    EXPECT_FALSE(survived) << code;
  }
}

/// It would go on as a second simulator.
TEST_F(ModelStackTest, DoesNotDropInAChildThatTheModelHasForked) {
  EXPECT_EXIT(call([] { *nowhere = 1; }), ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(call([] { std::abort(); }), ::testing::KilledBySignal(SIGABRT), "");
}

/// An exception that was being handled around it is handled still.
TEST_F(ModelStackTest, LeavesOuterExceptionsAlone) {
  std::string outer;
  on_model_stack([&] {
    try {
      throw std::runtime_error("outer");
    } catch (const std::exception&) {
      call_here([] {
        try {
          throw 5;
        } catch (int) {
          *nowhere = 1;
        }
      });
      try {
        throw;
      } catch (const std::exception& exception) {
        outer = exception.what();
      }
    }
  });
  EXPECT_EQ(outer, "outer");
  EXPECT_EQ(std::current_exception(), nullptr);
}

TEST_F(ModelStackTest, LooksAtRemainsInPlatformMode) {
  bool survived = true;
  on_model_stack([&] { survived = look_at_remains([] { *nowhere = 1; }); });
  EXPECT_FALSE(survived);
  EXPECT_FALSE(model_calls.harmless);
}

TEST(ModelStacks, AreNotNeeded) {
  bool here = false;
  EXPECT_TRUE(recoverable([&here] { here = true; }));
  EXPECT_TRUE(here) << "on the stack of the thread";
}

}  // namespace
}  // namespace orrery
