// SPDX-License-Identifier: Apache-2.0
//
// Every kind of pending event set yields the events in the order of their keys: compared step by
// step with a std::set over random mixes of operations, for times that are unkind in many ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "pending/pending_test_support.h"

namespace orrery::pending {
namespace {

struct ByKey {
  bool operator()(const TestEvent* a, const TestEvent* b) const { return key_of(*a) < key_of(*b); }
};

/// A set, a reference, and events to put into both.
template <class Set>
class Comparison {
 public:
  Comparison(std::size_t event_count, std::uint64_t seed) : random_(seed), events_(event_count) {
    for (TestEvent& event : events_) idle_.push_back(&event);
  }

  Random& random() { return random_; }
  bool has_idle() const { return !idle_.empty(); }
  std::int64_t now() const { return now_; }

  /// Keys are unique as an engine's are: where times are equal, the other parts are in no relation
  /// to the order of the pushes.
  void push(std::int64_t ticks) {
    TestEvent* const event = idle_.back();
    idle_.pop_back();
    event->set_key(Key(Time::from_ticks(ticks), static_cast<std::uint32_t>(random_() % 3),
                       static_cast<LpId>(random_() % 5),
                       next_sequence_++ * 0x9e3779b1 % (1 << 30)));
    push(event);
  }

  void push(TestEvent* event) {
    event->pending = true;
    set_.push(event);
    reference_.insert(event);
  }

  TestEvent* pop() {
    TestEvent* const expected = reference_.empty() ? nullptr : *reference_.begin();
    TestEvent* const popped = set_.pop();
    EXPECT_EQ(popped, expected);
    if (expected == nullptr) return nullptr;
    reference_.erase(reference_.begin());
    expected->pending = false;
    idle_.push_back(expected);
    now_ = expected->time().ticks();
    return popped;
  }

  std::int64_t pop_ticks() {
    pop();
    return now_;
  }

  void check_top() { EXPECT_EQ(set_.top(), reference_.empty() ? nullptr : *reference_.begin()); }

  void check_hints() {
    EXPECT_EQ(set_.size(), reference_.size());
    EXPECT_EQ(set_.empty(), reference_.empty());
    for (std::size_t i = 0; i < 8; ++i) {
      const TestEvent* const hint = set_.upcoming(i);
      EXPECT_TRUE(hint == nullptr || hint->pending);
    }
  }

  void drain() {
    std::size_t count = 0;
    set_.drain([&](TestEvent* event) {
      EXPECT_TRUE(event->pending);
      event->pending = false;
      idle_.push_back(event);
      ++count;
    });
    EXPECT_EQ(count, reference_.size());
    reference_.clear();
    check_hints();
    check_top();
  }

  void pop_all() {
    while (!reference_.empty() && !::testing::Test::HasFailure()) pop();
    EXPECT_EQ(set_.pop(), nullptr);
    check_hints();
  }

 private:
  Random random_;
  std::vector<TestEvent> events_;
  std::vector<TestEvent*> idle_;
  Set set_;
  std::set<TestEvent*, ByKey> reference_;
  std::uint64_t next_sequence_ = 1;
  std::int64_t now_ = 0;
};

template <class Set>
class PendingOrder : public ::testing::Test {};

using OrderedSets = ::testing::Types<RadixHeap<TestEvent>, DaryHeap<TestEvent>>;
TYPED_TEST_SUITE(PendingOrder, OrderedSets);

TYPED_TEST(PendingOrder, IsAPendingSet) {
  static_assert(PendingSet<TypeParam, TestEvent>);
  static_assert(!std::is_copy_constructible_v<TypeParam>);
  TypeParam set;
  EXPECT_EQ(set.top(), nullptr);
  EXPECT_EQ(set.pop(), nullptr);
  EXPECT_EQ(set.upcoming(0), nullptr);
  EXPECT_EQ(set.size(), 0u);
}

/// Phases that mostly push, mostly pop, or keep the size, with tops and drains between.
template <class Set>
void mix(const TimeSource& source, std::size_t event_count, std::uint64_t seed) {
  SCOPED_TRACE(std::string(source.name) + ", seed " + std::to_string(seed));
  Comparison<Set> both(event_count, seed);
  for (int phase = 0; phase < 12 && !::testing::Test::HasFailure(); ++phase) {
    const std::uint64_t pushes_of_8 = both.random()() % 9;
    for (std::size_t i = 0; i < event_count; ++i) {
      if (both.random()() % 8 < pushes_of_8 && both.has_idle()) {
        both.push(source.next(both.random(), both.now()));
      } else {
        both.pop();
      }
      if (both.random()() % 16 == 0) both.check_top();
    }
    both.check_hints();
    if (both.random()() % 6 == 0) both.drain();
  }
  both.pop_all();
}

TYPED_TEST(PendingOrder, AgreesWithASetOnMixes) {
  for (const TimeSource& source : kTimeSources) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      mix<TypeParam>(source, 1 + seed * seed * 11, seed);
      if (this->HasFailure()) return;
    }
  }
}

TYPED_TEST(PendingOrder, AgreesWithASetOnMixesOfSources) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Comparison<TypeParam> both(3000, seed);
    for (int i = 0; i < 30'000; ++i) {
      const TimeSource& source = kTimeSources[both.random()() % kTimeSources.size()];
      for (std::uint64_t burst = both.random()() % 4; burst > 0 && both.has_idle(); --burst) {
        both.push(source.next(both.random(), both.now()));
      }
      for (std::uint64_t burst = both.random()() % 4; burst > 0; --burst) both.pop();
    }
    both.pop_all();
    if (this->HasFailure()) return;
  }
}

/// As Time Warp does: pop some, put them back with their old keys, go on from there.
TYPED_TEST(PendingOrder, RollsBack) {
  for (const TimeSource& source : kTimeSources) {
    SCOPED_TRACE(std::string(source.name));
    Comparison<TypeParam> both(5000, 7);
    for (int i = 0; i < 2500; ++i) both.push(source.next(both.random(), 0));
    for (int round = 0; round < 60; ++round) {
      std::vector<TestEvent*> undone;
      for (std::uint64_t i = both.random()() % 400; i > 0; --i) undone.push_back(both.pop());
      for (TestEvent* event : undone) {
        if (event != nullptr) both.push(event);
      }
      // The comparison's idle list still has those events: only pops from here on.
      for (std::size_t i = 0; i < undone.size() / 2; ++i) both.pop();
      if (this->HasFailure()) return;
    }
    both.pop_all();
  }
}

/// A set that has become empty late is as good as new for what begins at the start.
TYPED_TEST(PendingOrder, StartsAnew) {
  for (const TimeSource& source : kTimeSources) {
    SCOPED_TRACE(std::string(source.name));
    Comparison<TypeParam> both(3000, 5);
    for (int run = 0; run < 3; ++run) {
      for (int i = 0; i < 2000; ++i) both.push(source.next(both.random(), 0));
      for (int i = 0; i < 2000; ++i) both.push(source.next(both.random(), both.pop_ticks()));
      both.pop_all();
    }
  }
}

/// A look at a far event moves the buckets there; what comes before it must not suffer.
TYPED_TEST(PendingOrder, ALookAtTheFarEventIsHarmless) {
  Comparison<TypeParam> both(20'000, 3);
  both.push(kMaxTicks - 5);
  both.check_top();
  for (int i = 0; i < 19'000; ++i) both.push(exponential(both.random(), 1e9));
  both.check_top();
  both.pop_all();
}

TYPED_TEST(PendingOrder, EqualKeysComeInAnyOrder) {
  std::vector<TestEvent> events(1000);
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].set_key(Key(Time::from_ticks(static_cast<std::int64_t>(i % 7)), 0, 1, 1));
  }
  TypeParam set;
  for (TestEvent& event : events) set.push(&event);
  Key last = Key::start_of(Time::zero());
  for (std::size_t i = 0; i < events.size(); ++i) {
    TestEvent* const event = set.pop();
    ASSERT_NE(event, nullptr);
    ASSERT_LE(last, key_of(*event));
    ASSERT_FALSE(event->pending) << "popped twice";
    event->pending = true;
    last = *event;
  }
  EXPECT_EQ(set.pop(), nullptr);
}

TYPED_TEST(PendingOrder, ManyEvents) {
  constexpr std::size_t kCount = kMany;
  for (const TimeSource& source : kTimeSources) {
    if (!worth_a_million(source)) continue;
    SCOPED_TRACE(std::string(source.name));
    auto events = std::make_unique<TestEvent[]>(kCount);
    Random random(11);
    TypeParam set;
    for (std::size_t i = 0; i < kCount; ++i) {
      const Time time = Time::from_ticks(source.next(random, 1'000'000));
      events[i].set_key(Key(time, 0, static_cast<LpId>(random()), i));
      set.push(&events[i]);
    }
    Key last = events[0];
    for (std::size_t i = 0; i < kCount; ++i) {
      const TestEvent* const event = set.pop();
      ASSERT_NE(event, nullptr);
      if (i > 0) {
        ASSERT_LT(last, key_of(*event)) << "at event " << i;
      }
      last = *event;
    }
    EXPECT_EQ(set.pop(), nullptr);
  }
}

}  // namespace
}  // namespace orrery::pending
