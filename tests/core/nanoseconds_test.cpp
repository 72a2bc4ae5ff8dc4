// SPDX-License-Identifier: Apache-2.0
//
// Ticks as nanoseconds: exact where a tick is a whole number of nanoseconds or a whole part of one,
// rounded down elsewhere, and bounded.
#include "core/nanoseconds.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace orrery {
namespace {

constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

TEST(Nanoseconds, AreExactForWholeTicks) {
  EXPECT_EQ(Nanoseconds(1e-9).of(kLast), static_cast<std::uint64_t>(kLast));
  EXPECT_EQ(Nanoseconds(1e-6).of(9'007'199'254'740'993), 9'007'199'254'740'993'000u);
  EXPECT_EQ(Nanoseconds(1).of(18'446'744'073), 18'446'744'073'000'000'000u);
  EXPECT_EQ(Nanoseconds(60).of(0), 0u);
}

TEST(Nanoseconds, AreRoundedDownForShorterTicks) {
  EXPECT_EQ(Nanoseconds(1e-12).of(1999), 1u);
  EXPECT_EQ(Nanoseconds(1e-12).of(kLast), static_cast<std::uint64_t>(kLast) / 1000);
  EXPECT_EQ(Nanoseconds(1e-15).of(999'999), 0u);
  EXPECT_EQ(Nanoseconds(0.25e-9).of(1003), 250u);
}

TEST(Nanoseconds, AreCloseForOtherTicks) {
  EXPECT_EQ(Nanoseconds(1.5e-9).of(3), 4u);
  EXPECT_NEAR(static_cast<double>(Nanoseconds(1.0 / 3).of(3000)), 1e12, 1);
}

TEST(Nanoseconds, AreBounded) {
  EXPECT_EQ(Nanoseconds(1).of(18'446'744'074), kMost);
  EXPECT_EQ(Nanoseconds(1e300).of(1), kMost);
  EXPECT_EQ(Nanoseconds(1.0 / 3).of(kLast), kMost);
  EXPECT_EQ(Nanoseconds(1e-300).of(kLast), 0u);
}

}  // namespace
}  // namespace orrery
