// SPDX-License-Identifier: Apache-2.0
//
// Meetings in all schedules, as the conservative engine uses them: between two meetings each part of
// the data is changed by one thread, whichever takes it, and at a meeting thread 0 reads and changes
// what is shared.
#include <gtest/gtest.h>

#include <string>

#include "explore/atomics.h"
#include "explore/cell.h"
#include "explore/explore_support.h"
#include "transport/meeting.h"

namespace orrery::explore {
namespace {

enum class Hurry {
  nothing,
  opens_early,  ///< thread 0 does not wait for the others
  reads_early,  ///< the others do not wait for thread 0
};

/// `next` counts the parts that are taken, over all windows, so that nobody resets it.
template <unsigned kThreads, int kWindows, Hurry kHurry = Hurry::nothing>
struct Windows : Scenario {
  static constexpr int kParts = 2;
  Atomics::atomic<std::uint64_t> next{0};
  transport::Meetings<Cell<int>, Cell<int>, Atomics> meetings{kThreads};
  Cell<int> parts[kParts] = {0, 0};

  /// In the order in which the members make them.
  static std::string kind_of(unsigned number) {
    return number == 0 ? "next" : number <= kThreads ? "arrived" : "opened";
  }
  std::string atomic_name(unsigned number) const override { return kind_of(number); }

  /// Returns how many parts the thread has taken.
  int take(std::uint64_t window) {
    int taken = 0;
    for (std::uint64_t part = next.load(std::memory_order_relaxed); part < window * kParts;) {
      if (!next.compare_exchange_strong(part, part + 1, std::memory_order_relaxed)) continue;
      Cell<int>& cell = parts[part % kParts];
      require(cell.get() == static_cast<int>(window) - 1, "a part was left out or taken twice");
      cell = static_cast<int>(window);
      ++taken;
      part = next.load(std::memory_order_relaxed);
    }
    return taken;
  }
  void decide(std::uint64_t window, int taken) {
    unsigned first = 1;
    if (kHurry != Hurry::opens_early)
      while (!meetings.all_arrived(window, first)) wait_for_change();
    for (unsigned thread = 1; thread < kThreads; ++thread)
      taken += meetings.report_of(thread).get();
    require(taken == kParts, "a report is old");
    for (auto& part : parts) require(part.get() == static_cast<int>(window), "a part is old");
    meetings.open(window, Cell<int>(static_cast<int>(window)));
  }
  void run(unsigned thread) override {
    for (std::uint64_t window = 1; window <= kWindows; ++window) {
      const int taken = take(window);
      if (thread == 0) {
        decide(window, taken);
        continue;
      }
      meetings.arrive(thread, window, Cell<int>(taken));
      if (kHurry != Hurry::reads_early)
        while (!meetings.is_open(window)) wait_for_change();
      require(meetings.decision().get() == static_cast<int>(window), "a decision is old");
    }
  }
};

TEST(ExploredMeetings, SeparateWindows) {
  expect_holds("2 threads, 1 window", all_schedules(), make<Windows<2, 1>>());
  expect_holds("2 threads, 3 windows", {.deviations = affordable(5)}, make<Windows<2, 3>>());
  expect_holds("3 threads, 2 windows", {.threads = 3, .deviations = affordable(4)},
               make<Windows<3, 2>>());
}

TEST(ExploredMeetings, NeedTheirOrders) {
  EXPECT_EQ((expect_orders_needed<Windows<2, 3>>("meetings of 2", {})), 4u);
}

TEST(ExploredMeetings, ShowPlantedErrors) {
  expect_found("opened early", {}, make<Windows<2, 2, Hurry::opens_early>>(), "");
  expect_found("read early", {}, make<Windows<2, 2, Hurry::reads_early>>(), "");
}

}  // namespace
}  // namespace orrery::explore
