// SPDX-License-Identifier: Apache-2.0
//
// The account of a run that halts (for snapshots, or for the live page): it is that of the whole run,
// not of the time since the last halt.
#include "engine/auto/chronicle.h"

#include <gtest/gtest.h>

#include <string>

#include "run/engine.h"

namespace orrery::automatic {
namespace {

class AccountOfHalts : public ::testing::Test {
 protected:
  /// The time between two halts, in which engines have the world, one after the other.
  void go_on(std::initializer_list<std::pair<const Candidate*, double>> slices) {
    Chronicle chronicle;
    for (const auto& [candidate, seconds] : slices)
      chronicle.add(*candidate, {"start", 1000, seconds, seconds});
    chronicle.add_to(course_);
  }

  static OptionList no_options() { return {}; }

  const EngineInfo one_info_{"one", "", nullptr, no_options, {}};
  const EngineInfo other_info_{"other", "", nullptr, no_options, {}};
  const Candidate one_{&one_info_}, other_{&other_info_};
  RunCourse course_;
};

TEST_F(AccountOfHalts, TurnsOfAllTimesCount) {
  const Policy policy({{0, 1}, {1, 1}});
  go_on({{&one_, 3}});
  go_on({{&one_, 1}, {&other_, 2}});
  go_on({{&other_, 5}});
  EXPECT_EQ(course_.hand_overs, 1);
  EXPECT_EQ(account_of(course_, &policy, false).find("one for 4.0 s, then other for 7.0 s"), 0)
      << account_of(course_, &policy, false);
}

TEST_F(AccountOfHalts, AnotherEngineAfterAHaltIsAHandOver) {
  go_on({{&one_, 1}});
  go_on({{&other_, 1}});
  EXPECT_EQ(account_of(course_, nullptr, true),
            "the world changed hands 1 times (--hand-over-every)");
}

}  // namespace
}  // namespace orrery::automatic
