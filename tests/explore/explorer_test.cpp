// SPDX-License-Identifier: Apache-2.0
//
// The explorer on textbook cases: what it runs, what it finds, what it may not report.
#include "explore/explorer.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "explore/atomics.h"
#include "explore/cell.h"
#include "explore/explore_support.h"

namespace orrery::explore {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;

/// Two threads that do two operations each have six schedules.
struct FourSteps : Scenario {
  Atomic<int> value{0};
  void run(unsigned) override {
    value.fetch_add(1, kRelaxed);
    value.fetch_add(1, kRelaxed);
  }
  void finish() override { require(value.load(kRelaxed) == 4, "sum"); }
};

TEST(Explorer, RunsEveryScheduleOnce) {
  const Outcome all = explore({.deviations = 9}, make<FourSteps>());
  EXPECT_TRUE(all.exhaustive);
  EXPECT_EQ(all.deviations, 3u);
  // 0011; 0110, 1100; 0101, 1001; 1010. Every bound begins anew.
  EXPECT_EQ(all.schedules, 1u + 3u + 5u + 6u);
  EXPECT_EQ(explore({.deviations = 0}, make<FourSteps>()).schedules, 1u);
  EXPECT_FALSE(explore({.deviations = 1}, make<FourSteps>()).exhaustive);
}

/// x and y are written, then the other one read. Dekker's question: can both read zero?
std::set<std::pair<int, int>> seen;
struct StoreBuffering : Scenario {
  Atomic<int> x{0}, y{0};
  int read[2] = {};
  void run(unsigned thread) override {
    (thread == 0 ? x : y).store(1, kRelease);
    read[thread] = (thread == 0 ? y : x).load(kAcquire);
  }
  void finish() override { seen.insert({read[0], read[1]}); }
};

TEST(Explorer, LetsLoadsGetOldValues) {
  using Results = std::set<std::pair<int, int>>;
  seen.clear();
  EXPECT_TRUE(explore({.deviations = 9, .old_values = false}, make<StoreBuffering>()).exhaustive);
  EXPECT_EQ(seen, (Results{{0, 1}, {1, 0}, {1, 1}}));
  seen.clear();
  EXPECT_TRUE(explore({.deviations = 9}, make<StoreBuffering>()).exhaustive);
  EXPECT_EQ(seen, (Results{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

/// Passing a message: the flag says that the data are there.
struct MessagePassing : Scenario {
  Atomic<int> data{0}, flag{0};
  static std::string kind_of(unsigned number) { return number == 0 ? "data" : "flag"; }
  void run(unsigned thread) override {
    if (thread == 0) {
      data.store(1, kRelaxed);
      flag.store(1, kRelease);
    } else {
      while (flag.load(kAcquire) == 0) wait_for_change();
      require(data.load(kRelaxed) == 1, "old data");
    }
  }
};

TEST(Explorer, RespectsWhatReleaseAndAcquireOrder) {
  expect_holds("message passing", {.deviations = 9}, make<MessagePassing>());
  EXPECT_EQ(expect_orders_needed<MessagePassing>("message passing", {}), 2u);
}

/// The same with plain data.
template <std::memory_order kStore>
struct PlainMessage : Scenario {
  Cell<int> data;
  Atomic<int> flag{0};
  void run(unsigned thread) override {
    if (thread == 0) {
      data.set(1);
      flag.store(1, kStore);
    } else if (flag.load(kAcquire) == 1) {
      require(data.get() == 1, "wrong data");
    }
  }
};

TEST(Explorer, FindsRacesThatOnlyLuckHides) {
  expect_holds("plain message", {.deviations = 9}, make<PlainMessage<kRelease>>());
  expect_found("plain message, relaxed", {.deviations = 9, .old_values = false},
               make<PlainMessage<kRelaxed>>(), "data race: a read");
}

/// A relaxed read-modify-write continues a release sequence, a relaxed store ends it.
template <bool kModify>
struct ReleaseSequence : Scenario {
  Cell<int> data;
  Atomic<int> flag{0};
  void run(unsigned thread) override {
    if (thread == 0) {
      data.set(1);
      flag.store(1, kRelease);
    } else if (thread == 1) {
      if (kModify) {
        flag.fetch_add(1, kRelaxed);
      } else if (flag.load(kRelaxed) == 1) {
        flag.store(2, kRelaxed);
      }
    } else if (flag.load(kAcquire) == 2) {
      require(data.get() == 1, "wrong data");
    }
  }
};

TEST(Explorer, KnowsReleaseSequences) {
  expect_holds("release sequence", {.threads = 3, .deviations = 9}, make<ReleaseSequence<true>>());
  expect_found("release sequence, ended", {.threads = 3}, make<ReleaseSequence<false>>(),
               "data race: a read");
}

struct WaitForEachOther : Scenario {
  Atomic<int> turn[2] = {0, 0};
  void run(unsigned thread) override {
    while (turn[1 - thread].load(kAcquire) == 0) wait_for_change();
    turn[thread].store(1, kRelease);
  }
};

TEST(Explorer, FindsDeadlocks) {
  expect_found("waiting for each other", {}, make<WaitForEachOther>(), "deadlock");
}

/// Two threads increment without a read-modify-write: one switch at the wrong place loses one.
struct LostUpdate : Scenario {
  Atomic<int> count{0};
  void run(unsigned) override { count.store(count.load(kRelaxed) + 1, kRelaxed); }
  void finish() override { require(count.load(kRelaxed) == 2, "lost update"); }
};

TEST(Explorer, TellsTheScheduleWithFewestDeviations) {
  const Outcome outcome = explore({.old_values = false}, make<LostUpdate>());
  ASSERT_TRUE(outcome.failure.has_value());
  EXPECT_EQ(outcome.failure->what, "lost update");
  EXPECT_EQ(outcome.failure->trace,
            "  thread 0: load atomic 0 = 0, relaxed\n"
            "  thread 1: load atomic 0 = 0, relaxed\n"
            "  thread 1: store atomic 0, 1, relaxed\n"
            "  thread 0: store atomic 0, 1, relaxed\n");
  const Outcome again = replay({}, make<LostUpdate>(), outcome.failure->choices);
  ASSERT_TRUE(again.failure.has_value());
  EXPECT_EQ(again.failure->text(), outcome.failure->text());
  EXPECT_FALSE(replay({}, make<LostUpdate>(), {}).failure.has_value());
}

/// The last to leave frees. Only acquire and release make the others' accesses precede that.
template <std::memory_order kOrder>
struct LastFrees : Scenario {
  struct Object {
    Atomic<int> users{2};
    Cell<int> data;
  } object;
  void run(unsigned thread) override {
    if (thread == 0) object.data.get();
    if (object.users.fetch_add(-1, kOrder) == 1) free_memory(object);
  }
};

struct FreesTooEarly : Scenario {
  struct Object {
    Atomic<int> users{2};
  } object;
  void run(unsigned thread) override {
    if (thread == 0) {
      object.users.load(kRelaxed);
    } else {
      free_memory(object);
    }
  }
};

TEST(Explorer, WatchesFreedMemory) {
  expect_holds("the last frees", {.deviations = 9}, make<LastFrees<std::memory_order_acq_rel>>());
  expect_found("the last frees, released only", {}, make<LastFrees<kRelease>>(), "freeing");
  expect_found("the last frees, acquired only", {}, make<LastFrees<kAcquire>>(), "freeing");
  expect_found("frees too early", {}, make<FreesTooEarly>(), "");
}

struct Throws : Scenario {
  void run(unsigned) override { throw std::runtime_error("no luck"); }
};

TEST(Explorer, ReportsExceptions) {
  expect_found("throws", {}, make<Throws>(), "no luck");
}

}  // namespace
}  // namespace orrery::explore
