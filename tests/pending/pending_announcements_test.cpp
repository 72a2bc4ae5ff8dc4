// SPDX-License-Identifier: Apache-2.0
//
// Looking ahead beyond the front: what a large set announces is in it, whatever the times are like,
// and it announces nearly everything in time.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "pending/announcements.h"
#include "pending/pending_test_support.h"

namespace orrery::pending {
namespace {

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

struct AheadEvent : TestEvent {
  std::size_t announced_at = kNever;  ///< pops before
};

/// Events that go round through a set: popped, moved, and pushed again.
template <class Set>
class Round {
 public:
  Round(std::size_t events, const TimeSource& source) : source_(source), events_(events) {
    for (AheadEvent& event : events_) push(event);
  }
  void push(AheadEvent& event) {
    event.set_key(Key(Time::from_ticks(source_.next(random_, now_)), 0, 0, ++pushes_));
    event.pending = true;
    event.announced_at = kNever;
    set_.push(&event);
  }
  AheadEvent& pop() {
    AheadEvent& event = *set_.pop();
    event.pending = false;
    now_ = event.time().ticks();
    ++pops_;
    return event;
  }
  /// As engines do between two pops. Returns how many were announced.
  std::size_t look_ahead() {
    std::size_t count = 0;
    for (; count < 2; ++count) {
      const AheadEvent* const announced = set_.announced();
      if (announced == nullptr) break;
      EXPECT_TRUE(set_.announces());
      EXPECT_TRUE(announced->pending) << source_.name;
      const_cast<AheadEvent*>(announced)->announced_at = pops_;
    }
    return count;
  }
  Set& set() { return set_; }
  std::size_t pops() const { return pops_; }

 private:
  const TimeSource& source_;
  Random random_{17};
  std::vector<AheadEvent> events_;
  Set set_;
  std::int64_t now_ = 0;
  std::size_t pushes_ = 0;
  std::size_t pops_ = 0;
};

template <class Set>
class PendingAhead : public ::testing::Test {};
using AnnouncingSets = ::testing::Types<RadixHeap<AheadEvent>, DaryHeap<AheadEvent>>;
TYPED_TEST_SUITE(PendingAhead, AnnouncingSets);

TYPED_TEST(PendingAhead, AnnouncesOnlyWhatIsInTheSet) {
  constexpr std::size_t kEvents = kAnnounceFrom + 5000;
  for (const TimeSource& source : kTimeSources) {
    Round<TypeParam> round(kEvents, source);
    // Seldom at times, so that what is known grows old.
    const auto is_time_to_look = [&] {
      return round.pops() / 512 % 2 == 0 || round.pops() % 64 == 0;
    };
    for (std::size_t i = 0; i < 2 * kEvents; ++i) {
      AheadEvent& event = round.pop();
      if (is_time_to_look()) round.look_ahead();
      round.push(event);
    }
    // To the end, through the size at which it stops to announce.
    while (!round.set().empty()) {
      round.pop();
      if (is_time_to_look()) round.look_ahead();
    }
    EXPECT_EQ(round.look_ahead(), 0U);
  }
}

TYPED_TEST(PendingAhead, ForgetsWhatIsDrained) {
  Round<TypeParam> round(2 * kAnnounceFrom, kTimeSources[0]);
  for (std::size_t i = 0; i < 1000; ++i) {
    AheadEvent& event = round.pop();
    round.look_ahead();
    round.push(event);
  }
  std::vector<AheadEvent*> drained;
  round.set().drain([&](AheadEvent* event) { drained.push_back(event); });
  EXPECT_FALSE(round.set().announces());
  EXPECT_EQ(round.look_ahead(), 0U);
  for (AheadEvent* event : drained) round.push(*event);
  for (std::size_t i = 0; i < 1000; ++i) {
    round.pop();
    round.look_ahead();
  }
}

/// Whatever the number of events, and so that of the buckets in the innermost rung, is.
TEST(RadixHeapAhead, AnnouncesNearlyAllInTime) {
  constexpr std::size_t kPops = 100'000;
  for (const std::size_t events : {50'000, 70'000, 100'000, 140'000, 200'000, 280'000, 400'000}) {
    Round<RadixHeap<AheadEvent>> round(events, kTimeSources[0]);
    std::size_t in_time = 0;
    for (std::size_t i = 0; i < kPops; ++i) {
      AheadEvent& event = round.pop();
      in_time += event.announced_at != kNever && round.pops() - event.announced_at > 16;
      round.look_ahead();
      round.push(event);
    }
    EXPECT_GT(in_time, kPops * 9 / 10) << events << " events";
  }
}

TEST(RadixHeapAhead, ASmallSetAnnouncesNothing) {
  Round<RadixHeap<AheadEvent>> round(kAnnounceFrom / 2, kTimeSources[0]);
  for (std::size_t i = 0; i < 20'000; ++i) {
    AheadEvent& event = round.pop();
    EXPECT_EQ(round.look_ahead(), 0U);
    round.push(event);
  }
}

}  // namespace
}  // namespace orrery::pending
