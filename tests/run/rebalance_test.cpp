// SPDX-License-Identifier: Apache-2.0
//
// New owners from measured loads: even, near the old ones, and in one piece where they can be.
#include "run/world/rebalance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "orrery/orrery.h"
#include "run/world/world.h"

namespace orrery {
namespace {

using Owners = std::vector<std::uint16_t>;

/// A torus, or LPs that know nobody.
class Field final : public Model {
 public:
  Field(LpId width, LpId height, bool connected)
      : width_(width), height_(height), connected_(connected) {}
  std::uint64_t lp_count() const override { return std::uint64_t{width_} * height_; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override { return nullptr; }
  void communication(CommunicationGraph& graph) const override {
    if (!connected_) return;
    for (LpId y = 0; y < height_; ++y)
      for (LpId x = 0; x < width_; ++x) {
        graph.connect(y * width_ + x, y * width_ + (x + 1) % width_);
        graph.connect(y * width_ + x, (y + 1) % height_ * width_ + x);
      }
  }

 private:
  const LpId width_, height_;
  const bool connected_;
};

constexpr std::uint16_t kElsewhere = World::kElsewhere;

std::vector<double> sums(const Owners& owners, const std::vector<float>& loads, unsigned workers) {
  std::vector<double> result(workers);
  for (std::size_t id = 0; id < owners.size(); ++id)
    if (owners[id] != kElsewhere) result[owners[id]] += static_cast<double>(loads[id]);
  return result;
}

Owners halves(std::size_t lps, unsigned workers) {
  Owners owners(lps);
  for (std::size_t id = 0; id < lps; ++id)
    owners[id] = static_cast<std::uint16_t>(id * workers / lps);
  return owners;
}

std::uint64_t links_cut(const Model& model, const Owners& owners) {
  CommunicationGraph graph;
  model.communication(graph);
  std::uint64_t cut = 0;
  for (const auto& edge : graph.edges()) cut += owners[edge.from] != owners[edge.to];
  return cut;
}

std::size_t moved(const Owners& a, const Owners& b) {
  std::size_t count = 0;
  for (std::size_t id = 0; id < a.size(); ++id) count += a[id] != b[id];
  return count;
}

TEST(Rebalance, BlocksStayBlocks) {
  const Field model(1000, 1, false);
  std::vector<float> loads(1000, 1);
  for (std::size_t id = 0; id < 125; ++id) loads[id] = 10;
  for (const unsigned workers : {2u, 3u, 7u}) {
    const std::vector<double> shares(workers, 1.0 / workers);
    const Owners owners = rebalance(model, halves(1000, workers), loads, shares);
    EXPECT_TRUE(std::is_sorted(owners.begin(), owners.end()));
    for (const double sum : sums(owners, loads, workers))
      EXPECT_NEAR(sum, 2125.0 / workers, 10) << workers;
  }
}

TEST(Rebalance, LeavesEvenBlocks) {
  const Field model(64, 1, false);
  const Owners owners = halves(64, 4);
  EXPECT_EQ(rebalance(model, owners, std::vector<float>(64, 3), std::vector<double>(4, 0.25)),
            owners);
}

TEST(Rebalance, GivesEachItsShare) {
  const Field model(900, 1, false);
  const std::vector<float> loads(900, 1);
  const Owners owners = rebalance(model, halves(900, 3), loads, {0.25, 0.25, 0.5});
  EXPECT_EQ(sums(owners, loads, 3), (std::vector<double>{225, 225, 450}));
}

TEST(Rebalance, MovesTheBorderOfAGraph) {
  const Field model(40, 40, true);
  std::vector<float> loads(1600, 1);
  for (std::size_t id = 0; id < 200; ++id) loads[id] = 10;
  const Owners before = halves(1600, 2);
  const Owners owners = rebalance(model, before, loads, {0.5, 0.5});
  for (const double sum : sums(owners, loads, 2)) EXPECT_NEAR(sum, 1700, 10);
  EXPECT_LE(links_cut(model, owners), 3 * links_cut(model, before) / 2);
  EXPECT_LT(moved(before, owners), 600u);
  for (std::size_t id = 0; id < owners.size(); ++id) {
    if (before[id] == 0) continue;
    ASSERT_EQ(owners[id], 1) << "from the one that has too much only";
  }
}

TEST(Rebalance, OfAGraphWithManyWorkers) {
  const Field model(40, 40, true);
  std::vector<float> loads(1600);
  for (std::size_t id = 0; id < loads.size(); ++id) loads[id] = static_cast<float>(1 + id * 7 % 5);
  for (std::size_t id = 300; id < 500; ++id) loads[id] *= 6;
  const double total = std::accumulate(loads.begin(), loads.end(), 0.0);
  const Owners owners = rebalance(model, halves(1600, 8), loads, std::vector<double>(8, 0.125));
  for (const double sum : sums(owners, loads, 8)) EXPECT_NEAR(sum, total / 8, 40);
}

/// Whoever has none at all has no neighbours either.
TEST(Rebalance, GivesLpsToAWorkerWithoutAny) {
  const Field model(20, 20, true);
  const std::vector<float> loads(400, 1);
  const Owners owners = rebalance(model, Owners(400, 0), loads, {0.5, 0.5});
  EXPECT_EQ(sums(owners, loads, 2), (std::vector<double>{200, 200}));
  EXPECT_LE(links_cut(model, owners), 80u);
}

/// What other ranks have stays there, and takes no part.
TEST(Rebalance, LeavesOtherRanksAlone) {
  for (const bool connected : {false, true}) {
    const Field model(40, 40, connected);
    std::vector<float> loads(1600, 1);
    Owners before = halves(1600, 2);
    for (std::size_t id = 0; id < loads.size(); ++id) {
      if (id % 40 < 20) continue;
      before[id] = kElsewhere;
      loads[id] = 0;
    }
    for (std::size_t id = 0; id < 400; ++id) loads[id] *= 5;
    const Owners owners = rebalance(model, before, loads, {0.5, 0.5});
    for (const double sum : sums(owners, loads, 2)) EXPECT_NEAR(sum, 800, 10) << connected;
    for (std::size_t id = 0; id < loads.size(); ++id)
      ASSERT_EQ(owners[id] == kElsewhere, before[id] == kElsewhere) << id;
  }
}

TEST(Rebalance, ChangesNothingWithoutLoads) {
  const Field model(20, 20, true);
  const Owners owners = halves(400, 2);
  EXPECT_EQ(rebalance(model, owners, std::vector<float>(400, 0), {0.5, 0.5}), owners);
}

/// One LP that is heavier than a share stays alone as far as can be.
TEST(Rebalance, BearsAnLpThatIsTooHeavy) {
  for (const bool connected : {false, true}) {
    const Field model(10, 10, connected);
    std::vector<float> loads(100, 1);
    loads[30] = 500;
    const Owners owners = rebalance(model, halves(100, 2), loads, {0.5, 0.5});
    EXPECT_LE(sums(owners, loads, 2)[0], 531);
  }
}

}  // namespace
}  // namespace orrery
