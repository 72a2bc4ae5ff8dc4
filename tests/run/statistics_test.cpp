// SPDX-License-Identifier: Apache-2.0
//
// Counters by table: how those of several workers make one, and which of them are reported. That a
// table without one of the counters does not compile is a static_assert in merge_counters: nothing
// here can show it.
#include "run/results/statistics.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace orrery {
namespace {

struct Counters {
  std::uint64_t events = 0, longest = 0, internal = 0;
};

constexpr CounterInfo<Counters> kTable[] = {
    {&Counters::events, Merge::sum, "events", "Events of all workers", "events"},
    {&Counters::longest, Merge::maximum, "longest_queue", "Longest of all queues"},
    {&Counters::internal, Merge::sum, nullptr, "Not for reports"},
};

TEST(Counters, AreSummedOrCompared) {
  Counters sum;
  merge_counters(kTable, sum, {.events = 3, .longest = 7, .internal = 1});
  merge_counters(kTable, sum, {.events = 5, .longest = 2, .internal = 10});
  EXPECT_EQ(sum.events, 8u);
  EXPECT_EQ(sum.longest, 7u);
  EXPECT_EQ(sum.internal, 11u);
}

TEST(Counters, OfAWorkerThatDidNothingChangeNothing) {
  Counters sum{.events = 3, .longest = 7, .internal = 1};
  merge_counters(kTable, sum, {});
  EXPECT_EQ(sum.events, 3u);
  EXPECT_EQ(sum.longest, 7u);
  EXPECT_EQ(sum.internal, 1u);
}

TEST(Counters, KeepAllTheirBits) {
  constexpr std::uint64_t kLarge = (std::uint64_t{1} << 53) + 1;  // no double has this value
  Counters sum;
  merge_counters(kTable, sum, {.events = kLarge, .longest = kLarge, .internal = 0});
  merge_counters(kTable, sum, {.events = kLarge, .longest = kLarge + 1, .internal = 0});
  EXPECT_EQ(sum.events, 2 * kLarge);
  EXPECT_EQ(sum.longest, kLarge + 1);
}

TEST(Counters, AreReportedInTheOrderOfTheTableIfTheyHaveAName) {
  std::vector<Statistic> out{{"before", "", "", 1}};
  report_counters(kTable, {.events = 8, .longest = 7, .internal = 11}, out);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].name, "before");
  EXPECT_EQ(out[1].name, "events");
  EXPECT_EQ(out[1].unit, "events");
  EXPECT_EQ(out[1].help, "Events of all workers");
  EXPECT_EQ(out[1].value, 8.0);
  EXPECT_EQ(out[2].name, "longest_queue");
  EXPECT_EQ(out[2].unit, "");
  EXPECT_EQ(out[2].value, 7.0);
}

}  // namespace
}  // namespace orrery
