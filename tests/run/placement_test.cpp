// SPDX-License-Identifier: Apache-2.0
//
// Where LPs lie: every worker has some, whatever the communication graph says of their loads, and
// nothing is said on standard output.
#include "run/world/placement.h"

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

/// As the hosts of a radio channel are: half of all events are the channel's.
TEST(Placement, DividesAStarWhoseCentreHasMuchToDo) {
  const ScriptModel model(65);
  CommunicationGraph graph;
  for (LpId id = 0; id < 64; ++id) {
    graph.connect(id, 64, Duration::from_ticks(50'000));
    graph.connect(64, id, Duration::from_ticks(50'000));
  }
  for (const unsigned workers : {2u, 3u, 4u}) {
    std::vector<std::string> notes;
    place_lps(model, graph, workers, notes, CutRule::long_delays);
    EXPECT_TRUE(notes.empty()) << workers << ": " << notes.front();
  }
}

/// A ring of groups: within a group without delay, between groups with a short or a long one.
class Groups final : public Model {
 public:
  static constexpr LpId kGroups = 16, kLps = 10;
  std::uint64_t lp_count() const override { return kGroups * kLps; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override { return nullptr; }
  Time default_horizon() const override { return Time::zero() + Duration::seconds(1); }
  void communication(CommunicationGraph& graph) const override {
    graph.complete();
    for (LpId id = 0; id < lp_count(); ++id) {
      const LpId group = id % kGroups, next = (id + kGroups) % (kGroups * kLps);
      graph.connect(id, next, Duration::zero());
      const auto ticks = group % 8 == 7 ? 1'000'000 : 1;
      if (id < kGroups) graph.connect(id, (group + 1) % kGroups, Duration::from_ticks(ticks));
    }
  }
};

TEST(Placement, KeepsClustersTogetherAndCutsLongDelays) {
  const Groups model;
  CommunicationGraph graph;
  model.communication(graph);
  std::vector<std::string> notes;
  const auto owners = place_lps(model, graph, 2, notes, CutRule::long_delays);
  EXPECT_TRUE(notes.empty());
  for (LpId id = 0; id < model.lp_count(); ++id)
    EXPECT_EQ(owners[id], owners[id % Groups::kGroups]) << id;
  for (LpId group = 0; group < Groups::kGroups; ++group)
    EXPECT_EQ(owners[group] != owners[(group + 1) % Groups::kGroups], group % 8 == 7) << group;
}

}  // namespace
}  // namespace orrery::testing
