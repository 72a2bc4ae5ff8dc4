// SPDX-License-Identifier: Apache-2.0
//
// The map between simulation time and a host's time: exact, monotone, and never early.
#include "../../models/lab/host_clock.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "orrery/random.h"

namespace orrery::lab::testing {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kPpm = HostClock::kParts / 1'000'000, kYear = 31'557'600'000'000'000;
constexpr std::int64_t kMostTime = std::numeric_limits<std::int64_t>::max();

/// Whether the host's time `host` is at or after the instant `simulation`, by exact arithmetic.
bool is_at_or_after(std::int64_t host, std::int64_t simulation, std::int64_t drift) {
  return Wide{host} * HostClock::kParts >= Wide{simulation} * (HostClock::kParts + drift);
}

bool is_after(std::int64_t host, std::int64_t simulation, std::int64_t drift) {
  return Wide{host} * HostClock::kParts > Wide{simulation} * (HostClock::kParts + drift);
}

void expect_right(std::int64_t drift, std::int64_t time) {
  const HostClock clock(drift);
  const std::int64_t host = clock.to_host(time);
  EXPECT_TRUE(is_at_or_after(host, time, drift)) << drift << " " << time;
  EXPECT_TRUE(host == 0 || !is_at_or_after(host - 1, time, drift)) << drift << " " << time;
  const std::int64_t simulation = clock.to_simulation(time);
  EXPECT_FALSE(is_after(time, simulation, drift)) << drift << " " << time;
  EXPECT_TRUE(time == 0 || is_after(time, simulation - 1, drift)) << drift << " " << time;
  // There and back is never early, and late by less than a step of either clock.
  EXPECT_GE(clock.to_simulation(host), time);
  EXPECT_LE(clock.to_simulation(host), time + 1 + (drift < 0 ? 1 : 0));
  // What happens before a time ends right before it.
  const std::int64_t end = clock.host_before(time);
  EXPECT_GE(clock.to_simulation(end), time);
  EXPECT_TRUE(end == 0 || clock.to_simulation(end - 1) < time) << drift << " " << time;
  EXPECT_LE(end, host);
}

TEST(LabHostClock, WithoutDriftItIsTheSimulations) {
  const HostClock clock;
  for (const std::int64_t time : {std::int64_t{0}, std::int64_t{1}, kYear, kMostTime - 1}) {
    EXPECT_EQ(clock.to_host(time), time);
    EXPECT_EQ(clock.to_simulation(time), time);
    EXPECT_EQ(clock.host_before(time), time);
  }
}

TEST(LabHostClock, DriftsByWholeNanoseconds) {
  const HostClock fast(20 * kPpm), slow(-100'000 * kPpm);
  EXPECT_EQ(fast.to_host(1'000'000'000), 1'000'020'000);
  EXPECT_EQ(fast.to_host(1'000'000'001), 1'000'020'002);  // 1,000,020,001.00002
  EXPECT_EQ(fast.to_simulation(1'000'020'000), 1'000'000'000);
  EXPECT_EQ(fast.host_before(1'000'000'000), 1'000'019'999);  // its instant: 999,999,999.00002
  EXPECT_EQ(slow.to_host(1'000'000'000), 900'000'000);
  EXPECT_EQ(slow.to_simulation(9), 10);
  EXPECT_EQ(slow.to_simulation(8), 9);                            // 8.888...
  EXPECT_EQ(slow.host_before(10), 9);                             // the host's 9 is 10
  EXPECT_EQ(HostClock(1000).to_host(kYear), kYear + 31'557'600);  // 1e-9 in a year
  EXPECT_EQ(HostClock(-1).to_host(kYear), kYear - 31'557);        // 1e-12: 31,557.6 ns
}

TEST(LabHostClock, NeverStaysNever) {
  for (const std::int64_t drift : {0 * kPpm, 20 * kPpm, -20 * kPpm, HostClock::kMostDrift}) {
    const HostClock clock(drift);
    EXPECT_EQ(clock.to_host(HostClock::kNever), HostClock::kNever);
    EXPECT_EQ(clock.to_simulation(HostClock::kNever), HostClock::kNever);
    EXPECT_EQ(clock.host_before(HostClock::kNever), HostClock::kNever);
  }
  EXPECT_EQ(HostClock(kPpm).to_host(kMostTime - 1), HostClock::kNever);
  EXPECT_EQ(HostClock(-kPpm).to_simulation(kMostTime - 1), HostClock::kNever);
  EXPECT_LT(HostClock(-kPpm).to_host(kMostTime - 1), kMostTime - 1);
}

TEST(LabHostClock, IsExactAtTheLimits) {
  for (const std::int64_t drift :
       {-HostClock::kMostDrift, -20 * kPpm, std::int64_t{-1000}, std::int64_t{-1}, std::int64_t{1},
        std::int64_t{1000}, 20 * kPpm, HostClock::kMostDrift})
    for (const std::int64_t near :
         {std::int64_t{0}, std::int64_t{1'000'000'000}, HostClock::kParts, kYear, 200 * kYear})
      for (std::int64_t time = near < 20 ? 0 : near - 20; time < near + 20; ++time)
        expect_right(drift, time);
}

TEST(LabHostClock, IsExactAndMonotoneForRandomDriftsAndTimes) {
  Random random(7, 1);
  for (int round = 0; round < 20'000; ++round) {
    const std::uint64_t most_drift = std::uint64_t{1} << random.below(37);  // up to 13.7 %
    std::int64_t drift =
        static_cast<std::int64_t>(random.below(most_drift)) % HostClock::kMostDrift;
    if (random.below(2) == 0) drift = -drift;
    const std::int64_t time =
        static_cast<std::int64_t>(random.below(std::uint64_t{1} << random.below(63)));
    expect_right(drift, time);
    const HostClock clock(drift);
    const std::int64_t later = time + 1 + static_cast<std::int64_t>(random.below(5));
    EXPECT_LE(clock.to_host(time), clock.to_host(later));
    EXPECT_LE(clock.to_simulation(time), clock.to_simulation(later));
    EXPECT_LE(clock.host_before(time), clock.host_before(later));
  }
}

}  // namespace
}  // namespace orrery::lab::testing
