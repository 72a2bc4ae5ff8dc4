// SPDX-License-Identifier: Apache-2.0
//
// The journal of the smallest LPs against a plain model of it: a list of events and states for each
// LP. Random runs append, roll back, commit and leave it, with keys that come in order at each LP
// and in any order between LPs.
#include "engine/timewarp/journal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace orrery::timewarp {
namespace {

constexpr std::size_t kChunk = Journal::kMostImageBytes;

Key key_at(std::int64_t ticks) {
  return Key(Time::from_ticks(ticks), 0, 0, 0);
}

/// LPs whose state is a chunk of words and what the platform keeps, all of one value.
class JournalTest : public ::testing::Test {
 protected:
  static constexpr LpId kLps = 7;
  struct Past {
    TwEvent* event;
    std::uint64_t state_before;
  };
  struct alignas(16) Chunk {
    std::array<std::uint64_t, kChunk / 8> words{};
  };

  JournalTest() {
    for (LpId id = 0; id < kLps; ++id) {
      lps_[id].object = reinterpret_cast<LogicalProcessBase*>(&chunks_[id]);
      lps_[id].enter_journal(kChunk);
      set_state(id, 0);
    }
  }
  void set_state(LpId id, std::uint64_t value) {
    chunks_[id].words.fill(value);
    lps_[id].kernel = {value, value, value};
  }
  void expect_state(LpId id, std::uint64_t value) {
    for (const std::uint64_t word : chunks_[id].words) ASSERT_EQ(word, value) << "LP " << id;
    ASSERT_EQ(lps_[id].kernel, (checkpoint::KernelState{value, value, value})) << "LP " << id;
  }
  TwEvent* execute(LpId id, std::int64_t ticks) {
    events_.push_back(std::make_unique<TwEvent>(EventHeader(key_at(ticks), id, 0, PayloadSize())));
    TwEvent* event = events_.back().get();
    journal_.append(lps_[id], event);
    past_[id].push_back({event, lps_[id].kernel.hash});
    set_state(id, ++states_);
    return event;
  }
  void roll_back(LpId id, std::int64_t to) {
    std::vector<const TwEvent*> undone, expected;
    const TwEvent* first =
        journal_.roll_back(lps_[id], key_at(to), [&](TwEvent* event) { undone.push_back(event); });
    std::uint64_t state = lps_[id].kernel.hash;
    while (!past_[id].empty() && past_[id].back().event->key() >= key_at(to)) {
      expected.push_back(past_[id].back().event);
      state = past_[id].back().state_before;
      past_[id].pop_back();
    }
    ASSERT_EQ(undone, expected) << "last first";
    ASSERT_EQ(first, expected.empty() ? nullptr : expected.back());
    expect_state(id, state);
  }
  void commit(std::int64_t until) {
    std::vector<const TwEvent*> committed, expected;
    journal_.commit(key_at(until), [&](const Journal::Entry& entry) {
      ASSERT_EQ(entry.event->receiver, entry.lp);
      ASSERT_EQ(entry.event_bytes, entry.event->bytes());
      committed.push_back(entry.event);
    });
    for (auto& past : past_) {
      while (!past.empty() && past.front().event->key() < key_at(until)) {
        expected.push_back(past.front().event);
        past.pop_front();
      }
    }
    std::sort(committed.begin(), committed.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(committed, expected) << "each once";
  }
  void expect_uncommitted() {
    std::size_t count = 0;
    for (const auto& past : past_) count += past.size();
    ASSERT_EQ(journal_.events(), count);
    std::map<LpId, std::size_t> seen;
    journal_.for_each([&](const Journal::Entry& entry) {
      const auto& past = past_[entry.lp];
      ASSERT_LT(seen[entry.lp], past.size());
      ASSERT_EQ(entry.event, past[past.size() - 1 - seen[entry.lp]++].event) << "newest first";
    });
  }

  memory::BlockPool pool_;
  Journal journal_{pool_};
  std::array<Chunk, kLps> chunks_;
  std::array<LpState, kLps> lps_;
  std::array<std::deque<Past>, kLps> past_;
  std::vector<std::unique_ptr<TwEvent>> events_;
  std::uint64_t states_ = 0;
};

TEST_F(JournalTest, KnowsStragglersAmongWhatIsNotCommitted) {
  execute(0, 10);
  execute(0, 20);
  const TwEvent late(EventHeader(key_at(15), 0, 0, PayloadSize()));
  EXPECT_TRUE(journal_.is_straggler(lps_[0], &late));
  EXPECT_FALSE(journal_.is_straggler(lps_[1], &late));
  commit(21);
  EXPECT_FALSE(journal_.is_straggler(lps_[0], &late));
}

TEST_F(JournalTest, CommitsWhatWasExecutedLateBehindWhatIsNotCommitted) {
  execute(0, 100);
  execute(1, 10);
  execute(2, 20);
  execute(3, 110);
  commit(50);
  expect_uncommitted();
  EXPECT_EQ(journal_.events(), 2u);
  roll_back(1, 0);
  execute(1, 60);
  commit(105);
  expect_uncommitted();
}

TEST_F(JournalTest, HandsOverWhatAnLpHasNotCommittedOldestFirst) {
  execute(0, 10);
  execute(1, 11);
  const TwEvent* second = execute(0, 20);
  const TwEvent* third = execute(0, 30);
  commit(15);
  std::vector<const TwEvent*> moved;
  journal_.take_all(lps_[0].newest_entry(), [&](const Journal::Entry& entry) {
    moved.push_back(entry.event);
    std::uint64_t word = 0;
    std::memcpy(&word, entry.image, sizeof word);
    EXPECT_EQ(word, entry.kernel.hash);
  });
  EXPECT_EQ(moved, (std::vector<const TwEvent*>{second, third}));
  EXPECT_EQ(journal_.events(), 0u);
}

TEST_F(JournalTest, GivesMemoryBackWithTheOldestAndWithTheNewest) {
  for (std::int64_t i = 0; i < 1000; ++i) execute(static_cast<LpId>(i % kLps), i);
  const std::size_t full = pool_.used_bytes();
  for (LpId id = 0; id < kLps; ++id) roll_back(id, 500);
  journal_.trim();
  const std::size_t half = pool_.used_bytes();
  EXPECT_LT(half, full * 6 / 10);
  for (std::int64_t i = 500; i < 600; ++i) execute(static_cast<LpId>(i % kLps), i);
  expect_uncommitted();
  commit(550);
  EXPECT_LT(pool_.used_bytes(), half / 4);
  commit(600);
  EXPECT_LE(pool_.used_bytes(), memory::kPageBytes);
  expect_uncommitted();
}

TEST_F(JournalTest, DoesWhatAPlainListDoes) {
  std::mt19937_64 random(7);
  std::int64_t gvt = 0;
  std::array<std::int64_t, kLps> last{};
  for (int step = 0; step < 40'000; ++step) {
    const auto id = static_cast<LpId>(random() % kLps);
    switch (random() % 40) {
      case 0: {
        const std::int64_t to = gvt + static_cast<std::int64_t>(random() % 200);
        roll_back(id, to);
        last[id] = past_[id].empty() ? gvt : past_[id].back().event->time().ticks();
        if (random() % 4 == 0) journal_.trim();
        break;
      }
      case 1:
        gvt += static_cast<std::int64_t>(random() % 60);
        commit(gvt);
        break;
      default:
        last[id] = std::max(last[id], gvt) + 1 + static_cast<std::int64_t>(random() % 20);
        execute(id, last[id]);
    }
    if (HasFatalFailure()) FAIL() << "at step " << step;
    if (step % 64 == 0) expect_uncommitted();
  }
}

}  // namespace
}  // namespace orrery::timewarp
