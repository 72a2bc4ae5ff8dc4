// SPDX-License-Identifier: Apache-2.0
//
// Memory for events: the sizes, what one pool serves and takes back, and what passes through the
// depot between threads. Blocks are filled with what tells them apart, so that one that is handed
// out twice shows.
#include "run/events/event_pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace orrery {
namespace {

using event_memory::kSteps;
using event_memory::Sizes;

/// Fills a block with a tag that tells it from others, and looks whether it still has it.
void fill(void* block, std::size_t bytes, std::uint64_t tag) {
  auto* words = static_cast<std::uint64_t*>(block);
  for (std::size_t i = 0; i < bytes / sizeof tag; ++i) words[i] = tag + i;
}
bool holds(const void* block, std::size_t bytes, std::uint64_t tag) {
  const auto* words = static_cast<const std::uint64_t*>(block);
  for (std::size_t i = 0; i < bytes / sizeof tag; ++i)
    if (words[i] != tag + i) return false;
  return true;
}

// ---- Sizes

template <std::size_t kGranule>
void check_sizes() {
  using S = Sizes<kGranule>;
  std::size_t last = 0;
  for (std::size_t bytes = 1; bytes <= 100'000; ++bytes) {
    const std::size_t kind = S::kind_of(bytes), size = S::bytes_of(kind);
    ASSERT_LT(kind, S::kKinds) << bytes;
    ASSERT_GE(kind, last) << bytes << " bytes: a larger event has no smaller block";
    ASSERT_GE(size, bytes);
    ASSERT_EQ(size % kGranule, 0u) << bytes;
    ASSERT_EQ(S::kind_of(size), kind) << bytes << " bytes: a block is of its own kind";
    ASSERT_LT(size, bytes <= kSteps ? bytes + kGranule : 2 * bytes) << "the waste is bounded";
    ASSERT_GE(S::magazine_of(kind), 1u);
    ASSERT_LE(S::magazine_of(kind) * size, std::max<std::size_t>(size, 32768)) << bytes;
    last = kind;
  }
}

TEST(EventSizes, FitAndGrowAndWasteLittleInHalfLines) {
  check_sizes<32>();
}
TEST(EventSizes, FitAndGrowAndWasteLittleInLines) {
  check_sizes<64>();
}

template <std::size_t kGranule>
void check_largest() {
  const std::size_t largest = (std::size_t{1} << 30) + 256;  // payloads are smaller than 1 GiB
  const std::size_t kind = Sizes<kGranule>::kind_of(largest);
  EXPECT_LT(kind, Sizes<kGranule>::kKinds);
  EXPECT_GE(Sizes<kGranule>::bytes_of(kind), largest);
}

TEST(EventSizes, CoverTheLargestPayload) {
  check_largest<32>();
  check_largest<64>();
}

// ---- One pool

template <class Pool>
class OnePool : public ::testing::Test {
 protected:
  static constexpr std::size_t kGranule =
      std::is_same_v<Pool, EventPool<32, Pools::one>> || std::is_same_v<Pool, EventPool<32>> ? 32
                                                                                             : 64;
  EventDepot depot_;
  Pool pool_{depot_};
};
using PoolTypes = ::testing::Types<EventPool<32, Pools::one>, EventPool<64, Pools::one>,
                                   EventPool<32>, EventPool<64>>;
TYPED_TEST_SUITE(OnePool, PoolTypes);

TYPED_TEST(OnePool, ServesFirstWhatWasFreedLast) {
  // What a fresh slab holds is two magazines: with these in use none goes to the depot.
  for (int i = 0; i < 2; ++i) this->pool_.allocate(100);
  void* const a = this->pool_.allocate(100);
  void* const b = this->pool_.allocate(100);
  EXPECT_NE(a, b);
  this->pool_.release(a, 100);
  this->pool_.release(b, 100);
  EXPECT_EQ(this->pool_.allocate(100), b);
  EXPECT_EQ(this->pool_.allocate(98), a) << "of the same kind";
  this->pool_.release(a, 98);
  EXPECT_NE(this->pool_.allocate(300), a) << "of another kind";
}

TYPED_TEST(OnePool, AlignsBlocksToItsGranule) {
  for (std::size_t bytes = 1; bytes <= 5000; bytes += 7)
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this->pool_.allocate(bytes)) % this->kGranule, 0u)
        << bytes;
}

/// Random allocations and frees of all sizes; no block overlaps another that lives.
TYPED_TEST(OnePool, NeverServesABlockTwice) {
  struct Block {
    void* memory;
    std::size_t bytes;
    std::uint64_t tag;
  };
  std::mt19937_64 random(20);
  std::vector<Block> blocks;
  for (std::uint64_t step = 0; step < 30'000; ++step) {
    if (blocks.size() < 1000 && random() % 2 == 0) {
      const std::size_t bytes = 8 * (1 + random() % (random() % 10 == 0 ? 2500 : 40));
      blocks.push_back({this->pool_.allocate(bytes), bytes, step << 32});
      fill(blocks.back().memory, bytes, blocks.back().tag);
    } else if (!blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      const Block block = blocks.back();
      blocks.pop_back();
      ASSERT_TRUE(holds(block.memory, block.bytes, block.tag)) << "at step " << step;
      this->pool_.release(block.memory, block.bytes);
    }
  }
}

TYPED_TEST(OnePool, TakesNoMoreMemoryOnceItIsWarm) {
  std::vector<void*> blocks(5000);
  std::size_t warm = 0;
  for (int round = 0; round < 20; ++round) {
    for (void*& block : blocks) block = this->pool_.allocate(96);
    for (void* block : blocks) this->pool_.release(block, 96);
    if (round == 0) warm = this->depot_.slab_bytes();
  }
  EXPECT_EQ(this->depot_.slab_bytes(), warm);
  EXPECT_GE(warm, blocks.size() * 96);
}

TEST(EventPool, OfOneThreadGivesNothingToTheDepot) {
  using Pool = EventPool<64, Pools::one>;
  EventDepot depot;
  Pool pool(depot);
  std::vector<void*> blocks(10'000);
  for (void*& block : blocks) block = pool.allocate(64);
  for (void* block : blocks) pool.release(block, 64);
  EXPECT_EQ(depot.take(Sizes<64>::kind_of(64)), nullptr);
  EXPECT_EQ(pool.used_bytes(), 0) << "it does not count";
}

TEST(EventPool, CountsWhatIsInUse) {
  EventDepot depot;
  EventPool<64> first(depot), second(depot);
  void* const block = first.allocate(100);
  void* const large = first.allocate(1500);
  EXPECT_EQ(first.used_bytes(), 128 + 2048);
  second.release(block, 100);
  EXPECT_EQ(second.used_bytes(), -128) << "the sum over the threads counts";
  first.release(large, 1500);
  EXPECT_EQ(first.used_bytes() + second.used_bytes(), 0);
}

TEST(EventPoolDeathTest, NoticesAnEventThatIsFreedTwiceInARow) {
  if constexpr (!kAssertions) GTEST_SKIP() << "assertions are compiled away in this build";
  EventDepot depot;
  EventPool<64> pool(depot);
  pool.allocate(64);  // in use, so that no magazine goes to the depot
  void* const block = pool.allocate(64);
  pool.release(block, 64);
  EXPECT_EXIT(pool.release(block, 64), ::testing::KilledBySignal(SIGABRT),
              "an event is freed once");
}

// ---- Several pools

TEST(EventPool, GivesAMagazineOfTheOldestWhenItHasFour) {
  constexpr std::size_t kBytes = 256, kKind = Sizes<64>::kind_of(kBytes);
  constexpr std::uint32_t kMagazine = Sizes<64>::magazine_of(kKind);
  EventDepot depot;
  EventPool<64> maker(depot), user(depot);
  std::vector<void*> blocks(4 * kMagazine + 1);
  for (void*& block : blocks) block = maker.allocate(kBytes);
  for (std::size_t i = 0; i + 1 < blocks.size(); ++i) user.release(blocks[i], kBytes);
  EXPECT_EQ(depot.take(kKind), nullptr) << "not before";
  user.release(blocks.back(), kBytes);
  const EventDepot::Magazine given = depot.take(kKind);
  ASSERT_NE(given, nullptr);
  EXPECT_TRUE(std::equal(blocks.begin(), blocks.begin() + kMagazine, given.get()));
  EXPECT_EQ(depot.take(kKind), nullptr) << "one magazine";
  EXPECT_EQ(user.allocate(kBytes), blocks.back()) << "the newest are nearer";
}

TEST(EventPool, TakesAMagazineBeforeFreshMemory) {
  constexpr std::size_t kBytes = 256;
  constexpr std::uint32_t kMagazine = Sizes<64>::magazine_of(Sizes<64>::kind_of(kBytes));
  EventDepot depot;
  EventPool<64> maker(depot), user(depot), taker(depot);
  std::set<void*> made;
  for (std::uint32_t i = 0; i < 4 * kMagazine + 1; ++i) made.insert(maker.allocate(kBytes));
  for (void* block : made) user.release(block, kBytes);
  const std::size_t before = depot.slab_bytes();
  for (std::uint32_t i = 0; i < kMagazine; ++i)
    EXPECT_EQ(made.count(taker.allocate(kBytes)), 1u) << i;
  EXPECT_EQ(depot.slab_bytes(), before);
}

/// One block after another from one thread to another, a bounded number on the way.
class Belt {
 public:
  void put(std::uint64_t at, void* block) {
    std::atomic<void*>& place = places_[at % kPlaces];
    while (place.load(std::memory_order_acquire) != nullptr) sched_yield();
    place.store(block, std::memory_order_release);  // with it goes what the block holds
  }
  void* get(std::uint64_t at) {
    std::atomic<void*>& place = places_[at % kPlaces];
    void* block;
    while ((block = place.load(std::memory_order_acquire)) == nullptr) sched_yield();
    place.store(nullptr, std::memory_order_release);
    return block;
  }
  static constexpr std::size_t kPlaces = 256;

 private:
  std::atomic<void*> places_[kPlaces] = {};
};

constexpr std::size_t kBytesOnBelt[] = {64, 192, 1000, 3000};
constexpr std::size_t bytes_on_belt(std::uint64_t at) {
  return kBytesOnBelt[at % std::size(kBytesOnBelt)];
}

TEST(EventPool, DoesNotGrowWhereOneThreadAllocatesAndAnotherFrees) {
  constexpr std::uint64_t kEvents = 3'000'000;
  EventDepot depot;
  EventPool<64> maker(depot), user(depot);
  Belt belt;
  std::thread consumer([&] {
    for (std::uint64_t i = 0; i < kEvents; ++i) {
      void* const block = belt.get(i);
      ASSERT_TRUE(holds(block, 32, i << 8)) << i;
      user.release(block, bytes_on_belt(i));
    }
  });
  for (std::uint64_t i = 0; i < kEvents; ++i) {
    void* const block = maker.allocate(bytes_on_belt(i));
    fill(block, 32, i << 8);
    belt.put(i, block);
  }
  consumer.join();
  EXPECT_EQ(maker.used_bytes() + user.used_bytes(), 0);
  // On the belt at most kPlaces; with each of the two at most four magazines of 32 KiB a size,
  // and one in the depot between them. Slabs are 2 MiB at most. What was allocated is some 3 GB.
  const std::size_t on_the_way = Belt::kPlaces * 4096,
                    magazines = std::size(kBytesOnBelt) * 9 * 32768;
  EXPECT_LE(depot.slab_bytes(), on_the_way + magazines + (std::size_t{2} << 20));
}

TEST(EventDepot, GivesFreshMemoryOfThatSizeAtAPage) {
  EventDepot depot;
  std::size_t total = 0;
  for (const std::size_t least : {std::size_t{64}, std::size_t{100'000}, std::size_t{5'000'001}}) {
    const MemoryPiece piece = depot.take_slab(least);
    ASSERT_GE(piece.bytes, least);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece.base) % 4096, 0u);
    std::memset(piece.base, 1, piece.bytes);
    total += piece.bytes;
  }
  EXPECT_EQ(depot.slab_bytes(), total);
  depot.note_slab(1000);
  EXPECT_EQ(depot.slab_bytes(), total + 1000);
}

}  // namespace
}  // namespace orrery
