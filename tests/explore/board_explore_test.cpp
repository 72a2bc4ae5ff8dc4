// SPDX-License-Identifier: Apache-2.0
//
// A ring and a board between two workers, in all schedules: whoever has read a promise and then its
// inbox has everything that comes before the promise, also when the ring is too short for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "explore/atomics.h"
#include "explore/cell.h"
#include "explore/explore_support.h"
#include "transport/board.h"
#include "transport/ring.h"

namespace orrery::explore {
namespace {

// In the order in which the scenario's members make them.
constexpr unsigned kTail = 0, kHead = 1, kPromise = 2;

/// One thread sends at its times 1 to `kEvents`, each message one later, and promises what it will
/// begin next; the other executes what is safe.
template <std::size_t kCapacity, int kEvents>
struct Promising : Scenario {
  static constexpr std::int64_t kDelay = 1;
  transport::Ring<Cell<std::int64_t>, Atomics> ring{kCapacity};
  transport::Board<Atomics> board{1};

  static std::string kind_of(unsigned number) {
    return number == kTail ? "tail" : number == kHead ? "head" : "promise";
  }
  std::string atomic_name(unsigned number) const override { return kind_of(number); }
  void promise(std::int64_t ticks) {
    ring.flush();
    bool waits = false;
    ring.for_each_waiting([&waits](const Cell<std::int64_t>&) { waits = true; });
    if (!waits) board.promise(0, ticks);
  }
  void send() {
    for (std::int64_t now = 1; now <= kEvents; ++now) {
      ring.push(now + kDelay);
      promise(now + 1);
    }
    while (!ring.all_received()) {
      wait_for_change();
      promise(kEvents + 1);
    }
  }
  void receive() {
    std::int64_t safe = 0, received = 0;
    while (received < kEvents) {
      const std::int64_t bound = board.promised(0) + kDelay;
      const std::size_t count = ring.drain([&](const Cell<std::int64_t>& time) {
        require(time.get() >= safe, "a message came before the bound");
        ++received;
      });
      safe = std::max(safe, bound);
      if (count == 0) wait_for_change();
    }
  }
  void run(unsigned thread) override { thread == 0 ? send() : receive(); }
  void finish() override {
    require(ring.drain([](const Cell<std::int64_t>&) {}) == 0, "more was received than sent");
  }
};

TEST(ExploredBoard, PromisesHold) {
  expect_holds("ring of 2, 2 events", all_schedules(), make<Promising<2, 2>>());
  expect_holds("ring of 1, 3 events", {.deviations = 5}, make<Promising<1, 3>>());
  expect_holds("ring of 4, 6 events", {.deviations = 3}, make<Promising<4, 6>>());
}

TEST(ExploredBoard, NeedsItsOrders) {
  EXPECT_EQ((expect_orders_needed<Promising<1, 3>>("board and ring of 1", {})), 6u);
}

TEST(ExploredBoard, ShowsPlantedErrors) {
  expect_found("promised too much", {}, make<Promising<2, 3>>(), "before the bound",
               [](Operation& operation) {
                 if (operation.atomic == kPromise && operation.kind == Operation::Kind::store)
                   operation.operand += 2;
               });
}

}  // namespace
}  // namespace orrery::explore
