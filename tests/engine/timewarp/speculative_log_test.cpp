// SPDX-License-Identifier: Apache-2.0
//
// Values that may be undone, against a list for each LP that is kept the plain way.
#include "engine/timewarp/speculative_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

namespace orrery::timewarp {
namespace {

Key start_at(std::int64_t ticks) {
  return Key::start_of(Time::from_ticks(ticks));
}

using Committed = std::vector<std::tuple<LpId, std::int64_t, int>>;  ///< LP, time, value

/// Removes the values before `gvt` from the lists.
void commit(std::map<LpId, std::vector<std::pair<std::int64_t, int>>>& lists, std::int64_t gvt,
            Committed& out) {
  for (auto& [id, own] : lists)
    std::erase_if(own, [&, lp = id](const auto& one) {
      if (one.first >= gvt) return false;
      out.emplace_back(lp, one.first, one.second);
      return true;
    });
}

/// Appends, rollbacks and commits in any order, of LPs that come and go.
TEST(SpeculativeLog, CommitsWhatWasNotUndone) {
  std::mt19937_64 random(1);
  SpeculativeLog<int> log;
  Committed actual, expected;
  std::map<LpId, std::vector<std::pair<std::int64_t, int>>> lists;
  std::int64_t gvt = 0, now = 0;
  const auto commit_both = [&](std::int64_t until) {
    log.commit(start_at(until), [&](const SpeculativeLog<int>::Entry& entry) {
      actual.emplace_back(entry.lp, entry.key.time().ticks(), entry.item);
    });
    commit(lists, until, expected);
  };
  for (int step = 0; step < 200'000; ++step) {
    const auto lp = static_cast<LpId>(random() % (step < 100'000 ? 20 : 3000));
    auto& list = lists[lp];
    switch (random() % 8) {
      default: {
        now = std::max(now, gvt) + static_cast<std::int64_t>(random() % 3);
        const std::int64_t at = list.empty() ? now : std::max(now, list.back().first);
        log.append(lp, start_at(at), step);
        list.emplace_back(at, step);
        break;
      }
      case 6: {
        const std::int64_t to = gvt + static_cast<std::int64_t>(random() % 200);
        log.roll_back(lp, start_at(to));
        while (!list.empty() && list.back().first >= to) list.pop_back();
        break;
      }
      case 7:
        if (random() % 40 != 0) break;
        gvt = std::max(gvt, now - 300);
        commit_both(gvt);
        break;
    }
  }
  commit_both(Time::max().ticks());
  EXPECT_TRUE(log.empty());
  std::sort(actual.begin(), actual.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_GT(expected.size(), 10'000u);
  EXPECT_EQ(actual, expected);
}

/// The values of an LP commit in the order in which its events were executed.
TEST(SpeculativeLog, KeepsTheOrderOfAnLp) {
  SpeculativeLog<int> log;
  log.append(1, start_at(5), 1);
  log.append(2, start_at(4), 2);
  log.append(1, start_at(5), 3);
  log.roll_back(2, start_at(4));
  log.append(2, start_at(4), 4);
  std::vector<int> committed;
  log.commit(start_at(6), [&](const auto& entry) { committed.push_back(entry.item); });
  EXPECT_EQ(committed, (std::vector<int>{1, 3, 4}));
}

/// A mark without anything to undo takes nothing, and nothing is left once all is committed.
TEST(SpeculativeLog, GivesItsMemoryBack) {
  SpeculativeLog<int> log;
  log.roll_back(1, start_at(0));
  EXPECT_EQ(log.bytes(), 0u);
  log.append(1, start_at(5), 1);
  log.roll_back(1, start_at(3));
  log.commit(start_at(1), [](const auto&) { FAIL() << "undone"; });
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(log.bytes(), 0u);
}

}  // namespace
}  // namespace orrery::timewarp
