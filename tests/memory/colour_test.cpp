// SPDX-License-Identifier: Apache-2.0
//
// Separation by cache sets: where memory of both kinds lies, that nothing overlaps, that the bound
// on what lies unused holds, that the threshold can be moved, and the search for the best one.
#include "memory/colour.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "memory/arena.h"
#include "memory/block_pool.h"
#include "memory/colourings.h"
#include "memory/lp_heap.h"
#include "memory/share_tuner.h"
#include "orrery/memory.h"

namespace orrery::memory {
namespace {

using testing::cache_with_ways_of;
using testing::colouring;

TEST(Colouring, DividesAWayInWholePages) {
  EXPECT_EQ(colouring(0.75).intensive_bytes, 48u << 10);
  EXPECT_EQ(colouring(0.75).mild_from, 48u << 10);
  EXPECT_EQ(colouring(0.51).intensive_bytes, 32u << 10);
  EXPECT_EQ(colouring(0).intensive_bytes, 0u);
  EXPECT_EQ(colouring(1).intensive_bytes, kBlockBytes);
  EXPECT_EQ(colouring(0.5, 128 << 10).mild_from, 64u << 10);
}

TEST(Colouring, KnowsASecondLevelCacheOrSaysWhatItAssumes) {
  const CacheFacts facts = second_level_cache();
  EXPECT_TRUE(facts.known || !facts.note.empty());
  EXPECT_TRUE(facts.usable || !facts.note.empty());
  if (facts.known && facts.usable) {
    EXPECT_EQ(facts.way_bytes * facts.ways, facts.bytes);
  }
}

class ColouredArena : public ::testing::TestWithParam<std::pair<double, std::size_t>> {
 protected:
  Colouring its_ = colouring(GetParam().first, GetParam().second);
  Arena arena_{its_};
};

// Chunks of every size, of both kinds: inside of their part of the way wherever a part can hold
// them, and never on each other.
TEST_P(ColouredArena, KeepsTheKindsApart) {
  LpHeap heap(arena_);
  std::map<std::byte*, std::size_t> taken;
  std::mt19937_64 random(1);
  for (int i = 0; i < 1500; ++i) {
    const std::size_t bytes = 1 + random() % (std::size_t{1} << random() % 16);
    const Access access = random() % 3 == 0 ? Access::mild : Access::intensive;
    auto* const chunk = static_cast<std::byte*>(heap.allocate(bytes, 16, access));
    ASSERT_NE(chunk, nullptr);
    std::memset(chunk, i, bytes);
    ASSERT_TRUE(taken.emplace(chunk, bytes).second);
    const std::size_t part =
        access == Access::mild ? its_.way_bytes - its_.mild_from : its_.intensive_bytes;
    const unsigned size_class = class_of(bytes);
    // Larger ones, beside their part, may lie without colour.
    if (is_large(size_class) || chunk_bytes(size_class) * 8 > part) {
      continue;
    }
    const std::size_t first = its_.offset(chunk);
    const std::size_t last = its_.offset(chunk + bytes - 1);
    if (access == Access::mild) {
      ASSERT_GE(first, its_.mild_from) << bytes;
    } else {
      ASSERT_LT(last, its_.intensive_bytes) << bytes;
    }
    ASSERT_LE(first, last);
  }
  for (auto next = taken.begin(), chunk = next++; next != taken.end(); chunk = next++)
    ASSERT_LE(chunk->first + chunk->second, next->first);
  EXPECT_EQ(arena_.displaced_bytes(), 0u);
  for (const auto& [chunk, bytes] : taken) ASSERT_EQ(heap.deallocate(chunk), FreeStatus::ok);
}

INSTANTIATE_TEST_SUITE_P(Shares, ColouredArena,
                         ::testing::Values(std::pair{0.5, 64 << 10}, std::pair{0.75, 64 << 10},
                                           std::pair{0.125, 64 << 10}, std::pair{0.875, 128 << 10},
                                           std::pair{0.5, 16 << 10}, std::pair{0.5, 2 << 20},
                                           std::pair{0.0, 64 << 10}, std::pair{1.0, 64 << 10}));

TEST(ColouredArena, LeavesLittleUnusedWhenOneKindIsAll) {
  constexpr std::size_t kEach = 4096;
  for (const Access access : {Access::intensive, Access::mild}) {
    Arena arena(colouring(0.5));
    std::size_t wanted = 0;
    LpHeap heap(arena);
    for (; wanted < std::size_t{100} << 20; wanted += kEach)
      ASSERT_NE(heap.allocate(kEach, 16, access), nullptr);
    EXPECT_GT(arena.displaced_bytes(), std::size_t{30} << 20);
    EXPECT_LE(arena.taken_bytes(), wanted + wanted / 8);
    EXPECT_LE(arena.stock_bytes(), wanted + wanted / 4 + (std::size_t{32} << 20));
  }
}

TEST(ColouredArena, BeginsElsewhereForEachWorkerAndClass) {
  std::vector<std::size_t> offsets;
  std::vector<std::unique_ptr<Arena>> arenas;
  for (unsigned worker = 0; worker < 4; ++worker) {
    Colouring its = colouring(0.5);
    its.worker = worker;
    its.workers = 4;
    arenas.push_back(std::make_unique<Arena>(its));
    for (const unsigned size_class : {0u, 1u, 3u}) {
      unsigned log = 0;
      offsets.push_back(its.offset(arenas.back()->take_run(size_class, Access::intensive, log)) /
                        64);
    }
  }
  std::sort(offsets.begin(), offsets.end());
  EXPECT_EQ(std::unique(offsets.begin(), offsets.end()), offsets.end()) << "lines differ";
}

TEST(ColouredArena, HandsOutAllOfAnArea) {
  Colouring its = colouring(1);
  its.worker = 1;
  its.workers = 3;
  Arena arena(its);
  std::vector<std::byte*> runs;
  for (std::size_t i = 0; i < kBlockBytes / 16; ++i) {
    unsigned log = 0;
    runs.push_back(arena.take_run(0, Access::intensive, log));
  }
  std::sort(runs.begin(), runs.end());
  EXPECT_EQ(runs.back() - runs.front(), kBlockBytes - 16) << "one area, each chunk once";
  EXPECT_EQ(std::unique(runs.begin(), runs.end()), runs.end());
}

TEST(ColouredArena, RefusesWhatIsLargerThanABlockIfTold) {
  Arena arena({}, true);
  LpHeap heap(arena);
  EXPECT_NE(heap.allocate(kBlockBytes), nullptr);
  EXPECT_EQ(heap.allocate(kBlockBytes + 1), nullptr);
  EXPECT_NE(heap.allocate(100), nullptr) << "and goes on";
}

TEST(BlockPool, FollowsTheThreshold) {
  Arena arena(colouring(0.5));
  const Colouring& its = arena.colouring();
  BlockPool pool;
  pool.use_arena(arena);
  std::vector<void*> blocks;
  const auto take = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      blocks.push_back(pool.allocate(1000));
      std::memset(blocks.back(), 1, 1000);
    }
  };
  const auto lowest = [&] {
    std::size_t offset = kBlockBytes;
    for (void* block : blocks) offset = std::min(offset, its.offset(block));
    return offset;
  };
  const auto give_all = [&] {
    for (void* block : blocks) pool.release(block, 1000);
    blocks.clear();
  };
  take(500);
  EXPECT_GE(lowest(), std::size_t{32} << 10);
  pool.set_mild_from(56 << 10);
  give_all();
  take(500);
  EXPECT_GE(lowest(), std::size_t{56} << 10);
  pool.set_mild_from(0);
  give_all();
  const std::size_t stock = arena.stock_bytes();
  take(2000);
  EXPECT_LT(lowest(), std::size_t{32} << 10);
  EXPECT_LE(arena.stock_bytes(), stock + (std::size_t{4} << 20));
  give_all();
  EXPECT_EQ(pool.used_bytes(), 0u);
}

TEST(BlockPool, ReusesWhatLiesBelowTheThresholdBeforeItGrows) {
  Arena arena(colouring(0.875));
  BlockPool pool;
  pool.use_arena(arena);
  // More than its part and the bound on what may lie unused: much lies on the sets of the others.
  std::vector<void*> blocks;
  std::size_t stock = 0;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 20'000; ++i) blocks.push_back(pool.allocate(2000));
    for (void* block : blocks) pool.release(block, 2000);
    blocks.clear();
    if (round == 0) stock = arena.stock_bytes();
    EXPECT_EQ(arena.stock_bytes(), stock);
  }
}

/// The setting at which a tuner ends that sees these rates, with noise below its hysteresis.
std::size_t tuned(const std::vector<double>& rates, std::size_t start) {
  ShareTuner tuner(rates.size(), start);
  std::size_t setting = start;
  for (int i = 0; i < 2000; ++i) setting = tuner.next(rates[setting] * (1 + 0.004 * (i % 3)));
  return tuner.best();
}

TEST(ShareTuner, FindsTheBestSetting) {
  EXPECT_EQ(tuned({1.0, 1.1, 1.2, 1.3}, 2), 3u);
  EXPECT_EQ(tuned({1.3, 1.2, 1.1, 1.0}, 2), 0u);
  EXPECT_EQ(tuned({1.0, 1.2, 1.1, 1.0}, 3), 1u);
  EXPECT_EQ(tuned({1.0, 1.0, 1.0, 1.0}, 2), 2u) << "stays where nothing is better";
  EXPECT_EQ(tuned({1.0}, 0), 0u);
}

TEST(ShareTuner, TriesSeldomOnceSettledAndFollowsAChange) {
  ShareTuner tuner(4, 2);
  std::size_t setting = 2;
  int trials = 0;
  for (int i = 0; i < 2000; ++i) {
    setting = tuner.next(setting == 2 ? 1.0 : 0.5);
    trials += setting != 2;
  }
  EXPECT_LT(trials, 40);
  for (int i = 0; i < 2000; ++i) setting = tuner.next(setting == 1 ? 1.0 : 0.5);
  EXPECT_EQ(tuner.best(), 1u);
}

TEST(MildAllocator, ServesFromTheHeapOfTheRunningLpAndRollsBack) {
  Arena arena(colouring(0.5));
  LpHeap heap(arena);
  using Archive = std::vector<int, mild_allocator<int>>;
  Archive* archive = nullptr;
  {
    const ApplicationMode mode(heap);
    void* const place = heap.allocate(sizeof(Archive));
    archive = new (place) Archive(100, 7);
  }
  EXPECT_TRUE(heap.owns(archive->data()));
  EXPECT_GE(arena.colouring().offset(archive->data()), arena.colouring().mild_from);
  std::vector<std::byte> image(heap.image_bytes());
  heap.save(image.data());
  const std::size_t live = heap.live_bytes();
  {
    const ApplicationMode mode(heap);
    for (int i = 0; i < 1000; ++i) archive->push_back(i);
  }
  EXPECT_GT(heap.live_bytes(), live);
  heap.restore(image.data());
  EXPECT_EQ(*archive, Archive(100, 7));
  {
    const ApplicationMode mode(heap);
    archive->~Archive();
  }
  EXPECT_EQ(heap.live_bytes(), chunk_bytes(class_of(sizeof(Archive))));
  void* const ordinary = allocate_mild(10);  // platform mode
  EXPECT_FALSE(is_lp_pointer(ordinary));
  free_mild(ordinary);
  free_mild(nullptr);
}

}  // namespace
}  // namespace orrery::memory
