// SPDX-License-Identifier: Apache-2.0
//
// Pools that come and go on an arena that stays, as engines do on the memory of one world: their
// memory goes back and serves the next ones, so that the arena does not grow.
#include "memory/borrowed_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "memory/block_pool.h"
#include "memory/colourings.h"
#include "memory/lp_heap.h"

namespace orrery::memory {
namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;

using testing::colouring;

/// Blocks of a pool, each filled with its number.
class Blocks {
 public:
  explicit Blocks(Arena& arena) { pool_.use_arena(arena); }
  void take(std::size_t bytes) {
    auto* const block = static_cast<std::byte*>(pool_.allocate(bytes));
    blocks_.push_back({block, bytes});
    std::memset(block, static_cast<int>(blocks_.size() & 0xff), bytes);
  }
  void release_half() {
    for (std::size_t i = blocks_.size() / 2; i < blocks_.size(); ++i)
      pool_.release(blocks_[i].first, blocks_[i].second);
    blocks_.resize(blocks_.size() / 2);
  }
  bool whole() const {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto [block, bytes] = blocks_[i];
      if (std::any_of(block, block + bytes,
                      [i](std::byte b) { return b != static_cast<std::byte>((i + 1) & 0xff); }))
        return false;
    }
    return true;
  }
  BlockPool& pool() { return pool_; }

 private:
  BlockPool pool_;
  std::vector<std::pair<std::byte*, std::size_t>> blocks_;
};

class PoolsOnOneArena : public ::testing::TestWithParam<Colouring> {};

TEST_P(PoolsOnOneArena, DoNotMakeItGrow) {
  Arena arena(GetParam());
  std::size_t stock = 0;
  for (int round = 0; round < 1000; ++round) {
    Blocks blocks(arena);
    for (int i = 0; i < 200; ++i) blocks.take(64u << (i % 10));
    blocks.release_half();
    for (int i = 0; i < 100; ++i) blocks.take(300);
    ASSERT_TRUE(blocks.whole()) << "round " << round;
    if (round == 0) stock = arena.stock_bytes();
    ASSERT_EQ(arena.stock_bytes(), stock) << "round " << round;
  }
  EXPECT_EQ(stock > 0, GetParam().on && GetParam().mild_from < GetParam().way_bytes)
      << "without a part of the ways it takes nothing from the arena";
}

INSTANTIATE_TEST_SUITE_P(Colours, PoolsOnOneArena,
                         ::testing::Values(Colouring{}, colouring(0.5), colouring(0.875),
                                           colouring(0.125, 16 * kKiB), colouring(0.5, 2 * kMiB),
                                           colouring(1), colouring(0)),
                         [](const auto& test) {
                           return (test.param.on ? "Coloured" : "Plain") +
                                  std::to_string(test.index);
                         });

/// Both kinds at a time, in another order each time, while the threshold moves as it does in a run:
/// whatever is given back when, a piece that suits is found again.
TEST(BorrowedPieces, AreFoundAgainWhereverTheThresholdIs) {
  for (const std::size_t way_bytes : {64 * kKiB, 128 * kKiB}) {
    Colouring automatic = colouring(1, way_bytes);
    automatic.mild_from = 0;
    Arena arena(automatic);
    std::mt19937_64 random(7);
    std::vector<std::size_t> sizes;
    for (int i = 0; i < 600; ++i) sizes.push_back(512u << (i % 7));
    std::size_t settled = 0;
    for (int round = 0; round < 100; ++round) {
      std::shuffle(sizes.begin(), sizes.end(), random);
      BorrowedPieces events(arena, Access::intensive);
      Blocks blocks(arena);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (i % 150 == 0) blocks.pool().set_mild_from(way_bytes / 8 * (random() % 8));
        blocks.take(sizes[i]);
        if (i % 10 == 0) {
          const Piece piece = events.take(sizes[i]);
          ASSERT_TRUE(piece.base == nullptr || piece.bytes >= sizes[i]);
          if (piece.base != nullptr) std::memset(piece.base, 0xee, piece.bytes);
        }
      }
      ASSERT_TRUE(blocks.whole()) << "round " << round;
      if (round == 30) settled = arena.stock_bytes();
    }
    EXPECT_LE(arena.stock_bytes(), settled + settled / 4);
    EXPECT_EQ(arena.displaced_bytes(), 0u);
  }
}

TEST(BorrowedPieces, ServeTheirOwnKindAgainAfterTheOther) {
  Arena arena(colouring(0.5));
  {
    Blocks blocks(arena);
    for (std::size_t taken = 0; taken < 100 * kMiB; taken += 30 * kKiB) blocks.take(30 * kKiB);
    EXPECT_GT(arena.displaced_bytes(), 30 * kMiB);
  }
  EXPECT_EQ(arena.displaced_bytes(), 0u) << "all is where it belongs";
  const std::size_t stock = arena.stock_bytes();
  BorrowedPieces events(arena, Access::intensive), checkpoints(arena, Access::mild);
  for (std::size_t taken = 0; taken < 40 * kMiB; taken += 64 * kKiB) {
    const Piece intensive = events.take(kPageBytes), mild = checkpoints.take(kPageBytes);
    ASSERT_NE(intensive.base, nullptr);
    ASSERT_NE(mild.base, nullptr);
    EXPECT_LT(arena.colouring().offset(intensive.base), 32 * kKiB);
    EXPECT_GE(arena.colouring().offset(mild.base), 32 * kKiB);
  }
  EXPECT_EQ(arena.stock_bytes(), stock);
  EXPECT_EQ(arena.displaced_bytes(), 0u);
}

TEST(BorrowedPieces, GoBackOnceThoughTheirHolderWasMoved) {
  Arena arena(colouring(0.5));
  Piece piece;
  {
    BorrowedPieces first(arena, Access::mild);
    piece = first.take(100);
    ASSERT_NE(piece.base, nullptr);
    BorrowedPieces second(std::move(first));
    first = BorrowedPieces(arena, Access::mild);
    EXPECT_NE(first.take(100).base, piece.base) << "it is still in use";
  }
  BorrowedPieces third(arena, Access::mild);
  std::vector<std::byte*> taken;
  for (int i = 0; i < 200; ++i) taken.push_back(third.take(100).base);
  EXPECT_EQ(std::count(taken.begin(), taken.end(), piece.base), 1);
}

TEST(BorrowedPieces, OfNoArenaAreNone) {
  BorrowedPieces none;
  EXPECT_EQ(none.take(100).base, nullptr);
  EXPECT_EQ(none.take_spare(100).base, nullptr);
}

/// What a pool gave back is as good as fresh memory to an LP.
TEST(BorrowedPieces, ServeAnLpAfterAPool) {
  Arena arena(colouring(0.5));
  {
    Blocks blocks(arena);
    BorrowedPieces events(arena, Access::intensive);
    for (int i = 0; i < 100; ++i) {
      blocks.take(30 * kKiB);
      const Piece piece = events.take(kPageBytes);
      std::memset(piece.base, 0xee, piece.bytes);
    }
  }
  const std::size_t stock = arena.stock_bytes();
  LpHeap heap(arena);
  std::vector<std::byte*> chunks;
  for (int i = 0; i < 1000; ++i) {
    const Access access = i % 2 == 0 ? Access::intensive : Access::mild;
    chunks.push_back(static_cast<std::byte*>(heap.allocate(1000, 16, access)));
    ASSERT_NE(chunks.back(), nullptr);
    std::memset(chunks.back(), i & 0xff, 1000);
  }
  for (int i = 0; i < 1000; ++i) {
    const std::byte* const chunk = chunks[static_cast<std::size_t>(i)];
    ASSERT_TRUE(std::all_of(chunk, chunk + 1000,
                            [i](std::byte b) { return b == static_cast<std::byte>(i & 0xff); }));
  }
  EXPECT_EQ(arena.stock_bytes(), stock);
}

#if defined(__SANITIZE_ADDRESS__)
TEST(BorrowedPieces, ArePoisonedWhileNobodyHasThem) {
  Arena arena(colouring(0.5));
  Piece piece;
  {
    BorrowedPieces pool(arena, Access::mild);
    piece = pool.take(100);
    EXPECT_EQ(__asan_region_is_poisoned(piece.base, piece.bytes), nullptr);
  }
  EXPECT_TRUE(__asan_address_is_poisoned(piece.base));
  EXPECT_TRUE(__asan_address_is_poisoned(piece.base + piece.bytes - 1));
}
#endif

}  // namespace
}  // namespace orrery::memory
