// SPDX-License-Identifier: Apache-2.0
//
// A resource that knows the work of its customers, by hand: whom a request interrupts, what is left
// and lost, what shifts and breakdowns do, and what is counted to the tick.
#include "orrery/preemptive_resource.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "instant.h"
#include "orrery/shifts.h"

namespace orrery {
namespace {

using testing::at;
using testing::ticks;

using Crane = PreemptiveResource<char>;

/// The next service that has begun, which must be this customer's, with so much left.
std::uint64_t begun(Crane& crane, char customer, std::int64_t left) {
  const auto next = crane.take_begun();
  if (!next) throw std::runtime_error("no service has begun");
  EXPECT_EQ(next->customer, customer);
  EXPECT_EQ(next->left, ticks(left));
  return next->service;
}

TEST(PreemptiveResource, InterruptsTheLastInOrder) {
  Crane crane(2);
  const auto first = crane.request(at(0), 'a', ticks(10), {.priority = 3});
  EXPECT_EQ(first.admission, Admission::served);
  EXPECT_FALSE(first.victim);
  begun(crane, 'a', 10);
  const std::uint64_t b =
      (crane.request(at(1), 'b', ticks(10), {.priority = 2}), begun(crane, 'b', 10));
  // Equal priorities do not interrupt each other, and 'a' is the last.
  EXPECT_EQ(crane.request(at(2), 'c', ticks(4), {.priority = 3}).admission, Admission::queued);
  const auto [admission, victim] = crane.request(at(3), 'd', ticks(5), {.priority = 1});
  EXPECT_EQ(admission, Admission::served);
  ASSERT_TRUE(victim);
  EXPECT_EQ(victim->customer, 'a');
  EXPECT_EQ(victim->left, ticks(7));
  EXPECT_EQ(victim->preemptions, 1u);
  EXPECT_FALSE(victim->has_left);
  const std::uint64_t d = begun(crane, 'd', 5);
  EXPECT_FALSE(crane.take_begun());
  EXPECT_EQ(crane.complete(at(8), d)->customer, 'd');
  const std::uint64_t a = begun(crane, 'a', 7);  // before 'c', who came later
  EXPECT_EQ(crane.complete(at(11), b)->customer, 'b');
  begun(crane, 'c', 4);
  EXPECT_EQ(crane.complete(at(15), a)->preemptions, 1u);
  EXPECT_EQ(crane.busy(), 1u);
}

/// The end of a service that was interrupted comes nevertheless, and means nothing.
TEST(PreemptiveResource, KnowsWhichEndsAreTrue) {
  Crane crane(1);
  crane.request(at(0), 'a', ticks(10), {.priority = 2});
  const std::uint64_t a = begun(crane, 'a', 10);
  crane.request(at(4), 'b', ticks(1), {.priority = 1});
  const std::uint64_t b = begun(crane, 'b', 1);
  EXPECT_THROW(crane.complete(at(4), b), std::logic_error);
  EXPECT_TRUE(crane.complete(at(5), b));
  EXPECT_FALSE(crane.complete(at(10), a));
  EXPECT_TRUE(crane.complete(at(11), begun(crane, 'a', 6)));
  EXPECT_FALSE(crane.complete(at(11), 99));
}

TEST(PreemptiveResource, OneCallMayBeginAndInterruptAService) {
  Crane crane(1);
  crane.request(at(0), 'a', ticks(10), {.priority = 2});
  crane.request(at(0), 'b', ticks(10), {.priority = 1});
  begun(crane, 'b', 10);  // that of 'a' has ended before it was told
  EXPECT_FALSE(crane.take_begun());
}

TEST(PreemptiveResource, LosesWhatIsDoneInVain) {
  Crane crane(1);
  crane.request(at(0), 'a', ticks(10), {.priority = 2, .preempted = Preempted::restarts});
  begun(crane, 'a', 10);
  const auto victim =
      crane.request(at(4), 'b', ticks(2), {.priority = 1, .preempted = Preempted::leaves}).victim;
  EXPECT_EQ(victim->left, ticks(10));
  EXPECT_EQ(victim->lost, ticks(4));
  begun(crane, 'b', 2);
  const auto gone = crane.request(at(5), 'c', ticks(3), {.priority = 0}).victim;
  EXPECT_TRUE(gone->has_left);
  EXPECT_EQ(gone->lost, ticks(1));
  crane.complete(at(8), begun(crane, 'c', 3));
  EXPECT_EQ(crane.complete(at(18), begun(crane, 'a', 10))->lost, ticks(4));
  const ResourceStatistics seen = crane.statistics(at(20));
  EXPECT_EQ(seen.preempted, 2u);
  EXPECT_EQ(seen.lost, 5u);
  EXPECT_EQ(seen.busy_area, 18u);
  EXPECT_EQ(seen.queue_area, 4u);
  EXPECT_EQ(seen.served, 3u);
  EXPECT_EQ(seen.delayed, 0u);
}

/// A case of simmer: customers of 5 ticks each at a resource of capacity 3 that falls to 1 at 4 and to 0
/// at 10, with and without preemption.
TEST(PreemptiveResource, LosesServersWithAndWithoutPreemption) {
  for (const Removal removal : {Removal::preempts, Removal::lets_finish}) {
    const bool preempts = removal == Removal::preempts;
    Crane crane(3);
    std::vector<std::uint64_t> services;
    for (const char customer : {'a', 'b', 'c'}) {
      crane.request(at(0), customer, ticks(5));
      services.push_back(begun(crane, customer, 5));
    }
    const auto victims = crane.set_capacity(at(4), 1, removal);
    ASSERT_EQ(victims.size(), preempts ? 2u : 0u);
    EXPECT_EQ(crane.busy(), preempts ? 1u : 3u);
    if (preempts) {
      EXPECT_EQ(victims[0].customer, 'c');  // the last come are the first to go
      EXPECT_EQ(victims[1].customer, 'b');
    }
    for (const std::uint64_t service : services)
      EXPECT_EQ(crane.complete(at(5), service).has_value(), !preempts || service == services[0]);
    if (preempts) {
      EXPECT_TRUE(crane.complete(at(6), begun(crane, 'b', 1)));
      EXPECT_TRUE(crane.complete(at(7), begun(crane, 'c', 1)));
    }
    EXPECT_TRUE(crane.set_capacity(at(10), 0, removal).empty());
    EXPECT_EQ(crane.request(at(11), 'd', ticks(5)).admission, Admission::queued);
    EXPECT_EQ(crane.available(), 0u);
    EXPECT_EQ(crane.statistics(at(12)).capacity_area, preempts ? 3u * 4 + 1 * 6 : 3u * 5 + 1 * 5);
  }
}

TEST(PreemptiveResource, TakesServersOutAndBack) {
  Crane crane(2);
  crane.request(at(0), 'a', ticks(10));
  begun(crane, 'a', 10);
  EXPECT_TRUE(crane.take_out(at(1), 1, Removal::preempts).empty());
  EXPECT_EQ(crane.take_out(at(2), 3, Removal::preempts).size(), 1u);
  EXPECT_EQ(crane.available(), 0u);
  crane.set_capacity(at(3), 5, Removal::preempts);
  begun(crane, 'a', 8);
  crane.put_back(at(4), 4);
  EXPECT_EQ(crane.available(), 5u);
  EXPECT_THROW(crane.put_back(at(4), 1), std::logic_error);
}

TEST(PreemptiveResource, LetsCustomersLeave) {
  Crane crane(1, 1);
  const std::uint64_t a = crane.next_ticket();
  crane.request(at(0), 'a', ticks(10));
  begun(crane, 'a', 10);
  const std::uint64_t b = crane.next_ticket();
  crane.request(at(0), 'b', ticks(10));
  EXPECT_EQ(crane.request(at(0), 'c', ticks(10)).admission, Admission::balked);
  // Who is interrupted waits also where the queue is full.
  crane.request(at(3), 'd', ticks(1), {.priority = -1});
  EXPECT_EQ(crane.waiting(), 2u);
  EXPECT_EQ(crane.leave(at(3), a)->lost, ticks(3));
  EXPECT_EQ(crane.leave(at(3), b)->lost, ticks(0));
  EXPECT_FALSE(crane.leave(at(3), b));
  const ResourceStatistics seen = crane.statistics(at(3));
  EXPECT_EQ(seen.reneged, 1u);  // 'a' had been served
  EXPECT_EQ(seen.balked, 1u);
  EXPECT_EQ(seen.lost, 3u);
  EXPECT_THROW(crane.request(at(3), 'e', ticks(-1)), std::invalid_argument);
}

TEST(Shifts, RepeatWithTheirPeriod) {
  const Shifts shifts(ticks(24), {{ticks(8), 3}, {ticks(12), 1}, {ticks(17), 0}});
  EXPECT_EQ(shifts.servers_at(at(0)), 0u);
  EXPECT_EQ(shifts.until_change(at(0)), ticks(8));
  EXPECT_EQ(shifts.servers_at(at(8)), 3u);
  EXPECT_EQ(shifts.until_change(at(8)), ticks(4));
  EXPECT_EQ(shifts.servers_at(at(24 + 16)), 1u);
  EXPECT_EQ(shifts.servers_at(at(24 + 20)), 0u);
  EXPECT_EQ(shifts.until_change(at(24 + 20)), ticks(12));
  EXPECT_THROW(Shifts(ticks(24), {}), std::invalid_argument);
  EXPECT_THROW(Shifts(ticks(24), {{ticks(24), 1}}), std::invalid_argument);
  EXPECT_THROW(Shifts(ticks(24), {{ticks(2), 1}, {ticks(2), 0}}), std::invalid_argument);
}

}  // namespace
}  // namespace orrery
