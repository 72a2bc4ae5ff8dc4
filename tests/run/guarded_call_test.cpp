// SPDX-License-Identifier: Apache-2.0
//
// Calls of model code: the mode before, within and after, whatever ends the call, and what becomes
// of exceptions and of misused memory. Memory of LPs is asked for by allocate_mild, which goes to
// the running heap whether malloc is interposed or not. Nothing is asserted within an action: that
// could allocate in the LP's heap.
#include "run/containment/guarded_call.h"

#include <gtest/gtest.h>

#include <csignal>
#include <stdexcept>
#include <string>

#include "memory/arena.h"
#include "memory/lp_heap.h"
#include "orrery/memory.h"

namespace orrery {
namespace {

using memory::running_heap;

/// The text of the exception being handled.
std::string current_what() {
  try {
    throw;
  } catch (const ModelFault& fault) {
    return std::string("model fault: ") + fault.what();
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "not a std::exception";
  }
}

class GuardedCall : public ::testing::Test {
 protected:
  struct Outcome {
    bool succeeded;
    std::string failure;  ///< of the exception in on_failure
  };
  /// Calls, and checks what holds of each call.
  template <class Action>
  Outcome call(memory::LpHeap& heap, Action&& action) {
    Outcome outcome{};
    int failures = 0;
    const memory::LpHeap* within = nullptr;
    const memory::LpHeap* in_failure = nullptr;
    outcome.succeeded = guarded_call(
        heap,
        [&] {
          within = running_heap();
          action();
        },
        [&] {
          in_failure = running_heap();
          ++failures;
          outcome.failure = current_what();
        });
    EXPECT_EQ(running_heap(), nullptr) << "platform mode after the call";
    EXPECT_EQ(within, &heap);
    EXPECT_EQ(in_failure, nullptr) << "platform mode while the failure is noted";
    EXPECT_EQ(failures, outcome.succeeded ? 0 : 1);
    EXPECT_EQ(std::current_exception(), nullptr);
    return outcome;
  }
  static void free_twice() {
    void* memory = allocate_mild(40);
    free_mild(memory);
    free_mild(memory);
  }
  static constexpr const char* kFreedTwice =
      "model fault: it misused its memory: free of memory that is not allocated (freed twice?)";

  memory::Arena arena_;
  memory::LpHeap heap_{arena_}, other_{arena_};
};

TEST_F(GuardedCall, RunsInTheModeOfTheHeap) {
  void* memory = nullptr;
  EXPECT_TRUE(call(heap_, [&] { memory = allocate_mild(24); }).succeeded);
  EXPECT_EQ(heap_.deallocate(memory), memory::FreeStatus::ok) << "it came from that heap";
}

TEST_F(GuardedCall, HandsOnWhatTheActionThrows) {
  const Outcome outcome = call(heap_, [] { throw std::runtime_error("out of customers"); });
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_EQ(outcome.failure, "out of customers");
  EXPECT_EQ(call(heap_, [] { throw 7; }).failure, "not a std::exception");
  EXPECT_TRUE(call(heap_, [] {}).succeeded) << "the next call knows nothing of it";
}

TEST_F(GuardedCall, FailsAtItsEndIfMemoryWasMisused) {
  const MisuseWatch watch;
  bool went_on = false;
  const Outcome outcome = call(heap_, [&] {
    free_twice();
    went_on = true;
  });
  EXPECT_TRUE(went_on) << "free cannot throw, so the handler goes on";
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_EQ(outcome.failure, kFreedTwice);
  EXPECT_TRUE(call(heap_, [] {}).succeeded) << "it is told once";
}

TEST_F(GuardedCall, SaysHowMemoryWasMisused) {
  const MisuseWatch watch;
  char* memory = nullptr;
  ASSERT_TRUE(call(other_, [&] { memory = static_cast<char*>(allocate_mild(64)); }).succeeded);
  EXPECT_EQ(call(heap_, [&] { free_mild(memory); }).failure,
            "model fault: it misused its memory: free of memory that belongs to another LP");
  EXPECT_EQ(call(other_, [&] { free_mild(memory + 16); }).failure,
            "model fault: it misused its memory: free of an address that no allocation starts at");
  EXPECT_TRUE(call(other_, [&] { free_mild(memory); }).succeeded) << "it was left as it was";
}

TEST_F(GuardedCall, TellsTheExceptionOfAnActionThatMisusedMemoryBefore) {
  const MisuseWatch watch;
  const Outcome outcome = call(heap_, [] {
    free_twice();
    throw std::runtime_error("out of customers");
  });
  EXPECT_EQ(outcome.failure, "out of customers");
  EXPECT_TRUE(call(heap_, [] {}).succeeded) << "the misuse is not blamed on the next call";
}

TEST_F(GuardedCall, MayBeMadeWhileAFailureIsNoted) {
  const MisuseWatch watch;
  Outcome inner{};
  const bool succeeded = guarded_call(
      heap_, [] { throw std::runtime_error("the outer one"); },
      [&] {
        guarded_call(
            other_, [] { free_twice(); }, [&] { inner.failure = current_what(); });
        EXPECT_EQ(running_heap(), nullptr);
        EXPECT_EQ(current_what(), "the outer one");
      });
  EXPECT_FALSE(succeeded);
  EXPECT_EQ(inner.failure, kFreedTwice);
  EXPECT_EQ(running_heap(), nullptr);
}

/// The platform, called by the model, calls another LP.
template <class Action>
void call_other(memory::LpHeap& heap, std::string& failure, Action&& action) {
  const memory::PlatformMode platform;
  guarded_call(heap, action, [&] { failure = current_what(); });
}

TEST_F(GuardedCall, KeepsItsFailureFromTheOneThatItInterrupts) {
  const MisuseWatch watch;
  std::string inner;
  const memory::LpHeap* after = nullptr;
  const Outcome outcome = call(heap_, [&] {
    call_other(other_, inner, [] { free_twice(); });
    after = running_heap();
  });
  EXPECT_EQ(inner, kFreedTwice);
  EXPECT_EQ(after, &heap_) << "the interrupted one goes on in its mode";
  EXPECT_TRUE(outcome.succeeded);
}

TEST_F(GuardedCall, LeavesTheMisuseOfTheOneThatItInterrupts) {
  const MisuseWatch watch;
  std::string inner;
  const Outcome outcome = call(heap_, [&] {
    free_twice();
    call_other(other_, inner, [] {});
  });
  EXPECT_EQ(inner, "") << "it did nothing wrong";
  EXPECT_EQ(outcome.failure, kFreedTwice);
}

TEST_F(GuardedCall, WatchesEndInTheOrderThatTheyBegan) {
  ASSERT_EQ(memory::thread_context.on_misuse, nullptr);
  {
    const MisuseWatch outer;
    { const MisuseWatch inner; }
    EXPECT_EQ(call(heap_, [] { free_twice(); }).failure, kFreedTwice);
  }
  EXPECT_EQ(memory::thread_context.on_misuse, nullptr);
}

using GuardedCallDeathTest = GuardedCall;
TEST_F(GuardedCallDeathTest, MisuseThatNobodyWatchesEndsTheProcess) {
  EXPECT_EXIT(guarded_call(
                  heap_, [] { free_twice(); }, [] {}),
              ::testing::KilledBySignal(SIGABRT), "freed twice");
}

}  // namespace
}  // namespace orrery
