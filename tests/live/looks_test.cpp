// SPDX-License-Identifier: Apache-2.0
//
// A run that is looked at as often as its engine can halt commits what it commits otherwise, on all
// engines and over ranks; and what is seen of it is what is there.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "equality/metered_model.h"
#include "equality/run_ranks.h"
#include "live/board.h"
#include "live/halts.h"
#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

constexpr unsigned kMostLooks = 60;

/// Asks for a look before each time that the engine has the world, and counts what was sent.
class Onlooker final : public RunHalts {
 public:
  Onlooker(const Model& model, const RunOptions& options, RunControl& control,
           RunHalts* others = nullptr)
      : control_(control),
        board_(control, 20),
        halts_(model, options, control, is_asked(options) ? &board_ : nullptr, others),
        asks_(is_asked(options)) {
    control.halts = this;
  }

  Goal next_goal(const World& world) override {
    if (asks_ && asked_ < kMostLooks) {
      ++asked_;
      control_.request_halt(control_.look_at_halt);
    }
    return halts_.next_goal(world);
  }
  void note_hand_over(double seconds) override { halts_.note_hand_over(seconds); }
  bool at_halt(World& world) override {
    const bool goes_on = halts_.at_halt(world);
    const std::shared_ptr<const live::Look> look = asks_ ? board_.view().look : nullptr;
    if (look && look->number > looks_) check(*look, world);
    return goes_on;
  }
  void at_end(RunResult& result) override { halts_.at_end(result); }
  bool moves_the_world() const override { return halts_.moves_the_world(); }

  std::uint64_t looks() const { return looks_; }

 private:
  static bool is_asked(const RunOptions& options) { return options.place.rank == 0; }

  void check(const live::Look& look, World& world) {
    looks_ = look.number;
    EXPECT_EQ(look.map.lps, world.lp_count());
    EXPECT_EQ(look.map.sent.size(), world.lp_count());
    for (LpId id = 0; id < world.lp_count(); ++id) {
      sent_.resize(world.lp_count());
      sent_[id] += look.map.sent[id];
      if (world.is_here(id)) {
        EXPECT_EQ(sent_[id], world.lp(id).kernel.sends) << "LP " << id;
      }
      EXPECT_LT(look.map.owner[id], look.map.owners);
    }
    const std::uint64_t count = look.metrics["plain"]["count"];
    EXPECT_GE(count, recorded_);
    recorded_ = count;
  }

  RunControl& control_;
  live::Board board_;
  live::LookHalts halts_;
  const bool asks_;
  unsigned asked_ = 0;
  std::uint64_t looks_ = 0, recorded_ = 0;
  std::vector<std::uint64_t> sent_;  ///< by LP, in all looks
};

class Looks : public ::testing::TestWithParam<EngineCase> {};

TEST_P(Looks, ChangeNothing) {
  const MeteredModel model({});
  RunOptions options = GetParam().options();
  options.until = model.default_horizon();
  const Outcome expected = run_model(model, "sequential", {});
  RunControl control;
  CollectedRows rows;
  control.rows = &rows;
  Onlooker onlooker(model, options, control);
  const RunResult result =
      run_supervised(*find_engine(GetParam().engine).make(), model, options, control);
  EXPECT_EQ(result.end, RunEnd::completed) << result.fault;
  EXPECT_EQ(result.fingerprint, expected.result.fingerprint);
  EXPECT_EQ(result.committed, expected.result.committed);
  EXPECT_EQ(rows.sorted(), expected.rows);
  EXPECT_GT(onlooker.looks(), 0u);
}

INSTANTIATE_TEST_SUITE_P(, Looks, ::testing::ValuesIn(all_engines()),
                         [](const auto& one) { return one.param.identifier(); });

TEST(LooksOverRanks, ChangeNothing) {
  const auto make = [] {
    return std::make_unique<MeteredModel>(MeteredOptions{.promise = Duration::milliseconds(50)});
  };
  const Outcome expected = run_model(*make(), "sequential", {});
  std::uint64_t all_looks = 0;  // a run on a busy machine may be over before the first look
  for (const char* engine : {"timewarp", "conservative", "auto"}) {
    SCOPED_TRACE(engine);
    RunOptions options;
    options.workers = 2;
    options.bind = false;
    std::atomic<std::uint64_t> fingerprint = 0, looks = 0;
    on_ranks(make, options, 2, {}, transport::RankTransport::kCreditBytes,
             [&](const Model& model, const RunOptions& own, RunControl& control) {
               Onlooker onlooker(model, own, control);
               const RunResult result =
                   run_supervised(*find_engine(engine).make(), model, own, control);
               EXPECT_EQ(result.end, RunEnd::completed) << result.fault;
               if (own.place.rank > 0) return;
               fingerprint = result.fingerprint;
               looks = onlooker.looks();
             });
    EXPECT_EQ(fingerprint, expected.result.fingerprint);
    all_looks += looks;
  }
  EXPECT_GT(all_looks, 0u);
}

/// What else a run halts for.
class Others final : public RunHalts {
 public:
  explicit Others(RunControl& control) : control_(control) {}
  Goal next_goal(const World& world) override {
    const Time next = world.cut.time() < time_ ? time_ : Time::max();
    return {.until = next, .asked = &control_.halt_requested};
  }
  bool at_halt(World& world) override {
    at_time_ += world.cut >= Key::start_of(time_) && at_time_ == 0 ? 1 : 0;
    ++halts;
    return !control_.stop_at_halt;
  }
  void at_end(RunResult&) override { ++ends; }
  bool moves_the_world() const override { return true; }

  unsigned halts = 0, ends = 0;
  unsigned at_time() const { return at_time_; }

 private:
  RunControl& control_;
  const Time time_ = Time::zero() + Duration::seconds(7);
  unsigned at_time_ = 0;
};

class LooksBesideOthers : public ::testing::Test {
 protected:
  LooksBesideOthers() { options_.until = model_.default_horizon(); }
  /// A run for which a halt has been asked before it began.
  RunResult run(std::atomic<bool>& reason) {
    control_.request_halt(reason);
    return run_supervised(*find_engine("sequential").make(), model_, options_, control_);
  }

  const MeteredModel model_{{}};
  RunOptions options_;
  RunControl control_;
  Others others_{control_};
  Onlooker onlooker_{model_, options_, control_, &others_};
};

TEST_F(LooksBesideOthers, HaltThemForTheirOwnReasonsOnly) {
  const RunResult result = run(control_.keep_at_halt);  // with the first look, at once
  EXPECT_EQ(result.end, RunEnd::completed);
  EXPECT_GT(onlooker_.looks(), 2u);
  EXPECT_EQ(others_.halts, 2u);  // when it was asked for, and at its time
  EXPECT_EQ(others_.at_time(), 1u);
  EXPECT_EQ(others_.ends, 1u);
  EXPECT_TRUE(onlooker_.moves_the_world());
}

TEST_F(LooksBesideOthers, EndTheRunWhereTheyWantTo) {
  EXPECT_EQ(run(control_.stop_at_halt).end, RunEnd::interrupted);
  EXPECT_EQ(others_.halts, 1u);
}

/// Where more LPs are than a picture can show.
TEST(LpMaps, PutNeighboursIntoOneCell) {
  MeteredModel model({.nodes = 10'000, .parcels = 1});
  RunOptions options;
  options.until = Time::zero() + Duration::milliseconds(10);
  class FirstLook final : public RunHalts {
   public:
    explicit FirstLook(RunControl& control) : control_(control) { control.halts = this; }
    Goal next_goal(const World&) override { return {.until = Time::from_ticks(1)}; }
    bool at_halt(World& world) override {
      map = live::LpMapper().map(world, 1, nullptr);
      sends = 0;
      for (LpId id = 0; id < world.lp_count(); ++id) sends += world.lp(id).kernel.sends;
      return false;
    }
    void at_end(RunResult&) override {}
    live::LpMap map;
    std::uint64_t sends = 0;

   private:
    RunControl& control_;
  };
  RunControl control;
  FirstLook halts(control);
  run_supervised(*find_engine("sequential").make(), model, options, control);
  EXPECT_EQ(halts.map.lps_a_cell, 3u);
  EXPECT_EQ(halts.map.sent.size(), 3'334u);
  EXPECT_EQ(std::accumulate(halts.map.sent.begin(), halts.map.sent.end(), std::uint64_t{0}),
            halts.sends);
  EXPECT_GT(halts.sends, 0u);
}

}  // namespace
}  // namespace orrery::testing
