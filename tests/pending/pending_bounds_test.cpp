// SPDX-License-Identifier: Apache-2.0
//
// The bounds that every kind of pending event set promises, without a clock: steps (comparisons and
// moves of entries, counted by a probe) grow as n log n whatever is done to the set, memory follows
// the number of events, and a warm set allocates nothing.
#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pending/pending_test_support.h"

namespace orrery::pending {
namespace {

/// A set and its events, driven by operations that count themselves.
template <class Set>
class Driven {
 public:
  explicit Driven(std::size_t event_count) : events_(new TestEvent[event_count]) {
    for (std::size_t i = 0; i < event_count; ++i) idle_.push_back(&events_[i]);
  }

  void push(std::int64_t ticks) {
    ++operations_;
    TestEvent* const event = idle_.back();
    idle_.pop_back();
    event->set_key(Key(Time::from_ticks(ticks), 0, 0, sequence_++));
    set_.push(event);
  }

  /// Returns the popped event's time.
  std::int64_t pop() {
    ++operations_;
    TestEvent* const event = set_.pop();
    idle_.push_back(event);
    return event->time().ticks();
  }

  void pop_all() {
    while (!set_.empty()) pop();
  }

  Set& set() { return set_; }
  std::size_t operations() const { return operations_; }

 private:
  std::unique_ptr<TestEvent[]> events_;
  std::vector<TestEvent*> idle_;
  Set set_;
  std::uint64_t sequence_ = 0;
  std::size_t operations_ = 0;
};

template <class Set>
using Workload = void (*)(Driven<Set>&, std::size_t n, const TimeSource&);

template <class Set>
struct NamedWorkload {
  const char* name;
  Workload<Set> run;
};

/// Each keeps to at most 2n events.
template <class Set>
const std::vector<NamedWorkload<Set>>& workloads() {
  static const std::vector<NamedWorkload<Set>> all{
      {"fill, then empty",
       [](Driven<Set>& d, std::size_t n, const TimeSource& source) {
         Random random(1);
         for (std::size_t i = 0; i < n; ++i) d.push(source.next(random, 1 << 20));
         d.pop_all();
       }},
      {"hold",
       [](Driven<Set>& d, std::size_t n, const TimeSource& source) {
         Random random(2);
         for (std::size_t i = 0; i < n; ++i) d.push(source.next(random, 1 << 20));
         for (std::size_t i = 0; i < 4 * n; ++i) d.push(source.next(random, d.pop()));
         d.pop_all();
       }},
      {"two pushes for a pop, then empty",
       [](Driven<Set>& d, std::size_t n, const TimeSource& source) {
         Random random(3);
         d.push(source.next(random, 0));
         for (std::size_t i = 0; i < n; ++i) {
           const std::int64_t now = d.pop();
           d.push(source.next(random, now));
           d.push(source.next(random, now));
         }
         d.pop_all();
       }},
      {"flood right behind the lowest of many",
       [](Driven<Set>& d, std::size_t n, const TimeSource& source) {
         Random random(4);
         for (std::size_t i = 0; i < n; ++i) d.push(source.next(random, 1 << 20));
         for (std::size_t i = 0; i < n / 2; ++i) {
           const std::int64_t now = d.pop();
           d.push(now);
           d.push(saturating_add(now, static_cast<std::int64_t>(random() % 1000)));
         }
         d.pop_all();
       }},
      {"roll back a thousand again and again",
       [](Driven<Set>& d, std::size_t n, const TimeSource& source) {
         Random random(5);
         for (std::size_t i = 0; i < n; ++i) d.push(source.next(random, 1 << 20));
         std::vector<std::int64_t> undone;
         for (std::size_t round = 0; round < n / 250; ++round) {
           undone.clear();
           for (int i = 0; i < 1000; ++i) undone.push_back(d.pop());
           for (const std::int64_t ticks : undone) d.push(ticks);
         }
         d.pop_all();
       }},
      {"look ahead before each push of what is earlier",
       [](Driven<Set>& d, std::size_t n, const TimeSource& source) {
         Random random(6);
         for (std::size_t i = 0; i < n; ++i) {
           d.push(saturating_add(source.next(random, 0), -static_cast<std::int64_t>(i << 32)));
           d.set().top();
         }
         d.pop_all();
       }},
  };
  return all;
}

template <class Set>
class PendingSteps : public ::testing::Test {};
using ProbedSets =
    ::testing::Types<RadixHeap<TestEvent, StepCount>, DaryHeap<TestEvent, StepCount>>;
TYPED_TEST_SUITE(PendingSteps, ProbedSets);

/// The bound is some 40 steps (most of a sort by rank) and 4 a level of a heap. A set that is
/// quadratic in any of these would take thousands.
TYPED_TEST(PendingSteps, GrowAsNLogN) {
  for (const std::size_t n : {1000u, orrery::testing::kSanitizers ? 3'000u : 30'000u}) {
    const double allowed = 40 + 4.0 * static_cast<double>(std::bit_width(n));
    for (const TimeSource& source : kTimeSources) {
      for (const NamedWorkload<TypeParam>& workload : workloads<TypeParam>()) {
        SCOPED_TRACE(std::string(source.name) + ": " + workload.name);
        Driven<TypeParam> driven(2 * n);
        const std::size_t before = StepCount::total;
        workload.run(driven, n, source);
        const auto steps = static_cast<double>(StepCount::total - before);
        EXPECT_LT(steps / static_cast<double>(driven.operations()), allowed) << "n = " << n;
      }
    }
  }
}

template <class Set>
class PendingMemory : public ::testing::Test {};
using BoundedSets = ::testing::Types<RadixHeap<TestEvent>, DaryHeap<TestEvent>>;
TYPED_TEST_SUITE(PendingMemory, BoundedSets);

TYPED_TEST(PendingMemory, FollowsTheNumberOfEvents) {
  for (const std::size_t n : {std::size_t{8192}, kMany}) {
    for (const TimeSource& source : kTimeSources) {
      if (n == kMany && !worth_a_million(source)) continue;
      SCOPED_TRACE(std::string(source.name));
      Driven<TypeParam> driven(n + 1);
      Random random(9);
      for (std::size_t i = 0; i < n; ++i) driven.push(source.next(random, 1 << 20));
      for (std::size_t i = 0; i < n; ++i) driven.push(source.next(random, driven.pop()));
      EXPECT_LE(driven.set().bytes(), 40 * n + 64 * 1024) << "n = " << n;
    }
  }
}

TYPED_TEST(PendingMemory, IsSmallForFewEvents) {
  TypeParam set;
  EXPECT_LE(set.bytes(), 8u * 1024);
}

TYPED_TEST(PendingMemory, IsNotAllocatedOnceWarm) {
  constexpr std::size_t kCount = 20'000;
  for (const TimeSource& source : kTimeSources) {
    SCOPED_TRACE(std::string(source.name));
    Driven<TypeParam> driven(kCount + 1);
    for (int pass = 0; pass < 2; ++pass) {
      const std::size_t before = allocation_count();
      Random random(10);
      for (std::size_t i = 0; i < kCount; ++i) driven.push(source.next(random, 0));
      for (std::size_t i = 0; i < 3 * kCount; ++i) driven.push(source.next(random, driven.pop()));
      driven.pop_all();
      if (pass == 1) {
        EXPECT_EQ(allocation_count(), before);
      }
    }
  }
}

/// The common case, without an end between. Warm is a set that has seen the present cross a few
/// high powers of two, since this changes for a while how many buckets there are.
TYPED_TEST(PendingMemory, IsNotAllocatedInTheSteadyState) {
  constexpr std::size_t kCount = 8192;
  Driven<TypeParam> driven(kCount + 1);
  Random random(12);
  const auto hold = [&](std::size_t holds) {
    for (std::size_t i = 0; i < holds; ++i) driven.push(driven.pop() + exponential(random, 1e9));
  };
  for (std::size_t i = 0; i < kCount; ++i) driven.push(exponential(random, 1e9));
  hold(100 * kCount);
  const std::size_t before = allocation_count();
  hold(200 * kCount);
  EXPECT_EQ(allocation_count(), before);
}

}  // namespace
}  // namespace orrery::pending
