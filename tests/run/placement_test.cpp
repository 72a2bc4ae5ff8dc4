// SPDX-License-Identifier: Apache-2.0
//
// Where LPs lie: every worker has some, whatever the communication graph says of their loads, and
// nothing is said on standard output.
#include "run/placement.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

/// All report to the last one.
CommunicationGraph star(LpId lps, std::uint32_t weight) {
  CommunicationGraph graph;
  for (LpId id = 0; id + 1 < lps; ++id) graph.connect(id, lps - 1, weight);
  return graph;
}

TEST(Placement, EveryWorkerHasLps) {
  for (const std::uint64_t lps : {5u, 11u, 12u, 40u, 101u, 300u}) {
    const ScriptModel model(lps);
    for (const std::uint32_t weight : {1u, 1000u, 1u << 31}) {
      for (const unsigned workers : {2u, 3u, 4u, 7u, 16u}) {
        if (workers > lps) continue;
        std::vector<std::string> notes;
        ::testing::internal::CaptureStdout();
        const auto owners = place_lps(model, star(static_cast<LpId>(lps), weight), workers, notes);
        EXPECT_EQ(::testing::internal::GetCapturedStdout(), "") << lps << " on " << workers;
        for (unsigned worker = 0; worker < workers; ++worker)
          EXPECT_NE(std::count(owners.begin(), owners.end(), worker), 0)
              << lps << " on " << workers << ", weight " << weight;
      }
    }
  }
}

}  // namespace
}  // namespace orrery::testing
