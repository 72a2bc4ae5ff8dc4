// SPDX-License-Identifier: Apache-2.0
//
// The ring between two workers, in all schedules: order kept, nothing lost or doubled, what waits
// for room moves, entries are touched by one side at a time.
#include <gtest/gtest.h>

#include <string>

#include "explore/atomics.h"
#include "explore/cell.h"
#include "explore/explore_support.h"
#include "transport/ring.h"

namespace orrery::explore {
namespace {

constexpr unsigned kRingTail = 0, kRingHead = 1;  // in the order of the ring's members

/// One thread sends 1 to `kEntries` in batches of `kBatch`, the other receives them. What an entry
/// stands for is plain data of the sender's, too.
template <std::size_t kCapacity, int kEntries, int kBatch>
struct Passing : Scenario {
  transport::Ring<Cell<int>, Atomics> ring{kCapacity};
  Cell<int> behind[kEntries];

  static std::string kind_of(unsigned number) { return number == kRingTail ? "tail" : "head"; }
  std::string atomic_name(unsigned number) const override { return kind_of(number); }

  bool waiting() const {
    bool any = false;
    ring.for_each_waiting([&any](const Cell<int>&) { any = true; });
    return any;
  }
  void send() {
    for (int i = 1; i <= kEntries; ++i) {
      behind[i - 1].set(i);
      ring.push(i);
      if (i % kBatch == 0) ring.flush();
    }
    ring.flush();
    while (waiting()) {
      wait_for_change();
      ring.flush();
    }
  }
  void receive() {
    int last = 0;
    while (last < kEntries) {
      const std::size_t count = ring.drain([&](const Cell<int>& entry) {
        require(entry.get() == last + 1, "an entry is lost, doubled or out of order");
        last = entry.get();
        require(behind[last - 1].get() == last, "what the entry stands for was not published");
      });
      if (count == 0) wait_for_change();
    }
  }
  void run(unsigned thread) override { thread == 0 ? send() : receive(); }
  void finish() override {
    require(ring.drain([](const Cell<int>&) {}) == 0, "more was received than sent");
    require(!waiting(), "something still waits for room");
  }
};

TEST(ExploredRing, PassesBatchesInOrder) {
  expect_holds("ring of 2, 3 entries", all_schedules(), make<Passing<2, 3, 1>>());
  expect_holds("ring of 2, 5 entries in twos", {.deviations = 4}, make<Passing<2, 5, 2>>());
  expect_holds("ring of 1, 3 entries", all_schedules(), make<Passing<1, 3, 1>>());
  expect_holds("ring of 4, 9 entries in threes", {.deviations = 3}, make<Passing<4, 9, 3>>());
}

TEST(ExploredRing, NeedsItsOrders) {
  EXPECT_EQ((expect_orders_needed<Passing<1, 3, 1>>("ring of 1", {})), 4u);
}

TEST(ExploredRing, ShowsPlantedErrors) {
  const auto make_passing = make<Passing<2, 5, 2>>();
  expect_found("tail published before its entry", {}, make_passing, "an entry is lost",
               [](Operation& operation) {
                 if (operation.atomic == kRingTail && operation.kind == Operation::Kind::store &&
                     operation.operand == 2)
                   ++operation.operand;
               });
  expect_found("head published before its entry was read", {}, make_passing, "",
               [](Operation& operation) {
                 if (operation.atomic == kRingHead && operation.kind == Operation::Kind::store)
                   ++operation.operand;
               });
}

}  // namespace
}  // namespace orrery::explore
