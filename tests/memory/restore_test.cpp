// SPDX-License-Identifier: Apache-2.0
//
// Heaps that come back at their old addresses, from what is written down of them: the arena goes,
// and another one, with heaps made from the runs alone, has to serve and free as the old one did.
#include <gtest/gtest.h>
#include <cstdlib>

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "memory/arena.h"
#include "memory/lp_heap.h"
#include "memory/region.h"

namespace orrery::memory {
namespace {

struct Allocation {
  void* address;
  std::size_t bytes;
  unsigned char fill;
};

struct WrittenHeap {
  std::vector<ChunkRun> runs;
  std::vector<std::byte> contents;
};

/// Some heaps of one arena, of different sizes, and what they hold.
class Heaps {
 public:
  Heaps(Arena& arena, unsigned seed) : random_(seed) {
    for (std::size_t i = 0; i < kHeaps; ++i) heaps.push_back(std::make_unique<LpHeap>(arena));
  }
  void live(std::size_t heap, std::size_t steps) {
    for (std::size_t step = 0; step < steps; ++step) {
      auto& mine = held[heap];
      if (!mine.empty() && random_() % 3 == 0) {
        std::swap(mine[random_() % mine.size()], mine.back());
        ASSERT_EQ(heaps[heap]->deallocate(mine.back().address), FreeStatus::ok);
        mine.pop_back();
        continue;
      }
      const std::size_t bytes =
          random_() % 50 == 0 ? 70'000 + random_() % 3'000'000 : 1 + random_() % 2000;
      void* const address = heaps[heap]->allocate(bytes);
      ASSERT_NE(address, nullptr);
      mine.push_back({address, bytes, static_cast<unsigned char>(random_())});
      std::memset(address, mine.back().fill, bytes);
    }
  }
  void check() const {
    for (const auto& mine : held)
      for (const Allocation& one : mine)
        for (std::size_t i = 0; i < one.bytes; ++i)
          ASSERT_EQ(static_cast<const unsigned char*>(one.address)[i], one.fill);
  }

  static constexpr std::size_t kHeaps = 5;
  std::vector<std::unique_ptr<LpHeap>> heaps;
  std::array<std::vector<Allocation>, kHeaps> held;

 private:
  std::mt19937 random_;
};

WrittenHeap write_down(const LpHeap& heap) {
  WrittenHeap written;
  heap.for_each_run([&](const ChunkRun& run) { written.runs.push_back(run); });
  heap.for_each_live([&](const std::byte* begin, std::size_t bytes, std::size_t) {
    const std::size_t at = written.contents.size();
    written.contents.resize(at + bytes);
    copy_poisoned(written.contents.data() + at, begin, bytes);
  });
  return written;
}

std::unique_ptr<LpHeap> bring_back(const WrittenHeap& written, Arena& arena) {
  auto heap = std::make_unique<LpHeap>(arena);
  for (const ChunkRun& run : written.runs) EXPECT_TRUE(heap->restore_run(run));
  const std::byte* from = written.contents.data();
  heap->for_each_live([&](const std::byte* begin, std::size_t bytes, std::size_t) {
    std::memcpy(const_cast<std::byte*>(begin), from, bytes);
    from += bytes;
  });
  return heap;
}

TEST(RestoredHeaps, ServeAndFreeAsBefore) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    auto arena = std::make_unique<Arena>();
    Heaps heaps(*arena, seed);
    constexpr std::size_t kSteps[Heaps::kHeaps] = {0, 1, 30, 400, 4000};
    for (std::size_t i = 0; i < Heaps::kHeaps; ++i) heaps.live(i, kSteps[i]);

    std::vector<WrittenHeap> written;
    for (const auto& heap : heaps.heaps) written.push_back(write_down(*heap));
    std::vector<Arena::Extent> extents;
    arena->for_each_extent([&](const Arena::Extent& extent) { extents.push_back(extent); });
    struct AreaFacts {
      std::byte* base;
      std::size_t bytes;
      unsigned size_class;
      Access access;
      unsigned log;
    };
    std::vector<AreaFacts> facts;
    arena->for_each_area([&](const Area& area) {
      facts.push_back({area.base, area.bytes(), area.size_class, area.access(), area.run_log});
    });
    heaps.heaps.clear();
    arena.reset();

    Arena ground;
    for (const Arena::Extent& extent : extents) {
      EXPECT_TRUE(ground.restore_extent(extent));
      EXPECT_FALSE(ground.restore_extent(extent)) << "it is taken";
    }
    for (const AreaFacts& area : facts)
      ASSERT_TRUE(
          ground.restore_area(area.base, area.bytes, area.size_class, area.access, area.log));
    Arena later;
    for (const WrittenHeap& one : written) {
      heaps.heaps.push_back(bring_back(one, ground));
      heaps.heaps.back()->use_arena(later);
    }
    heaps.check();
    for (std::size_t i = 0; i < Heaps::kHeaps; ++i) {
      EXPECT_EQ(heaps.heaps[i]->live_bytes(), written[i].contents.size());
      heaps.live(i, 500);
    }
    heaps.check();
    for (std::size_t i = 0; i < Heaps::kHeaps; ++i)
      for (const Allocation& one : heaps.held[i])
        EXPECT_EQ(heaps.heaps[i]->deallocate(one.address), FreeStatus::ok);
    heaps.heaps.clear();
  }
}

TEST(Region, GivesAddressesThatAreAskedFor) {
  Region& region = Region::instance();
  constexpr std::size_t kBytes = 4 << 20;
  std::byte* const first = region.take(Region::Pool::large, kBytes, kBlockBytes, false);
  ASSERT_NE(first, nullptr);
  std::byte* const far = first + 16 * kBytes;
  ASSERT_TRUE(region.take_at(Region::Pool::large, far, kBytes, false));
  far[0] = far[kBytes - 1] = std::byte{1};
  EXPECT_FALSE(region.take_at(Region::Pool::large, far, kBytes, false));
  EXPECT_FALSE(region.take_at(Region::Pool::large, far + kBytes / 2, kBytes, false));
  EXPECT_FALSE(region.take_at(Region::Pool::large, first, kBytes, false));
  // Between the two lies what nobody has.
  std::byte* const between = first + 4 * kBytes;
  ASSERT_TRUE(region.take_at(Region::Pool::large, between, kBytes, false));
  std::byte* const next = region.take(Region::Pool::large, 3 * kBytes, kBlockBytes, false);
  EXPECT_EQ(next, first + kBytes) << "first fit";
  for (const auto& [base, bytes] : {std::pair(first, kBytes), std::pair(far, kBytes),
                                    std::pair(between, kBytes), std::pair(next, 3 * kBytes)})
    region.give_back(Region::Pool::large, base, bytes);
  EXPECT_EQ(region.take(Region::Pool::large, 20 * kBytes, kBlockBytes, false), first)
      << "all of it is one piece again";
  region.give_back(Region::Pool::large, first, 20 * kBytes);
}

/// In a process of its own, since it is for good. Its exit code is 0 if nothing is wrong.
int use_share(unsigned index, unsigned count) {
  constexpr std::size_t kHugePage = 2 << 20;  // shares are multiples of it
  Region& region = Region::instance();
  region.keep_to_share(index, count);
  const std::size_t pool = region.bytes() / 4;  // where large runs lie, from the middle on
  const std::size_t share = pool / count / kHugePage * kHugePage;
  // Under sanitizers the region is small: a share must hold 200 of these and more.
  const std::size_t bytes = std::min<std::size_t>(4 << 20, share / 512 / kBlockBytes * kBlockBytes);
  std::byte* const begin = region.base() + 2 * pool + index * share;
  const auto is_own = [&](const std::byte* at) {
    return at >= begin && at + bytes <= begin + share;
  };
  for (int i = 0; i < 100; ++i)
    if (!is_own(region.take(Region::Pool::large, bytes, kBlockBytes, false))) return 1;
  // Another's, and one that lies over the border: usable, and given back to nobody's use.
  std::byte* const others = region.base() + 2 * pool + (index + 1) % count * share;
  std::byte* const border = begin + share - bytes / 2;
  for (std::byte* const place : {others + 200 * bytes, border}) {
    if (!region.take_at(Region::Pool::large, place, bytes, false)) return 2;
    place[0] = place[bytes - 1] = std::byte{1};
    region.give_back(Region::Pool::large, place, bytes);
  }
  for (int i = 0; i < 100; ++i)
    if (!is_own(region.take(Region::Pool::large, bytes, kBlockBytes, false))) return 3;
  return 0;
}

TEST(Region, ServesFromItsShare) {
  for (const auto& [index, count] : {std::pair(0U, 1U), {0U, 2U}, {1U, 3U}, {2U, 3U}, {63U, 64U}})
    EXPECT_EXIT(std::_Exit(use_share(index, count)), ::testing::ExitedWithCode(0), "")
        << index << " of " << count;
}

}  // namespace
}  // namespace orrery::memory
