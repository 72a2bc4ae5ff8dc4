// SPDX-License-Identifier: Apache-2.0
//
// What LPs of one type learn from each other about kinds of checkpoints: that they find the best
// soon, keep it, follow a change, and pay little for trying.
#include "checkpoint/checkpoint_kind_tuner.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "checkpoint/tuning.h"

namespace orrery::checkpoint {
namespace {

constexpr unsigned kAll = 0b111;

/// LPs that execute events in turns, in costs as given.
class Crowd {
 public:
  using Cost = std::function<std::uint64_t(Kind, std::size_t lp)>;

  Crowd(unsigned candidates, std::size_t lps) : tuner_(candidates, Interval::automatic()) {
    for (std::size_t i = 0; i < lps; ++i) lps_.emplace_back(tuner_);
  }
  /// Returns how many events were executed with each kind.
  std::array<std::uint64_t, 3> execute(std::uint64_t events_each, const Cost& cost) {
    std::array<std::uint64_t, 3> with{};
    for (std::uint64_t i = 0; i < events_each; ++i) {
      for (std::size_t lp = 0; lp < lps_.size(); ++lp) {
        const Kind kind = lps_[lp].kind();
        ++with[static_cast<unsigned>(kind)];
        if (i % lps_[lp].interval() == 0) lps_[lp].add_checkpoint(checkpoint_cost);
        if (lps_[lp].wants_cost()) lps_[lp].add_event(cost(kind, lp));
      }
    }
    return with;
  }
  CheckpointKindTuner& tuner() { return tuner_; }
  Tuning& lp(std::size_t i) { return lps_[i]; }

  std::uint64_t checkpoint_cost = 10;

 private:
  CheckpointKindTuner tuner_;
  std::vector<Tuning> lps_;
};

TEST(CheckpointKindTuner, KeepTheCheapestKind) {
  for (const Kind best : {Kind::image, Kind::delta, Kind::reverse}) {
    for (const std::size_t lps : {1u, 3u, 64u}) {
      Crowd crowd(kAll, lps);
      crowd.execute(20'000 / lps,
                    [&](Kind kind, std::size_t) { return kind == best ? 1000 : 1300; });
      EXPECT_EQ(crowd.tuner().kind(), best) << lps << " LPs";
    }
  }
}

TEST(CheckpointKindTuner, FiftyEventsAnLpAreEnough) {
  Crowd crowd(kAll, 32);
  const auto cost = [](Kind kind, std::size_t) { return kind == Kind::image ? 1000 : 3000; };
  const auto with = crowd.execute(50, cost);
  EXPECT_EQ(crowd.tuner().kind(), Kind::image);
  EXPECT_GT(with[0], 1600u * 6 / 10) << "reverse comes first, until every LP has shown its cost";
  EXPECT_LT(with[1], 100u) << "what is clear takes few events";
}

TEST(CheckpointKindTuner, TryOnlyCandidates) {
  Crowd crowd(0b101, 4);
  const auto with = crowd.execute(
      5000, [](Kind kind, std::size_t) { return kind == Kind::reverse ? 100u : 900u; });
  EXPECT_EQ(with[1], 0u);
  EXPECT_EQ(crowd.tuner().kind(), Kind::reverse);
  EXPECT_LT(with[0], 1000u);
}

TEST(CheckpointKindTuner, FollowAChange) {
  Crowd crowd(0b11, 8);
  crowd.execute(2500, [](Kind kind, std::size_t) { return kind == Kind::image ? 1000 : 1500; });
  EXPECT_EQ(crowd.tuner().kind(), Kind::image);
  crowd.execute(2500, [](Kind kind, std::size_t) { return kind == Kind::image ? 3000 : 1500; });
  EXPECT_EQ(crowd.tuner().kind(), Kind::delta);
}

/// LPs whose events cost a hundred times those of others, and which kind is best must not depend on
/// who took the turns.
TEST(CheckpointKindTuner, CompareAnLpWithItself) {
  std::mt19937 random(3);
  for (const Kind best : {Kind::image, Kind::reverse}) {
    Crowd crowd(0b101, 40);
    crowd.execute(400, [&](Kind kind, std::size_t lp) {
      const std::uint64_t cost = lp % 5 == 0 ? 100'000 : 1000;
      return (kind == best ? cost : cost * 3 / 2) * (50 + random() % 100) / 100;
    });
    EXPECT_EQ(crowd.tuner().kind(), best);
  }
}

TEST(CheckpointKindTuner, TrialsCostLittle) {
  for (const std::uint64_t dear : {1040u, 1300u, 5000u}) {
    for (const std::uint64_t copy : {10u, 20'000u}) {
      Crowd crowd(kAll, 16);
      crowd.checkpoint_cost = copy;
      const auto with = crowd.execute(
          5000, [=](Kind kind, std::size_t) { return kind == Kind::reverse ? 1000 : dear; });
      EXPECT_EQ(crowd.tuner().kind(), Kind::reverse);
      const std::uint64_t tried = with[0] + with[1];
      EXPECT_GT(tried, 16u) << "it does not just stay with the first";
      EXPECT_LT(tried * (dear - 1000), 80'000u * 1000 / 25);
    }
  }
}

TEST(CheckpointKindTuner, CountCheckpointsByTheirInterval) {
  Crowd crowd(0b101, 4);
  crowd.checkpoint_cost = 20'000;  // an image beneath reverse records is rare
  crowd.execute(3000, [](Kind kind, std::size_t) { return kind == Kind::reverse ? 1200 : 1000; });
  EXPECT_GT(crowd.tuner().interval(Kind::image), 20u);
  EXPECT_EQ(crowd.tuner().kind(), Kind::reverse);
}

TEST(CheckpointKindTuner, AnLpMayBeBarredFromAKind) {
  Crowd crowd(0b11, 2);
  crowd.lp(0).exclude(Kind::delta);
  crowd.execute(5000, [](Kind kind, std::size_t) { return kind == Kind::delta ? 1000 : 3000; });
  EXPECT_EQ(crowd.tuner().kind(), Kind::delta);
  EXPECT_EQ(crowd.lp(0).kind(), Kind::image);
  EXPECT_EQ(crowd.lp(1).kind(), Kind::delta);
}

TEST(CheckpointKindTuner, AWorkerOffItsCoreSaysNothing) {
  Crowd crowd(0b101, 4);
  std::uint64_t events = 0;
  crowd.execute(4000, [&](Kind kind, std::size_t) -> std::uint64_t {
    if (++events % 997 == 0) return 100'000'000;
    return kind == Kind::reverse ? 1000 : 1600;
  });
  EXPECT_EQ(crowd.tuner().kind(), Kind::reverse);
}

}  // namespace
}  // namespace orrery::checkpoint
