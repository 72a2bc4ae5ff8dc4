// SPDX-License-Identifier: Apache-2.0
//
// Rounds of GVT while workers exchange messages through rings: in every schedule the result of a
// round is at or below the time of everything that is pending, in a ring, waiting for room in one,
// or about to be sent; results never go down, and all workers adopt the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "explore/atomics.h"
#include "explore/cell.h"
#include "explore/explore_support.h"
#include "transport/mesh.h"
#include "transport/rounds.h"

namespace orrery::explore {
namespace {

/// Steps that a worker could forget.
enum class Forgotten { nothing, flush_at_join, waiting_at_join, sent_since_join, drain_at_report };

struct Report {
  int lowest = INT_MAX;
  int executed = 0;
};

/// What is sent: by the event at `time` on worker `from`, one to worker `to`, `delay` later.
struct Send {
  unsigned from;
  int time;
  unsigned to;
  int delay;
};
/// A case: `initial` are events by worker and time. A worker wants a round when it is idle; worker
/// `eager` also after every event.
struct Traffic {
  unsigned workers;
  std::size_t capacity;
  std::vector<std::pair<unsigned, int>> initial;
  std::vector<Send> sends;
  unsigned eager = 0;
};

/// What no worker can see at once: all events that exist, and the results of all rounds.
class Oracle {
 public:
  void add(int time) { live_.insert(time); }
  void remove(int time) { live_.erase(live_.find(time)); }
  bool empty() const { return live_.empty(); }

  /// Called when a worker makes its report; the last one fixes the result.
  void note_report(std::uint64_t round, unsigned workers, const Report& report) {
    if (results_.size() < round) results_.push_back({});
    Result& result = results_[round - 1];
    result.sum.lowest = std::min(result.sum.lowest, report.lowest);
    result.sum.executed += report.executed;
    if (++result.reports < workers) return;
    require(live_.empty() || result.sum.lowest <= *live_.begin(),
            "GVT is above an event that still exists");
    require(round == 1 || result.sum.lowest >= results_[round - 2].sum.lowest, "GVT goes down");
  }
  void check_adopted(std::uint64_t round, const Report& sum) const {
    const Report& expected = results_[round - 1].sum;
    require(sum.lowest == expected.lowest && sum.executed == expected.executed,
            "workers adopt different results");
  }

 private:
  struct Result {
    Report sum;
    unsigned reports = 0;
  };
  std::multiset<int> live_;
  std::vector<Result> results_;
};

/// A report whose races are not looked for, so that others are found.
struct Unwatched {
  Report report;
  Unwatched(Report value = {}) : report(value) {}
  const Report& get() const { return report; }
};

template <const Traffic& kTraffic, Forgotten kForgotten = Forgotten::nothing,
          class Slot = Cell<Report>>
class Exchange : public Scenario {
  using Mesh = transport::Mesh<Cell<int>, Atomics>;
  using Rounds = transport::Rounds<Slot, Atomics>;

 public:
  Exchange() : mesh_(kTraffic.workers, kTraffic.capacity), rounds_(kTraffic.workers) {
    for (unsigned i = 0; i < kTraffic.workers; ++i) workers_.emplace_back(*this, i);
    for (const auto& [worker, time] : kTraffic.initial) {
      oracle_.add(time);
      workers_[worker].pending.insert(time);
    }
  }
  static std::string kind_of(unsigned number) {
    const unsigned rings = kTraffic.workers * (kTraffic.workers - 1);
    if (number < 2 * rings) return number % 2 == 0 ? "tail" : "head";
    if (number == 2 * rings) return "round";
    return (number - 2 * rings) % 2 == 1 ? "joined" : "reported";
  }
  std::string atomic_name(unsigned number) const override {
    return kind_of(number) + " (" + std::to_string(number) + ")";
  }
  void run(unsigned thread) override { workers_[thread].run(); }
  void finish() override { require(oracle_.empty(), "the workers ended with events left"); }

 private:
  struct Worker {
    Worker(Exchange& in, unsigned number)
        : exchange(in), index(number), member(in.rounds_, number) {}

    void run() {
      for (;;) {
        progress = drain();
        if (member.step(*this)) return;
        if (execute()) continue;  // messages leave in batches
        exchange.mesh_.flush(index);
        if (!progress) wait_for_change();
      }
    }
    bool drain() {
      return exchange.mesh_.drain(index, [this](const Cell<int>& time) {
        require(time.get() >= gvt, "a message from before GVT");
        pending.insert(time.get());
      }) > 0;
    }
    bool execute() {
      if (pending.empty()) return false;
      const int time = *pending.begin();
      pending.erase(pending.begin());
      for (const Send& send : kTraffic.sends) {
        if (send.from != index || send.time != time) continue;
        exchange.oracle_.add(time + send.delay);
        if (kForgotten != Forgotten::sent_since_join)
          sent_lowest = std::min(sent_lowest, time + send.delay);
        exchange.mesh_.ring(index, send.to).push(time + send.delay);
      }
      exchange.oracle_.remove(time);
      ++executed;
      return true;
    }

    // For the member.
    bool due() { return pending.empty() || (index == kTraffic.eager && executed > adopted); }
    void join() {
      progress = true;
      if (kForgotten != Forgotten::flush_at_join) exchange.mesh_.flush(index);
      sent_lowest = INT_MAX;
      if (kForgotten == Forgotten::waiting_at_join) return;
      exchange.mesh_.for_each_waiting(index, [this](const Cell<int>& time) {
        sent_lowest = std::min(sent_lowest, time.get());
      });
    }
    Slot report() {
      progress = true;
      if (kForgotten != Forgotten::drain_at_report) drain();
      Report report{sent_lowest, executed};
      if (!pending.empty()) report.lowest = std::min(report.lowest, *pending.begin());
      exchange.oracle_.note_report(member.round(), kTraffic.workers, report);
      return report;
    }
    bool adopt() {
      progress = true;
      Report sum;
      for (unsigned i = 0; i < kTraffic.workers; ++i) {
        const Report one = exchange.rounds_.report_of(i).get();
        sum.lowest = std::min(sum.lowest, one.lowest);
        sum.executed += one.executed;
      }
      exchange.oracle_.check_adopted(member.round(), sum);
      gvt = sum.lowest;
      adopted = executed;
      return gvt == INT_MAX;
    }

    Exchange& exchange;
    const unsigned index;
    transport::RoundMember<Rounds> member;
    std::multiset<int> pending;
    int sent_lowest = INT_MAX, gvt = 0, executed = 0, adopted = 0;
    bool progress = false;
  };

  Mesh mesh_;
  Rounds rounds_;
  Oracle oracle_;
  std::vector<Worker> workers_;
};

/// An event that goes to the other worker and back.
const Traffic kThereAndBack{2, 2, {{0, 1}}, {{0, 1, 1, 1}, {1, 2, 0, 1}}};
/// Worker 0 sends more at once than the ring holds; worker 1 may be ahead of what comes.
const Traffic kBurst{2, 1, {{0, 1}, {1, 5}}, {{0, 1, 1, 1}, {0, 1, 1, 2}, {0, 1, 1, 3}}};
/// Both send, one more than fits.
const Traffic kCrossing{2, 1, {{0, 1}, {1, 1}}, {{0, 1, 1, 1}, {1, 1, 0, 2}, {1, 1, 0, 3}}, 1};
/// Round a circle of three.
const Traffic kCircle{3, 1, {{0, 1}}, {{0, 1, 1, 1}, {1, 2, 2, 1}, {2, 3, 0, 1}}};

TEST(ExploredRounds, StayBelowWhatExists) {
  expect_holds("there and back", {.deviations = affordable(3)}, make<Exchange<kThereAndBack>>());
  expect_holds("burst", {.deviations = affordable(3)}, make<Exchange<kBurst>>());
  expect_holds("crossing", {.deviations = affordable(3)}, make<Exchange<kCrossing>>());
}

TEST(ExploredRounds, StayBelowWhatExistsAmongThree) {
  expect_holds("circle of three", {.threads = 3, .deviations = affordable(2)},
               make<Exchange<kCircle>>());
}

TEST(ExploredRounds, NeedTheirOrders) {
  EXPECT_EQ((expect_orders_needed<Exchange<kBurst>>("burst", {})), 8u);
}

/// That the reports are not overwritten too early is one thing that joining orders; that nobody
/// reports before it can see what all others had sent is the other.
TEST(ExploredRounds, ShowWhatWasSentToWhoeverSeesAllJoined) {
  using Case = Exchange<kThereAndBack, Forgotten::nothing, Unwatched>;
  expect_found("there and back, joined relaxed", {}, make<Case>(), "GVT is above",
               [](Operation& operation) {
                 if (Case::kind_of(operation.atomic) == "joined")
                   operation.order = std::memory_order_relaxed;
               });
}

TEST(ExploredRounds, ShowPlantedErrors) {
  const std::string above = "GVT is above";
  expect_found("no flush at join", {}, make<Exchange<kThereAndBack, Forgotten::flush_at_join>>(),
               above);
  expect_found("waiting messages not reported", {},
               make<Exchange<kBurst, Forgotten::waiting_at_join>>(), above);
  expect_found("sends since the join not reported", {},
               make<Exchange<kThereAndBack, Forgotten::sent_since_join>>(), above);
  expect_found("no drain at report", {},
               make<Exchange<kThereAndBack, Forgotten::drain_at_report>>(), above);
}

}  // namespace
}  // namespace orrery::explore
