// SPDX-License-Identifier: Apache-2.0
//
// How workers come to a cut by counting messages (run/rounds/halt_report.h): in every schedule no
// message is in transit when they see that the sums agree, and they do come to see it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "explore/atomics.h"
#include "explore/cell.h"
#include "explore/explore_support.h"
#include "run/rounds/halt_report.h"
#include "transport/mesh.h"
#include "transport/rounds.h"

namespace orrery::explore {
namespace {

enum class Mistake {
  nothing,
  sends_a_round_longer,     ///< a worker stops sending a round after it has seen the wish to halt
  trusts_the_same_round,    ///< the sums of the round that shows the wish count already
  counts_only_what_is_out,  ///< a message that waits for room is not counted as sent
};

using rounds::HaltReport;

/// Each worker sends messages until the workers halt: worker 0 as many as it wants, the others one
/// for each message that they receive.
template <unsigned kWorkers, std::size_t kCapacity, Mistake kMistake = Mistake::nothing>
class Halting : public Scenario {
  using Mesh = transport::Mesh<Cell<int>, Atomics>;
  using Rounds = transport::Rounds<Cell<HaltReport>, Atomics>;

 public:
  Halting() : mesh_(kWorkers, kCapacity), rounds_(kWorkers) {
    for (unsigned i = 0; i < kWorkers; ++i) workers_.emplace_back(*this, i);
    workers_[0].left = 3;
  }
  std::string atomic_name(unsigned number) const override { return std::to_string(number); }
  void run(unsigned thread) override { workers_[thread].run(); }
  void finish() override { require(in_transit_ == 0, "messages are left"); }

 private:
  struct Worker {
    Worker(Halting& in, unsigned number) : all(in), index(number), member(in.rounds_, number) {}

    void run() {
      for (;;) {
        progress = drain();
        if (member.step(*this)) return;
        if (send()) continue;
        all.mesh_.flush(index);
        if (!progress) wait_for_change();
      }
    }
    bool drain() {
      const std::size_t taken = all.mesh_.drain(index, [this](const Cell<int>&) {
        ++left;
        --all.in_transit_;
      });
      received += taken;
      return taken > 0;
    }
    bool send() {
      if (!sends || left == 0) return false;
      --left;
      ++all.in_transit_;
      ++sent;
      all.mesh_.ring(index, (index + 1) % kWorkers).push(1);
      return true;
    }

    // For the member.
    bool due() { return !sends || sent > 0; }
    void join() {
      progress = true;
      all.mesh_.flush(index);
    }
    HaltReport report() {
      progress = true;
      drain();
      HaltReport report;
      report.stop = sent > 0;
      report.sent = sent;
      report.received = received;
      if (kMistake == Mistake::counts_only_what_is_out)
        all.mesh_.for_each_waiting(index, [&report](const Cell<int>&) { --report.sent; });
      return report;
    }
    bool adopt() {
      progress = true;
      HaltReport sum;
      for (unsigned i = 0; i < kWorkers; ++i) sum.add(all.rounds_.report_of(i).get());
      const bool knew = wished;
      wished |= sum.stop;
      if (kMistake == Mistake::sends_a_round_longer ? knew : wished) sends = false;
      const bool trusts = kMistake == Mistake::trusts_the_same_round ? wished : knew;
      if (!trusts || !sum.all_received()) return false;
      require(all.in_transit_ == 0, "a message is in transit at the cut");
      return true;
    }

    Halting& all;
    const unsigned index;
    transport::RoundMember<Rounds> member;
    int left = 0;  ///< messages that it may send
    bool sends = true, wished = false, progress = false;
    std::uint64_t sent = 0, received = 0;
  };

  Mesh mesh_;
  Rounds rounds_;
  std::vector<Worker> workers_;
  int in_transit_ = 0;
};

TEST(ExploredHalts, LeaveNoMessageInTransit) {
  expect_holds("two, room for one", {.deviations = affordable(3)}, make<Halting<2, 1>>());
  expect_holds("two, room for all", {.deviations = affordable(3)}, make<Halting<2, 4>>());
  expect_holds("circle of three", {.threads = 3, .deviations = affordable(2)},
               make<Halting<3, 1>>());
}

TEST(ExploredHalts, ShowPlantedErrors) {
  const std::string what = "a message is in transit at the cut";
  expect_found("sends a round longer", {.deviations = 3},
               make<Halting<2, 1, Mistake::sends_a_round_longer>>(), what);
  expect_found("trusts the same round", {.deviations = 3},
               make<Halting<2, 1, Mistake::trusts_the_same_round>>(), what);
  expect_found("counts only what is out", {.deviations = 3},
               make<Halting<2, 1, Mistake::counts_only_what_is_out>>(), what);
}

}  // namespace
}  // namespace orrery::explore
