// SPDX-License-Identifier: Apache-2.0
//
// When the reports of a round say that a failed event commits.
#include "engine/timewarp/gvt.h"

#include <gtest/gtest.h>

namespace orrery::timewarp {
namespace {

GvtReport report(std::int64_t ticks, bool fault) {
  GvtReport report;
  report.lowest = Key::start_of(Time::from_ticks(ticks));
  report.fault_at_lowest = fault;
  return report;
}

bool fault_commits(const GvtReport& a, const GvtReport& b, const GvtReport& c) {
  GvtReport sum;
  for (const GvtReport* one : {&a, &b, &c}) sum.add(*one);
  return sum.fault_at_lowest;
}

TEST(GvtReport, AFaultCommitsIfNothingElseIsAsLow) {
  EXPECT_TRUE(fault_commits(report(5, true), report(6, false), report(7, true)));
  EXPECT_TRUE(fault_commits(report(6, false), report(5, true), report(6, false)));
  EXPECT_FALSE(fault_commits(report(5, true), report(4, false), report(7, true)));
}

TEST(GvtReport, ANoticeOfItsKeyCancelsIt) {
  EXPECT_FALSE(fault_commits(report(5, true), report(5, false), report(6, false)));
  EXPECT_FALSE(fault_commits(report(5, false), report(5, true), report(6, false)));
}

/// Coasting forward can fail on several workers at once. All these faults are noted at GVT.
TEST(GvtReport, FaultsAtOneKeyDoNotHideEachOther) {
  EXPECT_TRUE(fault_commits(report(5, true), report(5, true), report(6, false)));
  EXPECT_FALSE(fault_commits(report(5, true), report(5, true), report(5, false)));
  EXPECT_FALSE(fault_commits(report(5, false), report(5, true), report(5, true)));
}

}  // namespace
}  // namespace orrery::timewarp
