// SPDX-License-Identifier: Apache-2.0
//
// Who frees an event that its sender cancels while the receiver claims, executes, undoes, claims
// again and sweeps: in every schedule one does, once, and nobody touches it afterwards.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "engine/timewarp/event_status.h"
#include "explore/atomics.h"
#include "explore/cell.h"
#include "explore/explore_support.h"
#include "transport/ring.h"

namespace orrery::explore {
namespace {

using timewarp::EventStatus;

TEST(EventStatus, TellsEachSideWhatItMustDo) {
  EventStatus<> local, remote;
  EXPECT_TRUE(local.claim_local());
  EXPECT_TRUE(remote.claim_remote());
  EXPECT_TRUE(local.is_claimed() && remote.is_claimed());
  EXPECT_TRUE(local.undo_local());
  EXPECT_TRUE(remote.undo_remote());
  EXPECT_FALSE(local.is_claimed() || remote.is_claimed());
  EXPECT_FALSE(local.is_cancelled() || remote.is_cancelled());
  EXPECT_FALSE(local.cancel_local());
  EXPECT_FALSE(remote.cancel_remote());
  EXPECT_TRUE(local.is_cancelled() && remote.is_cancelled());
  EXPECT_FALSE(local.claim_local());
  EXPECT_FALSE(remote.claim_remote());
}

TEST(EventStatus, LeavesExecutedEventsToTheirCancellation) {
  EventStatus<> local, remote;
  local.claim_local();
  remote.claim_remote();
  EXPECT_TRUE(local.cancel_local());
  EXPECT_TRUE(remote.cancel_remote());
  EXPECT_FALSE(local.undo_local());
  EXPECT_FALSE(remote.undo_remote());
  EXPECT_FALSE(local.is_claimed() || remote.is_claimed());
  EXPECT_TRUE(local.is_cancelled() && remote.is_cancelled());
}

struct Event {
  EventStatus<Atomics> status;
  Cell<int> key;
  Cell<Event*> sent_next;
  Cell<Event*> first_sent;  // the receiver's
};

struct Message {
  Event* event = nullptr;
  bool cancels = false;
};

/// Errors that the worker could make around the protocol.
enum class Planted { nothing, reads_after_mark, keeps_notice, requeues_undone };

/// What the receiver does between receiving and the end, a letter each: c claim, u undo, s sweep,
/// d drain. Afterwards it claims and drains until no event is left.
template <const char* kScript, int kEvents = 1, Planted kPlanted = Planted::nothing>
class Cancelling : public Scenario {
 public:
  static std::string kind_of(unsigned number) {
    return number == 0 ? "tail" : number == 1 ? "head" : "status";
  }
  std::string atomic_name(unsigned number) const override {
    return kind_of(number) + (number < 2 ? "" : " " + std::to_string(number - 2));
  }
  void run(unsigned thread) override { thread == 0 ? send() : receive(); }
  void finish() override {
    require(freed_ == kEvents, "an event was not freed");
    require(ring_.drain([](const Cell<Message>&) {}) == 0, "a notice for nobody");
  }

 private:
  enum class Place { away, pending, executed, undone, freed };

  // The sender: sends a list of events, then cancels it.
  void send() {
    for (int i = 0; i < kEvents; ++i) {
      events_[i].key.set(i);
      events_[i].sent_next.set(i + 1 < kEvents ? &events_[i + 1] : nullptr);
      ring_.push(Message{&events_[i], false});
    }
    ring_.flush();
    for (Event* event = &events_[0]; event != nullptr;) {
      Event* next = event->sent_next.get();
      event->key.get();
      const bool notify = event->status.cancel_remote();
      if (kPlanted == Planted::reads_after_mark) next = event->sent_next.get();
      if (notify && kPlanted != Planted::keeps_notice) ring_.push(Message{event, true});
      event = next;
    }
    ring_.flush();
    while (waiting()) {
      wait_for_change();
      ring_.flush();
    }
  }
  bool waiting() const {
    bool any = false;
    ring_.for_each_waiting([&any](const Cell<Message>&) { any = true; });
    return any;
  }

  // The receiver.
  void receive() {
    while (!drain()) wait_for_change();
    for (const char step : std::string_view(kScript)) {
      for (int i = 0; i < kEvents; ++i) {
        if (step == 'c') claim(i);
        if (step == 'u' && places_[i] == Place::executed) undo(i);
        if (step == 's') sweep(i);
      }
      if (step == 'd') drain();
    }
    while (freed_ < kEvents) {
      const bool received = drain();
      bool claimed = false;
      for (int i = 0; i < kEvents; ++i) claimed |= claim(i);
      if (!received && !claimed && freed_ < kEvents) wait_for_change();
    }
  }
  bool drain() {
    return ring_.drain([this](const Cell<Message>& entry) { receive(entry.get()); }) > 0;
  }
  void receive(Message message) {
    const auto i = static_cast<int>(message.event - events_);
    if (!message.cancels) {
      places_[i] = Place::pending;
      return;
    }
    require(places_[i] != Place::freed, "notice of an event that was freed");
    require(message.event->status.is_claimed() == (places_[i] == Place::executed),
            "the mark is not what the receiver did");
    if (places_[i] == Place::executed) undo(i);
    require(places_[i] == Place::undone, "somebody else still refers to the event");
    free(i);
  }
  bool claim(int i) {
    if (places_[i] != Place::pending) return false;
    events_[i].key.get();
    if (events_[i].status.claim_remote()) {
      events_[i].first_sent.set(nullptr);
      places_[i] = Place::executed;
    } else {
      free(i);
    }
    return true;
  }
  void undo(int i) {
    events_[i].key.get();
    const bool is_pending = events_[i].status.undo_remote();
    places_[i] =
        is_pending || kPlanted == Planted::requeues_undone ? Place::pending : Place::undone;
  }
  void sweep(int i) {
    if (places_[i] == Place::pending && events_[i].status.is_cancelled()) free(i);
  }
  void free(int i) {
    require(places_[i] != Place::freed, "freed twice");
    free_memory(events_[i]);
    places_[i] = Place::freed;
    ++freed_;
  }

  transport::Ring<Cell<Message>, Atomics> ring_{2};
  Event events_[kEvents];
  Place places_[kEvents] = {};  // the receiver's
  int freed_ = 0;
};

// Scripts.
constexpr char kClaim[] = "c";
constexpr char kUndo[] = "cducd";
constexpr char kUndoTwice[] = "cucudc";
constexpr char kSweep[] = "cusdsc";

TEST(ExploredCancellation, EndsEveryEventOnce) {
  expect_holds("claim", all_schedules(), make<Cancelling<kClaim>>());
  expect_holds("claim, undo, claim", all_schedules(), make<Cancelling<kUndo>>());
  expect_holds("undone twice", all_schedules(), make<Cancelling<kUndoTwice>>());
  expect_holds("sweep", all_schedules(), make<Cancelling<kSweep>>());
  expect_holds("sweep, old values", {.deviations = 6}, make<Cancelling<kSweep>>());
}

TEST(ExploredCancellation, EndsEveryEventOfAListOnce) {
  expect_holds("list, claim", all_schedules(), make<Cancelling<kClaim, 2>>());
  expect_holds("list, claim, old values", {.deviations = 5}, make<Cancelling<kClaim, 2>>());
  expect_holds("list, undo", {.deviations = 5}, make<Cancelling<kUndo, 2>>());
  expect_holds("list, sweep", {.deviations = 5}, make<Cancelling<kSweep, 2>>());
}

TEST(ExploredCancellation, NeedsItsOrders) {
  // Mark, claim and sweep; the ring's tail. Its head matters where it is full.
  EXPECT_EQ((expect_orders_needed<Cancelling<kSweep, 2>>("cancellation", {})), 7u);
}

TEST(ExploredCancellation, ShowsPlantedErrors) {
  const auto sweeping = make<Cancelling<kSweep>>();
  const auto without = [](Operation::Kind kind, std::memory_order order, std::uint64_t operand) {
    return [=](Operation& operation) {
      if (operation.atomic == 2 && operation.kind == kind && operation.order == order)
        operation.operand = operand;
    };
  };
  expect_found("no mark", {}, sweeping, "deadlock",
               without(Operation::Kind::fetch_or, std::memory_order_release, 0));
  expect_found("no claim", {}, sweeping, "deadlock",
               without(Operation::Kind::fetch_or, std::memory_order_acquire, 0));
  expect_found("no clearing of the claim", {}, sweeping, "",
               without(Operation::Kind::fetch_and, std::memory_order_relaxed, ~std::uint64_t{0}));
  expect_found("reads after the mark", {}, make<Cancelling<kClaim, 1, Planted::reads_after_mark>>(),
               "freeing");
  expect_found("keeps the notice", {}, make<Cancelling<kClaim, 1, Planted::keeps_notice>>(),
               "deadlock");
  expect_found("makes what was cancelled pending again", {},
               make<Cancelling<kUndo, 1, Planted::requeues_undone>>(), "");
}

}  // namespace
}  // namespace orrery::explore
