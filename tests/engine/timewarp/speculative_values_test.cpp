// SPDX-License-Identifier: Apache-2.0
//
// Values that may be undone, against a list for each LP that is kept the plain way.
#include "engine/timewarp/speculative_values.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "orrery/model.h"

namespace orrery::timewarp {
namespace {

class Counted final : public Model {
 public:
  std::uint64_t lp_count() const override { return 1; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override { return nullptr; }
  Metric kept{*this, "kept", "", "", Keep::histogram};
};

Key start_at(std::int64_t ticks) {
  return Key::start_of(Time::from_ticks(ticks));
}

/// Appends, rollbacks and commits in any order, of LPs that come and go, so that entries are used
/// again and the table of LPs grows.
TEST(SpeculativeValues, AreWhatWasNotUndone) {
  const Counted model;
  std::mt19937_64 random(1);
  SpeculativeValues values;
  MergeableStatistics mergeable_statistics(model), expected(model);
  std::map<LpId, std::vector<std::pair<std::int64_t, double>>> lists;
  std::int64_t gvt = 0, now = 0;
  for (int step = 0; step < 200'000; ++step) {
    const auto lp = static_cast<LpId>(random() % (step < 100'000 ? 20 : 3000));
    auto& list = lists[lp];
    switch (random() % 8) {
      default: {
        now = std::max(now, gvt) + static_cast<std::int64_t>(random() % 3);
        const std::int64_t at = list.empty() ? now : std::max(now, list.back().first);
        const Observation one{model.kept.index(), lp, Time::from_ticks(at),
                              static_cast<double>(random() % 200), 0};
        values.append(lp, start_at(at), one);
        list.emplace_back(at, one.value);
        break;
      }
      case 6: {
        const std::int64_t to = gvt + static_cast<std::int64_t>(random() % 200);
        values.roll_back(lp, start_at(to));
        while (!list.empty() && list.back().first >= to) list.pop_back();
        break;
      }
      case 7:
        if (random() % 4 != 0) break;
        gvt = std::max(gvt, now - 300);
        for (auto& [id, own] : lists) {
          values.commit(id, start_at(gvt), mergeable_statistics);
          std::size_t n = 0;
          for (; n < own.size() && own[n].first < gvt; ++n)
            expected.add({model.kept.index(), id, Time::zero(), own[n].second, 0});
          own.erase(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(n));
        }
        break;
    }
  }
  for (auto& [id, own] : lists) {
    values.commit(id, Key::infinity(), mergeable_statistics);
    for (const auto& [at, value] : own)
      expected.add({model.kept.index(), id, Time::zero(), value, 0});
  }
  EXPECT_EQ(mergeable_statistics.words(), expected.words());
  EXPECT_TRUE(values.empty());
}

/// Once as many have been under way as ever are, nothing more is taken.
TEST(SpeculativeValues, UseTheirMemoryAgain) {
  const Counted model;
  SpeculativeValues values;
  MergeableStatistics mergeable_statistics(model);
  std::size_t bytes = 0;
  for (int round = 0; round < 50; ++round) {
    for (LpId lp = 0; lp < 30; ++lp)
      for (int i = 0; i < 20; ++i)
        values.append(lp, start_at(round), {model.kept.index(), lp, Time::from_ticks(round), 1, 0});
    for (LpId lp = 0; lp < 30; ++lp) {
      if (lp % 2 == 0) values.roll_back(lp, start_at(round));
      values.commit(lp, start_at(round + 1), mergeable_statistics);
    }
    if (round == 0) bytes = values.bytes();
    EXPECT_EQ(values.bytes(), bytes);
  }
  EXPECT_TRUE(values.empty());
  EXPECT_EQ(mergeable_statistics.histogram(model.kept).count(), 50u * 15 * 20);
}

}  // namespace
}  // namespace orrery::timewarp
