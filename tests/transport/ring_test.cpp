// SPDX-License-Identifier: Apache-2.0
//
// The ring between two workers: what its two sides promise, step by step on one thread, and under
// load on two. All interleavings of small cases are in tests/explore.
#include "transport/ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace orrery::transport {
namespace {

std::vector<int> received(Ring<int>& ring) {
  std::vector<int> all;
  const std::size_t count = ring.drain([&all](int entry) { all.push_back(entry); });
  EXPECT_EQ(count, all.size());
  return all;
}

std::vector<int> waiting(const Ring<int>& ring) {
  std::vector<int> all;
  ring.for_each_waiting([&all](int entry) { all.push_back(entry); });
  return all;
}

TEST(Ring, ShowsEntriesOnlyWhenTheyArePublished) {
  Ring<int> ring(4);
  ring.push(1);
  ring.push(2);
  EXPECT_EQ(received(ring), std::vector<int>{});
  ring.flush();
  ring.push(3);
  EXPECT_EQ(received(ring), (std::vector<int>{1, 2}));
  ring.flush();
  EXPECT_EQ(received(ring), std::vector<int>{3});
  EXPECT_EQ(received(ring), std::vector<int>{});
}

TEST(Ring, LetsEntriesWaitInOrderWhenItIsFull) {
  Ring<int> ring(4);
  for (int i = 0; i < 10; ++i) ring.push(i);
  EXPECT_EQ(waiting(ring), (std::vector<int>{4, 5, 6, 7, 8, 9}));
  ring.flush();
  EXPECT_EQ(waiting(ring).size(), 6u) << "nothing was read, so nothing can move";
  EXPECT_EQ(received(ring), (std::vector<int>{0, 1, 2, 3}));
  ring.push(10);  // there is room, but others came first
  ring.flush();
  EXPECT_EQ(waiting(ring), (std::vector<int>{8, 9, 10}));
  EXPECT_EQ(received(ring), (std::vector<int>{4, 5, 6, 7}));
  ring.flush();
  EXPECT_EQ(waiting(ring), std::vector<int>{});
  EXPECT_EQ(received(ring), (std::vector<int>{8, 9, 10}));
}

TEST(Ring, NoticesTheRoomThatTheConsumerMade) {
  Ring<int> ring(2);
  for (int i = 0; i < 100; i += 2) {
    ring.push(i);
    ring.push(i + 1);
    EXPECT_TRUE(waiting(ring).empty());
    ring.flush();
    EXPECT_EQ(received(ring), (std::vector<int>{i, i + 1}));
  }
}

struct Counted {
  int* prefetches = nullptr;
  void prefetch() const { ++*prefetches; }
};

TEST(Ring, PrefetchesEveryEntryOnceBeforeItIsReceived) {
  Ring<Counted> ring(32);
  std::vector<int> prefetches(20, 0);
  for (int& count : prefetches) ring.push({&count});
  ring.flush();
  std::size_t at = 0;
  ring.drain([&](Counted entry) {
    EXPECT_EQ(entry.prefetches, &prefetches[at++]);
    EXPECT_EQ(*entry.prefetches, 1);
  });
  EXPECT_EQ(at, prefetches.size());
  EXPECT_EQ(prefetches, std::vector<int>(20, 1));
}

TEST(Ring, KeepsOrderBetweenTwoThreads) {
  constexpr std::uint64_t kEntries = 200'000;
  for (const std::size_t capacity : {1, 8, 1024}) {
    Ring<std::uint64_t> ring(capacity);
    std::atomic<bool> all_received{false};  // ends a loop, carries no data: relaxed
    std::thread producer([&ring, &all_received] {
      std::minstd_rand random(1);
      for (std::uint64_t i = 0; i < kEntries; ++i) {
        ring.push(i);
        if (random() % 5 == 0) ring.flush();
      }
      while (!all_received.load(std::memory_order_relaxed)) {
        ring.flush();
        std::this_thread::yield();
      }
    });
    std::uint64_t next = 0;
    while (next < kEntries) {
      const std::size_t count = ring.drain([&next](std::uint64_t entry) {
        ASSERT_EQ(entry, next);
        ++next;
      });
      if (count == 0) std::this_thread::yield();
    }
    all_received.store(true, std::memory_order_relaxed);
    producer.join();
    EXPECT_EQ(ring.drain([](std::uint64_t) {}), 0u);
  }
}

}  // namespace
}  // namespace orrery::transport
