// SPDX-License-Identifier: Apache-2.0
//
// The store's promise: whatever the order and the threads in which rows are committed, they are
// written once each in the order (key, LP, ordinal); and nobody waits for ever.
#include "output/row_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "core/assert.h"

namespace orrery {
namespace {

using Line = std::tuple<std::int64_t, std::uint32_t, LpId, std::uint32_t, std::uint64_t>;

/// Keeps what it is given; may be slow or break on purpose.
class Recorder final : public RowWriter {
 public:
  void write(const Row& row) override {
    // Acquire, with the release of whoever opens it: only for the order of what a test does.
    while (closed.load(std::memory_order_acquire)) std::this_thread::yield();
    if (lines.size() >= breaks_after) throw std::runtime_error("broken");
    if (pause.count() > 0) std::this_thread::sleep_for(pause);
    lines.emplace_back(row.key.time().ticks(), row.key.step(), row.lp, row.ordinal,
                       row.cells.empty() ? 0 : row.cells[0]);
    written.store(lines.size(), std::memory_order_relaxed);  // a count to poll, nothing else
  }

  std::vector<Line> lines;
  std::atomic<std::size_t> written{0};
  std::size_t breaks_after = SIZE_MAX;
  std::chrono::microseconds pause{0};
  std::atomic<bool> closed{false};
};

void nothing() {}

Key at(std::int64_t time, std::uint32_t microstep = 0, LpId sender = 0) {
  return Key(Time::from_ticks(time), microstep, sender, 0);
}

void append(RowBuffer& buffer, const Key& key, LpId lp, std::uint32_t ordinal,
            std::uint64_t cell = 0) {
  buffer.append({key, ordinal, lp, 0, {&cell, 1}});
}

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST(RowStore, SortsByKeyThenLpThenOrdinal) {
  Recorder recorder;
  RowStore store(recorder, nothing);
  store.begin(1);
  RowBuffer rows;
  append(rows, at(5), 1, 1, 1);
  append(rows, at(5), 1, 0, 2);
  append(rows, at(5), 0, 7, 3);
  append(rows, at(5, 1), 0, 0, 4);
  append(rows, at(3), 9, 0, 5);
  store.commit(0, rows);
  EXPECT_TRUE(rows.empty());
  store.close();
  std::vector<std::uint64_t> cells;
  for (const Line& line : recorder.lines) cells.push_back(std::get<4>(line));
  EXPECT_EQ(cells, (std::vector<std::uint64_t>{5, 3, 2, 1, 4}));
}

TEST(RowStore, WritesOnlyBeforeTheLowestWatermark) {
  Recorder recorder;
  RowStore store(recorder, nothing);
  store.begin(2);
  RowBuffer rows;
  append(rows, at(1), 0, 0);
  append(rows, at(2), 0, 0);
  append(rows, at(9), 0, 0);
  store.commit(0, rows);
  store.advance(0, at(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(recorder.written.load(std::memory_order_relaxed),
            0u);  // worker 1 may have earlier rows
  store.advance(1, at(2));
  EXPECT_TRUE(eventually([&] { return recorder.written.load(std::memory_order_relaxed) == 1; }));
  append(rows, at(2), 1, 0);
  store.commit(1, rows);
  store.advance(1, at(3));
  EXPECT_TRUE(eventually([&] { return recorder.written.load(std::memory_order_relaxed) == 3; }));
  store.close();
  EXPECT_EQ(recorder.lines.size(), 4u);
  EXPECT_TRUE(std::is_sorted(recorder.lines.begin(), recorder.lines.end()));
}

/// Of a run that has failed, only what all workers have passed is whole.
TEST(RowStore, DropsWhatIsNotWholeIfAskedTo) {
  Recorder recorder;
  RowStore store(recorder, nothing);
  store.begin(2);
  RowBuffer rows;
  for (const std::int64_t time : {3, 5, 8}) append(rows, at(time), 0, 0, 1);
  store.commit(0, rows);
  store.advance(0, at(9));
  store.advance(1, at(5));
  store.close(RowStore::Rest::dropped);
  ASSERT_EQ(recorder.lines.size(), 1u);
  EXPECT_EQ(std::get<0>(recorder.lines[0]), 3);
}

TEST(RowStore, WithoutBeginKeepsAllForTheEnd) {
  Recorder recorder;
  RowStore store(recorder, nothing);
  RowBuffer rows;
  append(rows, at(2), 0, 0);
  store.commit(3, rows);
  store.advance(3, at(5));
  append(rows, at(1), 0, 0);
  store.commit(0, rows);
  store.close();
  EXPECT_EQ(recorder.lines.size(), 2u);
  EXPECT_TRUE(std::is_sorted(recorder.lines.begin(), recorder.lines.end()));
}

/// What a Time Warp worker does: rows in LP order, not time order, then a watermark.
void play_worker(RowStore& store, unsigned worker, unsigned workers, unsigned seed) {
  std::mt19937 random(seed + worker);
  RowBuffer rows;
  for (std::int64_t round = 0; round < 200; ++round) {
    for (LpId lp = worker; lp < 16; lp += workers) {
      const auto count = random() % 4;
      for (std::uint32_t i = 0; i < count; ++i) {
        const std::int64_t time = round * 100 + static_cast<std::int64_t>(random() % 100);
        for (std::uint32_t ordinal = 0; ordinal <= i; ++ordinal)
          append(rows, at(time, i, lp), lp, ordinal, static_cast<std::uint64_t>(round));
      }
    }
    store.commit(worker, rows);
    store.advance(worker, at((round + 1) * 100));
    if (random() % 16 == 0) std::this_thread::yield();
  }
  store.advance(worker, Key::infinity());
}

TEST(RowStore, MergesManyWorkersForManySeeds) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const unsigned workers = 1 + seed % 5;
    Recorder recorder;
    // A small bound, so that workers run into it.
    RowStore store(recorder, nothing, seed % 2 == 0 ? 4096 : RowStore::kDefaultBoundBytes);
    store.begin(workers);
    {
      std::vector<std::jthread> threads;
      for (unsigned w = 0; w < workers; ++w)
        threads.emplace_back([&, w] { play_worker(store, w, workers, seed * 100); });
    }
    store.close();
    ASSERT_GT(recorder.lines.size(), 1000u) << "seed " << seed;
    // Microstep and sender are part of the key here, and the sender is the LP.
    ASSERT_TRUE(std::is_sorted(recorder.lines.begin(), recorder.lines.end())) << "seed " << seed;
  }
}

/// Rounds `first` to `end` of a run, played by that many workers.
void play_rounds(RowStore& store, unsigned workers, std::int64_t first, std::int64_t end) {
  std::vector<std::jthread> threads;
  for (unsigned w = 0; w < workers; ++w) {
    threads.emplace_back([&store, w, workers, first, end] {
      RowBuffer rows;
      for (std::int64_t round = first; round < end; ++round) {
        for (LpId lp = w; lp < 12; lp += workers)
          for (const std::int64_t time : {7, 3, 5})
            append(rows, at(round * 10 + time, 0, lp), lp, 0);
        store.commit(w, rows);
        store.advance(w, at((round + 1) * 10));
      }
    });
  }
}

/// Whoever takes over, with more workers or fewer: one order, and nothing waits for the next team's
/// watermarks that the teams before have completed.
TEST(RowStore, PutsTheRowsOfOneTeamAfterAnotherIntoOneOrder) {
  Recorder recorder;
  RowStore store(recorder, nothing, 4096);
  std::int64_t round = 0;
  for (const unsigned workers : {3u, 1u, 5u, 2u, 4u}) {
    store.begin(workers);
    play_rounds(store, workers, round, round + 50);
    round += 50;
    const auto complete = static_cast<std::size_t>(round) * 12 * 3;
    EXPECT_TRUE(eventually([&] {
      return recorder.written.load(std::memory_order_relaxed) == complete;
    })) << "by "
        << workers << " workers";
  }
  store.close();
  EXPECT_EQ(recorder.lines.size(), 250u * 12 * 3);
  EXPECT_TRUE(std::is_sorted(recorder.lines.begin(), recorder.lines.end()));
}

/// A team takes over while the writer is still at the first row of the one before.
TEST(RowStore, WritesWhatTheTeamBeforeLeftUnwritten) {
  Recorder recorder;
  recorder.closed.store(true, std::memory_order_relaxed);  // before the first row: no order needed
  RowStore store(recorder, nothing);
  store.begin(2);
  play_rounds(store, 2, 0, 3);
  store.begin(3);
  RowBuffer rows;
  append(rows, at(31), 0, 0);
  store.commit(2, rows);
  store.advance(2, at(40));  // the others have not told how far they are
  recorder.closed.store(false, std::memory_order_release);
  const std::size_t complete = 3 * 12 * 3;
  EXPECT_TRUE(
      eventually([&] { return recorder.written.load(std::memory_order_relaxed) == complete; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(recorder.written.load(std::memory_order_relaxed), complete)
      << "workers 0 and 1 may have rows before 31";
  append(rows, at(30), 1, 0);
  store.commit(1, rows);
  for (const unsigned worker : {0u, 1u}) store.advance(worker, at(40));
  EXPECT_TRUE(
      eventually([&] { return recorder.written.load(std::memory_order_relaxed) == complete + 2; }));
  store.close();
  EXPECT_TRUE(std::is_sorted(recorder.lines.begin(), recorder.lines.end()));
}

/// Of a run that fails in its second team, what the first has completed is whole.
TEST(RowStore, KeepsWhatTheTeamBeforeCompletedOfARunThatFails) {
  Recorder recorder;
  RowStore store(recorder, nothing);
  store.begin(1);
  play_rounds(store, 1, 0, 2);
  store.begin(2);
  RowBuffer rows;
  append(rows, at(25), 0, 0);
  store.commit(0, rows);
  store.advance(0, at(30));
  store.close(RowStore::Rest::dropped);
  EXPECT_EQ(recorder.lines.size(), 2u * 12 * 3);
}

TEST(RowStoreDeathTest, NoticesATeamThatEndedAtSeveralKeys) {
  if constexpr (!kAssertions) GTEST_SKIP() << "assertions are compiled away in this build";
  const auto take_over = [] {
    Recorder recorder;
    RowStore store(recorder, nothing);
    store.begin(2);
    store.advance(0, at(10));
    store.begin(1);
  };
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(take_over(), ::testing::KilledBySignal(SIGABRT), "watermarks at one key");
}

TEST(RowStore, SlowWriterDoesNotHoldUpWhoeverWaitsForNothing) {
  Recorder recorder;
  recorder.pause = std::chrono::microseconds(20);
  RowStore store(recorder, nothing, 1024);
  store.begin(2);
  RowBuffer rows;
  // Worker 1 never advances: all of this can only be held, and must not block worker 0.
  for (std::int64_t i = 0; i < 1000; ++i) {
    append(rows, at(i), 0, 0);
    store.commit(0, rows);
    store.advance(0, at(i + 1));
  }
  store.advance(1, at(500));
  for (std::int64_t i = 500; i < 600; ++i) {
    append(rows, at(i), 1, 0);
    store.commit(1, rows);
    store.advance(1, at(i + 1));
  }
  store.close();
  EXPECT_EQ(recorder.lines.size(), 1100u);
  EXPECT_TRUE(std::is_sorted(recorder.lines.begin(), recorder.lines.end()));
}

/// How often the threads of this process, but for this one, have slept.
std::uint64_t sleeps_of_others() {
  std::uint64_t sum = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(gettid())) continue;
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word;) {
      std::uint64_t count = 0;
      if (word == "voluntary_ctxt_switches:" && status >> count) sum += count;
    }
  }
  return sum;
}

/// With a wake-up for each, conservative runs took 1.6 times as long.
TEST(RowStore, WatermarksWakeNobodyWhereThereIsNothingToWrite) {
  Recorder recorder;
  RowStore store(recorder, nothing);
  store.begin(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the store's thread is asleep
  const std::uint64_t before = sleeps_of_others();
  for (std::int64_t i = 0; i < 500; ++i) {
    store.advance(0, at(i));
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  EXPECT_LT(sleeps_of_others() - before, 100u);
  RowBuffer rows;
  append(rows, at(500), 0, 0);
  store.commit(0, rows);
  store.advance(0, at(501));
  EXPECT_TRUE(eventually([&] { return recorder.written.load(std::memory_order_relaxed) == 1; }));
}

TEST(RowStore, FailureIsToldAtOnceAndThrownAtTheEnd) {
  Recorder recorder;
  recorder.breaks_after = 3;
  std::atomic<int> told{0};
  RowStore store(recorder, [&] { told.fetch_add(1, std::memory_order_relaxed); });
  store.begin(1);
  RowBuffer rows;
  for (std::int64_t i = 0; i < 100; ++i) {
    append(rows, at(i), 0, 0);
    store.commit(0, rows);
    store.advance(0, at(i + 1));
  }
  EXPECT_TRUE(eventually([&] { return told.load(std::memory_order_relaxed) == 1; }));
  EXPECT_THROW(store.close(), std::runtime_error);
  EXPECT_EQ(recorder.lines.size(), 3u);
  EXPECT_EQ(told.load(std::memory_order_relaxed), 1);
}

}  // namespace
}  // namespace orrery
