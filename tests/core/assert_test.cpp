// SPDX-License-Identifier: Apache-2.0
//
// Invariants: where they are on, a violation says what had to hold and ends the process; where they
// are off, they cost nothing, not even the evaluation of the condition.
#include "core/assert.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace orrery {
namespace {

TEST(AssertionDeathTest, NamesWhatHadToHoldAndWhere) {
  if constexpr (!kAssertions) GTEST_SKIP() << "assertions are compiled away in this build";
  [[maybe_unused]] const int gvt = 4;
  EXPECT_EXIT(ORRERY_ASSERT(gvt == 5, "GVT never goes back"), ::testing::KilledBySignal(SIGABRT),
              "internal error at .*assert_test.cpp:[0-9]+: it should hold that GVT never goes back "
              "\\(gvt == 5\\)");
}

TEST(Assertion, IsEvaluatedOnceWhereItIsOnAndNeverWhereItIsOff) {
  int looks = 0;
  ORRERY_ASSERT(++looks > 0, "the condition is looked at");
  EXPECT_EQ(looks, kAssertions ? 1 : 0);
}

// The text has a bound, and a long one is cut instead of overrunning it.
TEST(AssertionDeathTest, CutsALongText) {
  const std::string what(4096, 'x');
  EXPECT_EXIT(detail::assertion_failed("condition", what.c_str(), "file.cpp", 7),
              ::testing::KilledBySignal(SIGABRT),
              "internal error at file.cpp:7: it should hold that xxx");
}

}  // namespace
}  // namespace orrery
