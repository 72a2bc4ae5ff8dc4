// SPDX-License-Identifier: Apache-2.0
#include "run/loop/look_interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

namespace orrery {
namespace {

TEST(LookInterval, GrowsWhileEventsAreShort) {
  LookInterval interval;
  std::uint64_t most = 0;  // at any moment the system may take the processor away
  for (int i = 0; i < 200; ++i) {
    interval.look();
    most = std::max(most, interval.events());
  }
  EXPECT_EQ(most, 4096u);
}

TEST(LookInterval, ShrinksToOneWhileEventsAreLong) {
  LookInterval interval;
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    interval.look();
  }
  EXPECT_EQ(interval.events(), 1u);
}

}  // namespace
}  // namespace orrery
