// SPDX-License-Identifier: Apache-2.0
//
// The LP heap by itself, without interposition: what is allocated, freed, saved and restored is
// compared with a reference that keeps a copy of every live allocation.
#include "memory/lp_heap.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "memory/heap_image.h"
#include "memory/region.h"
#include "sanitizers.h"

namespace orrery::memory {
namespace {

using Bytes = std::vector<std::byte>;
using testing::Image;
using testing::save;

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total_pages = 0;
  std::size_t resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// A heap that is driven at random beside a reference.
class Twin {
 public:
  explicit Twin(std::uint64_t seed) : random_(seed) {}

  struct Checkpoint {
    Image image;
    std::map<std::byte*, Bytes> reference;
  };

  void step(unsigned max_log_bytes) {
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2:
        allocate(max_log_bytes);
        break;
      case 3:
      case 4:
        deallocate();
        break;
      case 5:
        reallocate(max_log_bytes);
        break;
      default:
        write();
    }
  }

  Checkpoint checkpoint() { return {save(heap_), reference_}; }

  void restore(const Checkpoint& checkpoint) {
    heap_.restore(checkpoint.image.data());
    reference_ = checkpoint.reference;
    EXPECT_EQ(save(heap_), checkpoint.image);
  }

  void check() const {
    std::size_t bytes = 0;
    for (const auto& [address, contents] : reference_) {
      ASSERT_EQ(std::memcmp(address, contents.data(), contents.size()), 0);
      ASSERT_GE(heap_.usable_size(address), contents.size());
      ASSERT_TRUE(heap_.owns(address + contents.size() - 1));
      bytes += heap_.usable_size(address);
    }
    EXPECT_EQ(heap_.live_bytes(), bytes);
  }

  LpHeap& heap() { return heap_; }
  std::size_t size() const { return reference_.size(); }

 private:
  std::size_t random_bytes(unsigned max_log_bytes) {
    return 1 + random_() % (std::size_t{1} << random_() % (max_log_bytes + 1));
  }

  void fill(std::byte* address, Bytes& contents) {
    const auto value = static_cast<std::byte>(random_());
    std::fill(contents.begin(), contents.end(), value);
    std::copy(contents.begin(), contents.end(), address);
  }

  void allocate(unsigned max_log_bytes) {
    const std::size_t bytes = random_bytes(max_log_bytes);
    const std::size_t alignment = random_() % 4 == 0 ? std::size_t{1} << random_() % 18 : 16;
    auto* const address = static_cast<std::byte*>(heap_.allocate(bytes, alignment));
    ASSERT_NE(address, nullptr);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(address) % alignment, 0U);
    ASSERT_GE(heap_.usable_size(address), bytes);
    ASSERT_EQ(chunk_bytes_at(address), heap_.usable_size(address));
    expect_apart(address, bytes);
    fill(address, reference_[address] = Bytes(bytes));
  }

  void expect_apart(std::byte* address, std::size_t bytes) {
    const auto next = reference_.lower_bound(address);
    ASSERT_TRUE(next == reference_.end() || address + bytes <= next->first);
    ASSERT_TRUE(next == reference_.begin() ||
                std::prev(next)->first + std::prev(next)->second.size() <= address);
  }

  std::map<std::byte*, Bytes>::iterator pick() {
    return std::next(reference_.begin(),
                     static_cast<std::ptrdiff_t>(random_() % reference_.size()));
  }

  void deallocate() {
    if (!reference_.empty()) {
      const auto victim = pick();
      ASSERT_EQ(heap_.deallocate(victim->first), FreeStatus::ok);
      reference_.erase(victim);
    }
  }

  void reallocate(unsigned max_log_bytes) {
    if (!reference_.empty()) {
      const auto old = pick();
      Bytes contents = std::move(old->second);
      const std::size_t bytes = random_bytes(max_log_bytes);
      auto* const moved = static_cast<std::byte*>(heap_.reallocate(old->first, bytes));
      reference_.erase(old);
      const std::size_t kept = std::min(bytes, contents.size());
      ASSERT_EQ(std::memcmp(moved, contents.data(), kept), 0);
      contents.resize(bytes);
      std::memcpy(moved, contents.data(), bytes);
      reference_[moved] = std::move(contents);
    }
  }

  void write() {
    if (!reference_.empty()) {
      const auto target = pick();
      fill(target->first, target->second);
    }
  }

  std::mt19937_64 random_;
  Arena arena_;
  LpHeap heap_{arena_};
  std::map<std::byte*, Bytes> reference_;
};

class RandomHeap : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomHeap, RestoresOldCheckpointsByteForByte) {
  Twin twin(GetParam());
  std::mt19937_64 random(GetParam() + 1000);
  std::vector<Twin::Checkpoint> checkpoints{twin.checkpoint()};  // of the empty heap, too
  // Odd seeds: many small chunks. Even ones: up to 1 MiB.
  const unsigned max_log_bytes = GetParam() % 2 == 1 ? 8 : 20;
  const unsigned rounds = max_log_bytes == 8 ? 400 : 25;
  for (unsigned round = 0; round < rounds; ++round) {
    const std::uint64_t steps = random() % 100;
    for (std::uint64_t i = 0; i < steps; ++i) {
      twin.step(max_log_bytes);
      ASSERT_FALSE(HasFatalFailure());
    }
    twin.check();
    if (random() % 3 == 0) {
      const std::size_t target = random() % checkpoints.size();
      checkpoints.resize(target + 1);  // a rollback makes later checkpoints void
      twin.restore(checkpoints.back());
      twin.check();
    } else {
      checkpoints.push_back(twin.checkpoint());
    }
    ASSERT_FALSE(HasFatalFailure());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomHeap, ::testing::Range<std::uint64_t>(1, 13));

TEST(LpHeap, ServesEqualAddressesWhenExecutedAgain) {
  Arena arena;
  LpHeap heap(arena);
  std::mt19937_64 random(7);
  std::vector<std::byte*> live;
  // Returns the addresses that a random sequence of operations is served.
  const auto execute = [&](std::uint64_t seed, std::vector<std::byte*>& objects) {
    std::mt19937_64 local(seed);
    std::vector<std::byte*> served;
    for (int i = 0; i < 300; ++i) {
      if (local() % 5 < 2 && !objects.empty()) {
        const std::size_t victim = local() % objects.size();
        EXPECT_EQ(heap.deallocate(objects[victim]), FreeStatus::ok);
        objects.erase(objects.begin() + static_cast<std::ptrdiff_t>(victim));
      } else {
        const std::size_t bytes = 1 + local() % (std::size_t{1} << local() % 18);
        const std::size_t alignment = std::size_t{1} << local() % 18;
        auto* const object = static_cast<std::byte*>(heap.allocate(bytes, alignment));
        std::memset(object, 0, bytes);
        objects.push_back(object);
        served.push_back(object);
      }
    }
    return served;
  };
  for (int round = 0; round < 20; ++round) {
    const Image before = save(heap);
    const std::vector<std::byte*> live_before = live;
    const std::uint64_t seed = random();
    const auto first = execute(seed, live);
    const Image after = save(heap);
    heap.restore(before.data());
    live = live_before;
    execute(random(), live);  // a straggler's event comes in between, and is rolled back as well
    heap.restore(before.data());
    live = live_before;
    ASSERT_EQ(execute(seed, live), first);
    ASSERT_EQ(save(heap), after) << "equal states must have equal images";
  }
}

// A heap of thousands of runs, small and large, serves what a list in the order of creation would.
TEST(LpHeap, ServesTheFirstThatIsFreeOfThousandsOfRuns) {
  struct Known {
    std::vector<std::byte*> created;  // in the order in which they were served first
    std::set<std::size_t> free;       // of these
    std::set<std::size_t> live;
  };
  constexpr std::size_t kSizes[] = {30'000, 40'000, 65'536, 100'000};
  Arena arena;
  LpHeap heap(arena);
  std::array<Known, 4> known;
  std::mt19937_64 random(11);
  const auto allocate = [&](std::size_t kind, std::size_t alignment) {
    Known& k = known[kind];
    auto* const served = static_cast<std::byte*>(heap.allocate(kSizes[kind], alignment));
    ASSERT_NE(served, nullptr);
    const auto fits = [&](std::size_t i) {
      return reinterpret_cast<std::uintptr_t>(k.created[i]) % alignment == 0;
    };
    const auto first = std::find_if(k.free.begin(), k.free.end(), fits);
    if (first == k.free.end()) {
      k.created.push_back(served);
      k.live.insert(k.created.size() - 1);
      return;
    }
    ASSERT_EQ(served, k.created[*first]) << kSizes[kind] << " bytes";
    k.live.insert(*first);
    k.free.erase(first);
  };
  const auto release = [&](std::size_t kind) {
    Known& k = known[kind];
    auto victim = k.live.lower_bound(random() % k.created.size());
    if (victim == k.live.end()) return;
    ASSERT_EQ(heap.deallocate(k.created[*victim]), FreeStatus::ok);
    k.free.insert(*victim);
    k.live.erase(victim);
  };
  for (int i = 0; i < 12'000; ++i) allocate(random() % 4, 16);
  ASSERT_GT(heap.run_count(), 2U * 4096) << "more than a word of words";
  std::vector<std::byte> layout(heap.layout_bytes());
  heap.save_layout(layout.data());
  const std::array<Known, 4> before = known;
  for (int phase = 0; phase < 6; ++phase) {
    const unsigned frees = phase % 2 == 0 ? 3 : 1;  // of 4 steps
    for (int i = 0; i < 6'000 && !HasFatalFailure(); ++i) {
      const std::size_t kind = random() % 4;
      if (random() % 4 < frees) {
        release(kind);
      } else {
        allocate(kind, kind > 1 && random() % 8 == 0 ? 4 * kBlockBytes : 16);
      }
    }
    ASSERT_FALSE(HasFatalFailure()) << "phase " << phase;
    if (phase != 3) continue;
    heap.restore_layout(layout.data());  // what was created since is free
    for (std::size_t kind = 0; kind < 4; ++kind) {
      known[kind].live = before[kind].live;
      known[kind].free.clear();
      for (std::size_t i = 0; i < known[kind].created.size(); ++i)
        if (!before[kind].live.contains(i)) known[kind].free.insert(i);
    }
  }
}

TEST(LpHeap, MergesNeighboursAndIteratesInImageOrder) {
  Arena arena;
  LpHeap heap(arena);
  for (int i = 0; i < 40; ++i) {
    std::memset(heap.allocate(48), i, 48);
  }
  const Image image = save(heap);
  Image rows;
  std::size_t count = 0;
  heap.for_each_live([&](const std::byte* begin, std::size_t bytes, std::size_t chunk_bytes) {
    EXPECT_EQ(chunk_bytes, 48U);
    rows.insert(rows.end(), begin, begin + bytes);
    ++count;
  });
  EXPECT_EQ(count, heap.run_count()) << "full runs are one row each";
  EXPECT_EQ(rows.size(), heap.live_bytes());
  EXPECT_TRUE(std::equal(rows.rbegin(), rows.rend(), image.rbegin()));
}

TEST(LpHeap, AnswersMisuseAndStaysIntact) {
  Arena arena;
  for (const std::size_t objects : {std::size_t{1}, std::size_t{6}, std::size_t{2000}}) {
    LpHeap mine(arena);
    LpHeap other(arena);
    std::vector<std::byte*> live;
    for (std::size_t i = 0; i < objects; ++i) {
      live.push_back(static_cast<std::byte*>(mine.allocate(40 + 40 * (i % 9))));
    }
    void* const foreign = other.allocate(48);
    void* const foreign_large = other.allocate(100'000);
    int system = 0;
    const std::size_t live_bytes = mine.live_bytes();
    EXPECT_EQ(mine.deallocate(foreign), FreeStatus::foreign);
    EXPECT_EQ(mine.deallocate(foreign_large), FreeStatus::foreign);
    EXPECT_EQ(mine.deallocate(&system), FreeStatus::foreign);
    EXPECT_EQ(mine.deallocate(nullptr), FreeStatus::foreign);
    EXPECT_EQ(mine.deallocate(live.front() + 16), FreeStatus::not_start);
    EXPECT_EQ(mine.deallocate(live.front() + 1), FreeStatus::not_start);
    EXPECT_EQ(mine.live_bytes(), live_bytes);
    for (std::byte* const object : live) {
      ASSERT_EQ(mine.deallocate(object), FreeStatus::ok);
      ASSERT_EQ(mine.deallocate(object), FreeStatus::not_live);
      ASSERT_EQ(mine.usable_size(object), 0U);
    }
    EXPECT_EQ(mine.live_bytes(), 0U);
    EXPECT_EQ(other.usable_size(foreign), 48U);
  }
}

// The thread's last allocation may be of a heap that has gone, and its memory be another's, where
// it lies in another run and was not served quickly.
TEST(LpHeap, FreesWhereTheLastAllocationOfAHeapThatHasGoneWas) {
  Arena arena;
  LpHeap heap(arena);
  ASSERT_NE(heap.allocate(48), nullptr);
  ASSERT_NE(heap.allocate(200), nullptr);
  for (const std::uint32_t stale_run : {0u, 1u, 1'000'000u}) {
    auto* const address = static_cast<std::byte*>(heap.allocate(100));
    ASSERT_NE(address, nullptr);
    thread_context.last = {address, stale_run, 3};
    EXPECT_EQ(heap.deallocate(address), FreeStatus::ok) << stale_run;
    EXPECT_EQ(heap.deallocate(address), FreeStatus::not_live) << stale_run;
  }
}

TEST(LpHeap, RefusesWhatNoMemoryCanHold) {
  Arena arena;
  LpHeap heap(arena);
  void* const small = heap.allocate(10);
  EXPECT_EQ(heap.allocate(~std::size_t{0}), nullptr);
  EXPECT_EQ(heap.allocate(kLargestRequestBytes + 1), nullptr);
  EXPECT_EQ(heap.allocate(kLargestRequestBytes), nullptr) << "no pool of the region is so large";
  EXPECT_EQ(heap.allocate(8, ~(~std::size_t{0} >> 1)), nullptr);
  EXPECT_EQ(heap.reallocate(small, ~std::size_t{0}), nullptr);
  EXPECT_EQ(heap.usable_size(small), 16U);
  EXPECT_NE(heap.allocate(0), nullptr);
}

TEST(LpHeap, WithoutAnArenaServesNothing) {
  LpHeap heap(LpHeap::kNoArena);
  EXPECT_EQ(heap.allocate(10), nullptr);
  EXPECT_EQ(heap.allocate(10, 64), nullptr);
  EXPECT_EQ(heap.allocate(1 << 20), nullptr);
  int elsewhere = 0;
  EXPECT_EQ(heap.deallocate(&elsewhere), FreeStatus::foreign);
  EXPECT_EQ(heap.usable_size(&elsewhere), 0U);
}

TEST(LpHeap, ShowsWhatIsFree) {
  Arena arena;
  LpHeap heap(arena);
  std::vector<std::byte*> live;
  for (int i = 0; i < 12; ++i) {
    live.push_back(static_cast<std::byte*>(heap.allocate(40)));
  }
  heap.deallocate(live[3]);
  std::size_t bytes = 0;
  bool seen = false;
  heap.for_each_free([&](std::byte* begin, std::size_t row_bytes, std::size_t chunk) {
    EXPECT_EQ(chunk, 48U);
    EXPECT_EQ(row_bytes % chunk, 0U);
    bytes += row_bytes;
    seen = seen || (begin <= live[3] && live[3] < begin + row_bytes);
    for (std::size_t i = 0; i < live.size(); ++i) {
      EXPECT_FALSE(i != 3 && begin <= live[i] && live[i] < begin + row_bytes) << i;
    }
  });
  EXPECT_TRUE(seen);
  EXPECT_EQ(bytes, (1 + 4 + 16 - 11) * 48U) << "runs of 1, 4 and 16 chunks, 11 of them live";
}

#if defined(__SANITIZE_ADDRESS__)
using LpHeapDeathTest = ::testing::Test;

TEST(LpHeapDeathTest, OverrunIntoTheSlackIsReportedAtTheWrite) {
  Arena arena;
  LpHeap heap(arena);
  auto* const text = static_cast<volatile char*>(heap.allocate(20));
  text[19] = 'x';
  EXPECT_DEATH(text[20] = 'x', "use-after-poison");
  auto* const aligned = static_cast<volatile char*>(heap.allocate(100, 64));
  EXPECT_DEATH(aligned[100] = 'x', "use-after-poison");
  auto* const large = static_cast<volatile char*>(heap.allocate(100'000));
  EXPECT_DEATH(large[100'000] = 'x', "use-after-poison");
}

TEST(LpHeapDeathTest, WriteAfterFreeIsReportedAtTheWrite) {
  Arena arena;
  LpHeap heap(arena);
  auto* const text = static_cast<volatile char*>(heap.allocate(20));
  heap.deallocate(const_cast<char*>(text));
  EXPECT_DEATH(text[0] = 'x', "use-after-poison");
}

/// Checkpoints copy whole chunks, slack and all, without being taken for an overrun.
TEST(LpHeapDeathTest, SlackDoesNotDisturbCheckpoints) {
  Arena arena;
  LpHeap heap(arena);
  std::vector<char*> live;
  for (int i = 0; i < 50; ++i) {
    live.push_back(static_cast<char*>(heap.allocate(static_cast<std::size_t>(5 + i))));
    std::memset(live.back(), i, static_cast<std::size_t>(5 + i));
  }
  std::vector<std::byte> image(heap.image_bytes());
  heap.save(image.data());
  live[7][0] = 'x';
  heap.restore(image.data());
  EXPECT_EQ(live[7][0], 7);
  auto* const grown = static_cast<char*>(heap.reallocate(live[7], 900));
  EXPECT_EQ(grown[11], 7);
}
#endif

TEST(LpHeap, KeepsItsMemoryWhenMovedAndWhenItsLpMigrates) {
  auto old_worker = std::make_unique<Arena>();
  auto new_worker = std::make_unique<Arena>();
  {
    LpHeap first(*old_worker);
    std::vector<std::byte*> live;
    for (int i = 0; i < 200; ++i) {
      live.push_back(static_cast<std::byte*>(first.allocate(64)));
      std::memset(live.back(), i, 64);
    }
    LpHeap heap(std::move(first));
    heap.use_arena(*new_worker);
    const Image image = save(heap);
    for (int i = 0; i < 5000; ++i) {
      ASSERT_NE(heap.allocate(64), nullptr);
    }
    EXPECT_GT(new_worker->taken_bytes(), 0U);
    heap.restore(image.data());
    EXPECT_EQ(heap.live_bytes(), 200U * 64);
    for (std::byte* const object : live) {
      EXPECT_EQ(heap.deallocate(object), FreeStatus::ok);
    }
  }
}

TEST(LpHeap, AMillionSmallHeapsCostNextToNothing) {
  constexpr std::size_t kHeaps = 1'000'000;
  EXPECT_LE(sizeof(LpHeap), 64U);
  const std::size_t before = resident_bytes();
  auto arena = std::make_unique<Arena>();
  std::vector<LpHeap> heaps;
  heaps.reserve(kHeaps);
  for (std::size_t i = 0; i < kHeaps; ++i) {
    heaps.emplace_back(*arena);
    std::memset(heaps.back().allocate(48), 1, 48);
  }
  EXPECT_LE(arena->taken_bytes(), kHeaps * 48 + (std::size_t{32} << 20));
  if (!orrery::testing::kSanitizers) {
    const std::size_t used = resident_bytes() - before;
    EXPECT_LE(used, kHeaps * (64 + 48)) << used / kHeaps << " bytes a heap";
    std::vector<LpHeap>().swap(heaps);
    arena.reset();
    EXPECT_LE(resident_bytes(), before + (std::size_t{8} << 20)) << "a run's memory goes back";
  }
}

TEST(Region, ServesReturnedMemoryAgainAndZeroed) {
  for (int round = 0; round < 50; ++round) {
    Arena arena;
    LpHeap heap(arena);
    for (const std::size_t bytes :
         {std::size_t{100}, std::size_t{300'000}, std::size_t{40} << 20}) {
      auto* const memory = static_cast<unsigned char*>(heap.allocate(bytes));
      ASSERT_NE(memory, nullptr);
      ASSERT_EQ(memory[0], 0);
      ASSERT_EQ(memory[bytes - 1], 0);
      memory[0] = memory[bytes - 1] = 1;
      ASSERT_TRUE(is_lp_pointer(memory));
    }
  }
  Region& region = Region::instance();
  std::byte* const a = region.take(Region::Pool::large, kBlockBytes, kBlockBytes, false);
  std::byte* const b = region.take(Region::Pool::large, kBlockBytes, kBlockBytes, false);
  std::byte* const c = region.take(Region::Pool::large, 2 * kBlockBytes, kBlockBytes, false);
  region.give_back(Region::Pool::large, a, kBlockBytes);
  region.give_back(Region::Pool::large, b, kBlockBytes);  // merges with a
  EXPECT_EQ(region.take(Region::Pool::large, 2 * kBlockBytes, kBlockBytes, false), a);
  region.give_back(Region::Pool::large, a, 2 * kBlockBytes);
  region.give_back(Region::Pool::large, c, 2 * kBlockBytes);
}

TEST(SizeClass, ChunksHoldWhatIsAskedWithLittleWaste) {
  unsigned last = 0;
  for (std::size_t bytes = 1; bytes <= 3 * kLargestSmallBytes; ++bytes) {
    const unsigned size_class = class_of(bytes);
    ASSERT_GE(chunk_bytes(size_class), bytes);
    ASSERT_TRUE(size_class == last || size_class == last + 1);
    ASSERT_TRUE(size_class == 0 || chunk_bytes(size_class - 1) < bytes) << "the smallest that fits";
    last = size_class;
  }
  for (unsigned size_class = 0; size_class < kSmallClasses; ++size_class) {
    const std::size_t chunk = chunk_bytes(size_class);
    for (std::size_t offset = 0; offset < kBlockBytes; ++offset) {
      ASSERT_EQ(chunk_index(size_class, offset), offset / chunk);
    }
  }
  EXPECT_EQ(class_of(kLargestRequestBytes) < kClasses, true);
  EXPECT_EQ(chunk_bytes(class_of(kLargestRequestBytes)), kLargestRequestBytes);
  for (unsigned log = 4; log <= 16; ++log) {
    const std::size_t alignment = std::size_t{1} << log;
    for (const std::size_t bytes : {1, 17, 100, 1000, 5000, 40000}) {
      const unsigned size_class = class_of_aligned(bytes, alignment);
      EXPECT_GE(chunk_bytes(size_class), bytes);
      EXPECT_TRUE(is_large(size_class) || chunk_bytes(size_class) % alignment == 0);
    }
  }
}

}  // namespace
}  // namespace orrery::memory
