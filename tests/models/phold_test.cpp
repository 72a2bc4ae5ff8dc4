// SPDX-License-Identifier: Apache-2.0
//
// PHOLD: which LPs are heavy, and that it changes nothing but what events cost.
#include <gtest/gtest.h>

#include "models/simulation.h"
#include "orrery/error.h"

namespace orrery::testing {
namespace {

TEST(Phold, HeavyLpsCostMoreAndDoNothingElse) {
  const Settings plain = {{"lps", "64"}, {"payload", "8"}, {"work", "3"}};
  const Simulation even("phold", plain, Duration::seconds(20));
  const Simulation uneven("phold", with(plain, {{"heavy", "0.125"}, {"heavy_factor", "50"}}),
                          Duration::seconds(20));
  EXPECT_GT(even.outcome().result.committed, 1000u);
  EXPECT_EQ(uneven.outcome().result.committed, even.outcome().result.committed);
  EXPECT_EQ(uneven.outcome().result.fingerprint, even.outcome().result.fingerprint);
}

TEST(Phold, HeavyMeansNothingWithoutWork) {
  EXPECT_THROW(prepared_model("phold", {{"heavy", "0.5"}}), UsageError);
  EXPECT_NO_THROW(prepared_model("phold", {{"heavy", "0.5"}, {"work", "1"}}));
}

}  // namespace
}  // namespace orrery::testing
