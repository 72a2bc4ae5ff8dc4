// SPDX-License-Identifier: Apache-2.0
//
// A resource by hand: who is served when, who leaves, and what is counted to the tick.
#include "orrery/resource.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "instant.h"

namespace orrery {
namespace {

using testing::at;
using testing::ticks;

TEST(Resource, ServesInOrderOfArrival) {
  Resource<char> desk(2);
  EXPECT_EQ(desk.request(at(0), 'a'), Admission::served);
  EXPECT_EQ(desk.request(at(1), 'b'), Admission::served);
  EXPECT_FALSE(desk.is_free());
  EXPECT_EQ(desk.request(at(2), 'c'), Admission::queued);
  EXPECT_EQ(desk.request(at(3), 'd'), Admission::queued);
  const auto third = desk.release(at(10));
  ASSERT_TRUE(third);
  EXPECT_EQ(third->customer, 'c');
  EXPECT_EQ(third->waited, ticks(8));
  EXPECT_EQ(desk.release(at(11))->customer, 'd');
  EXPECT_EQ(desk.busy(), 2u);
  EXPECT_FALSE(desk.release(at(12)));
  EXPECT_FALSE(desk.release(at(13)));
  EXPECT_EQ(desk.busy(), 0u);
  EXPECT_EQ(desk.waiting(), 0u);
}

TEST(Resource, SmallerPrioritiesComeFirstAndEqualsInOrder) {
  Resource<int> desk(1);
  desk.request(at(0), 0);
  for (int i = 1; i <= 60; ++i) desk.request(at(i), i, i * 7 % 3 - 1);
  std::vector<int> order;
  while (const auto next = desk.release(at(100))) order.push_back(next->customer);
  std::vector<int> expected;
  for (const int priority : {-1, 0, 1})
    for (int i = 1; i <= 60; ++i)
      if (i * 7 % 3 - 1 == priority) expected.push_back(i);
  EXPECT_EQ(order, expected);
}

TEST(Resource, TurnsAwayWhomTheQueueHasNoPlaceFor) {
  Resource<int> lossy(1, 0), desk(1, 2);
  lossy.request(at(0), 1);
  EXPECT_EQ(lossy.request(at(0), 2), Admission::balked);
  for (int i = 0; i < 5; ++i) desk.request(at(0), i);
  const ResourceStatistics seen = desk.statistics(at(0));
  EXPECT_EQ(seen.balked, 2u);
  EXPECT_EQ(seen.longest_queue, 2u);
  EXPECT_EQ(seen.share_balked(), 0.4);
}

TEST(Resource, CustomersWhoGiveUpLeaveTheOthersInOrder) {
  Resource<int> desk(1);
  std::vector<std::uint64_t> tickets;
  for (int i = 0; i <= 20; ++i) {
    tickets.push_back(desk.next_ticket());
    desk.request(at(i), i);
  }
  EXPECT_FALSE(desk.renege(at(30), tickets[0])) << "is served already";
  EXPECT_FALSE(desk.renege(at(30), desk.next_ticket())) << "has not come yet";
  for (int i = 1; i <= 20; i += 3) {
    const auto gone = desk.renege(at(30), tickets[static_cast<std::size_t>(i)]);
    ASSERT_TRUE(gone);
    EXPECT_EQ(gone->customer, i);
    EXPECT_EQ(gone->waited, ticks(30 - i));
    EXPECT_FALSE(desk.renege(at(30), tickets[static_cast<std::size_t>(i)])) << "is gone";
  }
  for (int i = 1; i <= 20; ++i) {
    if (i % 3 == 1) continue;
    EXPECT_EQ(desk.release(at(40))->customer, i);
  }
  EXPECT_EQ(desk.statistics(at(40)).reneged, 7u);
}

TEST(Resource, CountsToTheTick) {
  Resource<int> desk(2, 2);
  desk.request(at(10), 1);
  desk.request(at(20), 2);
  desk.request(at(30), 3);
  desk.request(at(40), 4);
  desk.request(at(45), 5);  // balks
  desk.release(at(50));     // 3 begins, has waited 20
  desk.release(at(70));     // 4 begins, has waited 30
  desk.release(at(80));
  const ResourceStatistics seen = desk.statistics(at(100));
  EXPECT_EQ(seen.requests, 5u);
  EXPECT_EQ(seen.served, 4u);
  EXPECT_EQ(seen.delayed, 2u);
  EXPECT_TRUE(seen.busy_area == 10 + 2 * 60 + 20);
  EXPECT_TRUE(seen.queue_area == 50);
  EXPECT_TRUE(seen.waited == 50);
  EXPECT_EQ(seen.longest_wait, ticks(30));
  EXPECT_EQ(seen.utilisation(), 0.75);
  EXPECT_EQ(seen.mean_queue(), 0.5);
  EXPECT_EQ(seen.mean_wait_ticks(), 12.5);
  EXPECT_EQ(seen.share_delayed(), 0.5);
  EXPECT_EQ(desk.statistics(at(80)).utilisation(), 130.0 / 160);
}

TEST(Resource, CountsAnewAfterAWarmUp) {
  Resource<int> desk(1);
  for (int i = 0; i < 4; ++i) desk.request(at(0), i);
  desk.restart_statistics(at(100));
  EXPECT_EQ(desk.waiting(), 3u);
  EXPECT_EQ(desk.release(at(110))->waited, ticks(110));
  const ResourceStatistics seen = desk.statistics(at(120));
  EXPECT_EQ(seen.requests, 0u);
  EXPECT_EQ(seen.served, 1u);
  EXPECT_EQ(seen.longest_queue, 3u);
  EXPECT_EQ(seen.mean_queue(), 2.5);
  EXPECT_EQ(seen.utilisation(), 1);
}

TEST(Resource, SumsDoNotOverflow) {
  Resource<int> desk(1);
  for (int i = 0; i < 5; ++i) desk.request(at(0), i);
  const ResourceStatistics seen = desk.statistics(Time::max());
  EXPECT_EQ(seen.mean_queue(), 4);
  EXPECT_EQ(seen.utilisation(), 1);
}

TEST(Resource, OfNothingAllMeansAreZero) {
  const ResourceStatistics seen = Resource<int>(3).statistics(Time::zero());
  EXPECT_EQ(seen.utilisation(), 0);
  EXPECT_EQ(seen.mean_queue(), 0);
  EXPECT_EQ(seen.mean_wait_ticks(), 0);
  EXPECT_EQ(seen.share_balked(), 0);
}

TEST(Resource, TakesCustomersThatCanOnlyBeMoved) {
  Resource<std::unique_ptr<int>> desk(1);
  desk.request(at(0), std::make_unique<int>(1));
  desk.request(at(0), std::make_unique<int>(2));
  EXPECT_EQ(*desk.release(at(1))->customer, 2);
}

TEST(Resource, RefusesWhatMakesNoSense) {
  EXPECT_THROW(Resource<int>(0), std::invalid_argument);
  Resource<int> desk(1);
  try {
    desk.release(at(0));
    ADD_FAILURE() << "accepted";
  } catch (const std::logic_error& refusal) {
    EXPECT_STREQ(refusal.what(), "Resource: release() where no server is busy.");
  }
}

}  // namespace
}  // namespace orrery
