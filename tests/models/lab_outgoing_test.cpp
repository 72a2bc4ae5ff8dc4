// SPDX-License-Identifier: Apache-2.0
//
// A direction of a link: when frames arrive, and which do not.
#include "../../models/lab/outgoing.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "models/lab_times.h"

namespace orrery::lab::testing {
namespace {

using Fate = Outgoing::Fate;

constexpr std::size_t kBytes = 1250;  // 10,000 bits: 10 ms at 1 Mbit/s

Wire wire(std::int64_t delay_ns, std::uint64_t bits_per_s) {
  Wire one;
  Phase phase;
  phase.delay_ns = delay_ns;
  phase.bits_per_s = bits_per_s;
  one.phases = {phase};
  return one;
}

TEST(LabOutgoing, FramesLeaveOneAfterTheOther) {
  const Wire one = wire(5 * kMs, 1'000'000);
  Outgoing port(one, 1);
  for (int i = 1; i <= 3; ++i) {
    const auto passage = port.send(0, kBytes);
    EXPECT_EQ(passage.arrival_ns, (5 + 10 * i) * kMs);
    EXPECT_EQ(passage.free_ns, 10 * i * kMs) << "the sender keeps what waits";
  }
  EXPECT_EQ(port.send(100 * kMs, kBytes).arrival_ns, 115 * kMs);
}

TEST(LabOutgoing, WithoutARateNothingWaits) {
  const Wire one = wire(5 * kMs, 0);
  Outgoing port(one, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(port.send(7, kBytes).arrival_ns, 7 + 5 * kMs);
}

TEST(LabOutgoing, AFrameThatIsTooLongIsDropped) {
  Wire one = wire(5 * kMs, 1'000'000);
  for (const std::size_t mtu : {std::size_t{1500}, std::size_t{9000}}) {
    one.mtu = mtu;
    Outgoing port(one, 1);
    EXPECT_EQ(port.send(0, mtu + 19).fate, Fate::too_long);
    EXPECT_EQ(port.send(0, mtu + 18).arrival_ns,
              static_cast<std::int64_t>(mtu + 18) * 8000 + 5 * kMs)
        << "with a tag it passes, and the other took no time";
  }
}

TEST(LabOutgoing, AQueueDropsWhatHasNoRoom) {
  Wire one = wire(5 * kMs, 1'000'000);
  one.queue = 2;
  Outgoing port(one, 1);
  std::vector<Fate> fates;
  for (int i = 0; i < 5; ++i) {
    const auto passage = port.send(0, kBytes);
    EXPECT_EQ(passage.free_ns, 0) << "the queue has copied it";
    fates.push_back(passage.fate);
  }
  EXPECT_EQ(fates, (std::vector{Fate::arrives, Fate::arrives, Fate::arrives, Fate::queue_full,
                                Fate::queue_full}));
  const auto later = port.send(10 * kMs, kBytes);
  EXPECT_EQ(later.fate, Fate::arrives) << "one of those that waited has begun to leave";
  EXPECT_EQ(later.arrival_ns, 45 * kMs);
  EXPECT_EQ(port.send(10 * kMs, kBytes).fate, Fate::queue_full);
}

TEST(LabOutgoing, JitterDoesNotReorderUnlessItMay) {
  Wire one = wire(5 * kMs, 0);
  one.phases[0].jitter_ns = 3 * kMs;
  for (const bool reorders : {false, true}) {
    one.reorders = reorders;
    for (const auto shape :
         {Phase::Jitter::uniform, Phase::Jitter::exponential, Phase::Jitter::normal}) {
      one.phases[0].jitter = shape;
      Outgoing port(one, 1);
      std::int64_t last = 0, overtaken = 0;
      double sum = 0;
      constexpr int kFrames = 10'000;
      for (int i = 0; i < kFrames; ++i) {
        const std::int64_t time = i * kMs / 10, arrival = port.send(time, kBytes).arrival_ns;
        EXPECT_GE(arrival, time + 5 * kMs);
        overtaken += arrival < last ? 1 : 0;
        last = arrival;
        sum += static_cast<double>(arrival - time - 5 * kMs);
      }
      EXPECT_EQ(overtaken > 0, reorders);
      if (!reorders) continue;
      const double mean = sum / kFrames / (3 * kMs);
      const double expected = shape == Phase::Jitter::uniform       ? 0.5
                              : shape == Phase::Jitter::exponential ? 1
                                                                    : 0.7979;  // sqrt(2 / pi)
      EXPECT_NEAR(mean, expected, 0.03);
    }
  }
}

TEST(LabOutgoing, LosesAndSpoilsAsOftenAsItSays) {
  Wire one = wire(5 * kMs, 0);
  one.phases[0].loss = 0.2;
  one.phases[0].corruption = 0.1;
  Outgoing port(one, 1);
  int lost = 0, corrupted = 0;
  constexpr int kFrames = 20'000;
  for (int i = 0; i < kFrames; ++i) {
    const auto passage = port.send(i, kBytes);
    lost += passage.fate == Fate::lost ? 1 : 0;
    corrupted += passage.fate == Fate::corrupted ? 1 : 0;
    EXPECT_LT(passage.flipped_bit, kBytes * 8);
  }
  EXPECT_NEAR(lost, 0.2 * kFrames, 300);
  EXPECT_NEAR(corrupted, 0.08 * kFrames, 200);
}

TEST(LabOutgoing, ALinkThatGoesDownLosesWhatIsOnIt) {
  Wire one = wire(5 * kMs, 0);
  Phase down = one.phases[0], up = down;
  down.up = false;
  down.from_ns = 100 * kMs;
  up.from_ns = 200 * kMs;
  up.delay_ns = kMs;
  one.phases.push_back(down);
  one.phases.push_back(up);
  Outgoing port(one, 1);
  EXPECT_EQ(port.send(94 * kMs, kBytes).fate, Fate::arrives);
  EXPECT_EQ(port.send(96 * kMs, kBytes).fate, Fate::link_down) << "on its way";
  EXPECT_EQ(port.send(100 * kMs, kBytes).fate, Fate::link_down);
  EXPECT_EQ(port.send(199 * kMs, kBytes).fate, Fate::link_down);
  const auto passage = port.send(200 * kMs, kBytes);
  EXPECT_EQ(passage.fate, Fate::arrives);
  EXPECT_EQ(passage.arrival_ns, 201 * kMs);
}

}  // namespace
}  // namespace orrery::lab::testing
