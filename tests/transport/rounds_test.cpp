// SPDX-License-Identifier: Apache-2.0
//
// Rounds of GVT: their steps by hand, and a small simulation on several threads whose lower bound
// they compute. All interleavings of small cases are in tests/explore.
#include "transport/rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <queue>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "transport/mesh.h"

namespace orrery::transport {
namespace {

/// Notes what a member is asked for.
struct Script {
  Rounds<int>& rounds;
  int value;
  bool wants = false, ends = false;
  std::string calls = {};
  int sum = 0;

  bool due() { return wants; }
  void join() { calls += "join "; }
  int report() {
    calls += "report ";
    return value;
  }
  bool adopt() {
    calls += "adopt ";
    sum = 0;
    for (unsigned i = 0; i < rounds.workers(); ++i) sum += rounds.report_of(i);
    return ends;
  }
};

TEST(Rounds, GoOnAsFarAsTheOthersAllow) {
  Rounds<int> rounds(2);
  RoundMember<Rounds<int>> first(rounds, 0), second(rounds, 1);
  Script one{rounds, 1}, two{rounds, 20};
  EXPECT_FALSE(first.step(one));
  EXPECT_EQ(one.calls, "") << "nobody wants a round";
  one.wants = true;
  EXPECT_FALSE(first.step(one));
  EXPECT_EQ(one.calls, "join ");
  EXPECT_FALSE(first.step(one));
  EXPECT_EQ(one.calls, "join ") << "the other has not joined";
  EXPECT_FALSE(second.step(two));
  EXPECT_EQ(two.calls, "join report ") << "a round that was started is joined by all";
  one.wants = false;
  EXPECT_FALSE(first.step(one));
  EXPECT_EQ(one.calls, "join report adopt ");
  EXPECT_EQ(one.sum, 21);
  EXPECT_FALSE(second.step(two));
  EXPECT_EQ(two.calls, "join report adopt ");
  EXPECT_EQ(two.sum, 21);
  EXPECT_EQ(first.round(), 1u);
  EXPECT_EQ(rounds.round(), 1u);
}

TEST(Rounds, EndWhereAdoptSaysSo) {
  Rounds<int> rounds(1);
  RoundMember<Rounds<int>> member(rounds, 0);
  Script script{rounds, 7, true, true};
  EXPECT_TRUE(member.step(script));
  EXPECT_EQ(script.calls, "join report adopt ");
}

TEST(Rounds, StartOnceHoweverManyWantThem) {
  Rounds<int> rounds(2);
  rounds.start(0);
  rounds.start(0);
  EXPECT_EQ(rounds.round(), 1u);
}

/// A worker of a simulation without LPs: events are times, and executing one sends one to somebody,
/// at a later time.
struct Report {
  std::int64_t lowest = INT64_MAX;
  std::uint64_t executed = 0;
};

class Simulator {
 public:
  static constexpr std::int64_t kUntil = 20'000;

  Simulator(Mesh<std::int64_t>& mesh, Rounds<Report>& rounds, unsigned index)
      : mesh_(mesh), rounds_(rounds), member_(rounds, index), index_(index), random_(index + 1) {
    for (int i = 0; i < 4; ++i) pending_.push(i);
  }

  void run() {
    while (!member_.step(*this)) {
      drain();
      for (int i = 0; i < 16 && !pending_.empty(); ++i) execute();
      mesh_.flush(index_);
      if (pending_.empty()) std::this_thread::yield();
    }
    EXPECT_TRUE(pending_.empty());
  }

  bool due() { return executed_ - adopted_executed_ > 64 || pending_.empty(); }
  void join() {
    mesh_.flush(index_);
    sent_lowest_ = INT64_MAX;
    mesh_.for_each_waiting(
        index_, [this](std::int64_t time) { sent_lowest_ = std::min(sent_lowest_, time); });
  }
  Report report() {
    drain();
    return {std::min(sent_lowest_, pending_.empty() ? INT64_MAX : pending_.top()), executed_};
  }
  bool adopt() {
    Report sum;
    for (unsigned i = 0; i < rounds_.workers(); ++i) {
      sum.lowest = std::min(sum.lowest, rounds_.report_of(i).lowest);
      sum.executed += rounds_.report_of(i).executed;
    }
    EXPECT_GE(sum.lowest, gvt_);
    gvt_ = sum.lowest;
    adopted_executed_ = executed_;
    adopted_.push_back(sum.executed);
    if (!pending_.empty()) {
      EXPECT_GE(pending_.top(), gvt_);
    }
    return gvt_ == INT64_MAX;
  }

  const std::vector<std::uint64_t>& adopted() const { return adopted_; }

 private:
  void drain() {
    mesh_.drain(index_, [this](std::int64_t time) {
      EXPECT_GE(time, gvt_);
      pending_.push(time);
    });
  }
  void execute() {
    const std::int64_t time = pending_.top() + 1 + static_cast<std::int64_t>(random_() % 8);
    pending_.pop();
    ++executed_;
    if (time >= kUntil) return;
    const auto to = static_cast<unsigned>(random_() % mesh_.workers());
    if (to == index_) return pending_.push(time);
    sent_lowest_ = std::min(sent_lowest_, time);
    mesh_.ring(index_, to).push(time);
  }

  Mesh<std::int64_t>& mesh_;
  Rounds<Report>& rounds_;
  RoundMember<Rounds<Report>> member_;
  const unsigned index_;
  std::minstd_rand random_;
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> pending_;
  std::int64_t sent_lowest_ = INT64_MAX, gvt_ = 0;
  std::uint64_t executed_ = 0, adopted_executed_ = 0;
  std::vector<std::uint64_t> adopted_;
};

TEST(Rounds, BoundWhatThreadsStillSend) {
  for (const std::size_t capacity : {1, 64}) {
    constexpr unsigned kWorkers = 3;
    Mesh<std::int64_t> mesh(kWorkers, capacity);
    Rounds<Report> rounds(kWorkers);
    std::vector<Simulator> simulators;
    for (unsigned i = 0; i < kWorkers; ++i) simulators.emplace_back(mesh, rounds, i);
    std::vector<std::thread> threads;
    for (Simulator& simulator : simulators) threads.emplace_back([&simulator] { simulator.run(); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(simulators[0].adopted().size(), 1u);
    for (const Simulator& simulator : simulators)
      EXPECT_EQ(simulator.adopted(), simulators[0].adopted()) << "the same sums on all workers";
  }
}

}  // namespace
}  // namespace orrery::transport
