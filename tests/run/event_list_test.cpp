// SPDX-License-Identifier: Apache-2.0
//
// Events between engines: what goes in comes out once, whole and aligned; memory goes with the
// events; a failure on either side loses none; shares are about even.
#include "run/events/event_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/huge_pages.h"
#include "sanitizers.h"
#include "scarce_memory.h"

namespace orrery {
namespace {

/// The n-th event of a test; the payload is made of its number, too.
EventHeader event_of(std::uint64_t n, std::uint32_t bytes) {
  return {Key(Time::from_ticks(static_cast<std::int64_t>(n % 1000)), 0, 1, n),
          static_cast<LpId>(n % 7), static_cast<EventTypeId>(n % 3),
          PayloadSize(bytes, n % 2 == 0)};
}
std::vector<std::byte> payload_of(std::uint64_t n, std::size_t bytes) {
  std::vector<std::byte> payload(bytes);
  for (std::size_t i = 0; i < bytes; ++i) payload[i] = static_cast<std::byte>(n * 31 + i);
  return payload;
}
void append(EventList& list, std::uint64_t n, std::uint32_t bytes) {
  const std::vector<std::byte> payload = payload_of(n, bytes);
  list.append(event_of(n, bytes), payload.data());
}
void append_small(EventList& list, std::uint64_t events) {
  for (std::uint64_t n = 0; n < events; ++n) list.append(event_of(n, sizeof n), &n);
}
/// The number of an event that was taken, which is as it was appended.
std::uint64_t check(const EventHeader& event, const std::byte* payload) {
  const std::uint64_t n = event.key().sequence();
  const EventHeader expected = event_of(n, event.size.bytes());
  EXPECT_EQ(event.key(), expected.key());
  EXPECT_EQ(event.receiver, expected.receiver);
  EXPECT_EQ(event.type, expected.type);
  EXPECT_EQ(event.size.hashed(), expected.size.hashed());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(payload) % 8, 0u);
  const std::vector<std::byte> bytes = payload_of(n, event.size.bytes());
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), payload)) << n;
  return n;
}

TEST(EventList, IsEmptyAtFirst) {
  EventList list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.size(), 0u);
  EXPECT_EQ(list.bytes(), 0u);
  list.take_all([](const EventHeader&, const std::byte*) { FAIL(); });
}

TEST(EventList, GivesBackEveryEventOnceAndItsMemory) {
  EventList list;
  std::mt19937_64 random(1);
  constexpr std::uint64_t kEvents = 20'000;
  for (std::uint64_t n = 0; n < kEvents; ++n)
    append(list, n, static_cast<std::uint32_t>(random() % (n % 500 == 0 ? 100'000 : 60)));
  EXPECT_EQ(list.size(), kEvents);
  std::set<std::uint64_t> taken;
  list.take_all([&](const EventHeader& event, const std::byte* payload) {
    EXPECT_TRUE(taken.insert(check(event, payload)).second);
  });
  EXPECT_EQ(taken.size(), kEvents);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.bytes(), 0u);
  append(list, 5, 10);
  EXPECT_EQ(list.size(), 1u) << "it can be used again";
}

TEST(EventList, KeepsTheOrderWithinAChunk) {
  EventList list;
  for (std::uint64_t n = 0; n < 50; ++n) append(list, n, static_cast<std::uint32_t>(n % 9));
  ASSERT_LE(list.bytes(), 4096u) << "one chunk";
  std::uint64_t next = 0;
  list.take_all([&](const EventHeader& event, const std::byte* payload) {
    EXPECT_EQ(check(event, payload), next++);
  });
  EXPECT_EQ(next, 50u);
}

TEST(EventList, TakesNoPayloadFromNowhere) {
  EventList list;
  append(list, 0, 0);  // of an empty vector, which has no address
  list.take_all(
      [](const EventHeader& event, const std::byte*) { EXPECT_EQ(event.size.bytes(), 0u); });
}

TEST(EventList, HoldsHardlyMoreThanTheEvents) {
  EventList list;
  constexpr std::uint64_t kEvents = 1'000'000;
  append_small(list, kEvents);
  EXPECT_EQ(list.size(), kEvents);
  constexpr std::size_t kBytes = kEvents * (sizeof(EventHeader) + 8);
  EXPECT_GE(list.bytes(), kBytes);
  EXPECT_LE(list.bytes(), kBytes + kBytes / 20);
  // What is through is gone, but for the chunk that is being read.
  std::uint64_t seen = 0;
  std::uint64_t sum = 0;
  std::size_t most_too_much = 0;
  list.take_all([&](const EventHeader&, const std::byte* payload) {
    const std::size_t left = (kEvents - seen++) * (sizeof(EventHeader) + 8);
    if (list.bytes() > left) most_too_much = std::max(most_too_much, list.bytes() - left);
    std::uint64_t n;
    std::memcpy(&n, payload, sizeof n);
    sum += n;
  });
  EXPECT_EQ(seen, kEvents);
  EXPECT_EQ(sum, kEvents * (kEvents - 1) / 2);
  EXPECT_LE(most_too_much, std::size_t{3} << 20);
  EXPECT_EQ(list.bytes(), 0u);
}

/// The last chunk is not given up for an event that is too large for it.
TEST(EventList, LosesNoRoomToLargeEvents) {
  EventList list;
  std::uint64_t n = 0;
  std::size_t payloads = 0;
  for (int round = 0; round < 40; ++round) {
    for (const std::uint32_t bytes : {8u, 300'000u}) {
      append(list, n++, bytes);
      payloads += bytes;
    }
  }
  EXPECT_LE(list.bytes(), payloads + payloads / 8);
  std::set<std::uint64_t> taken;
  list.take_all([&](const EventHeader& event, const std::byte* payload) {
    taken.insert(check(event, payload));
  });
  EXPECT_EQ(taken.size(), n);
  EXPECT_EQ(list.bytes(), 0u);
}

TEST(EventList, CarriesALargePayload) {
  constexpr std::uint32_t kBytes = (1u << 26) - 1;
  EventList list;
  append(list, 1, 40);
  {
    // Pages that are only read take no memory.
    auto* const payload = static_cast<std::byte*>(huge_pages::map(kBytes));
    ASSERT_NE(payload, nullptr);
    payload[0] = std::byte{1};
    payload[kBytes - 1] = std::byte{2};
    list.append(event_of(2, kBytes), payload);
    huge_pages::unmap(payload, kBytes);
  }
  append(list, 3, 40);
  std::uint64_t large = 0, small = 0;
  list.take_all([&](const EventHeader& event, const std::byte* payload) {
    if (event.size.bytes() != kBytes) {
      ++small;
      check(event, payload);
      return;
    }
    ++large;
    EXPECT_EQ(payload[0], std::byte{1});
    EXPECT_EQ(payload[kBytes / 2], std::byte{0});
    EXPECT_EQ(payload[kBytes - 1], std::byte{2});
  });
  EXPECT_EQ(large, 1u);
  EXPECT_EQ(small, 2u);
  EXPECT_EQ(list.bytes(), 0u);
}

TEST(EventList, IsMoved) {
  EventList list;
  append_small(list, 1000);
  const std::size_t bytes = list.bytes();
  EventList other(std::move(list));
  EXPECT_EQ(other.size(), 1000u);
  EXPECT_EQ(other.bytes(), bytes);
  append_small(list, 10);  // what was moved from is empty and of use
  EXPECT_EQ(list.size(), 10u);
  list = std::move(other);
  EXPECT_EQ(list.size(), 1000u) << "what it held before is gone";
  EventList& same = list;
  list = std::move(same);
  EXPECT_EQ(list.size(), 1000u);
}

/// The event for which the taker threw is not lost, nor is any behind it.
TEST(EventList, KeepsWhatItsTakerDidNotTake) {
  EventList list;
  constexpr std::uint64_t kEvents = 3000;
  for (std::uint64_t n = 0; n < kEvents; ++n) append(list, n, 24);
  std::set<std::uint64_t> taken;
  int refusals = 0;
  while (!list.empty()) {
    std::uint64_t calls = 0;
    try {
      list.take_all([&](const EventHeader& event, const std::byte* payload) {
        if (++calls == 100) throw std::runtime_error("no room");
        EXPECT_TRUE(taken.insert(check(event, payload)).second);
      });
    } catch (const std::runtime_error&) {
      ++refusals;
      EXPECT_EQ(list.size(), kEvents - taken.size());
    }
  }
  EXPECT_EQ(refusals, 30) << "after 99 events each";
  EXPECT_EQ(taken.size(), kEvents);
  EXPECT_EQ(list.bytes(), 0u);
}

TEST(EventList, IsAsBeforeWhereThereIsNoMemory) {
  if (testing::kSanitizers) GTEST_SKIP() << "sanitizers need the address space";
  EventList list;
  append_small(list, 1000);
  const std::size_t bytes = list.bytes();
  const std::vector<std::byte> payload(std::size_t{1} << 27);
  {
    const testing::ScarceMemory scarce(std::size_t{32} << 20);
    EXPECT_THROW(list.append(event_of(5000, 1u << 27), payload.data()), std::bad_alloc);
  }
  EXPECT_EQ(list.size(), 1000u);
  EXPECT_EQ(list.bytes(), bytes);
  std::uint64_t next = 0;
  list.take_all([&](const EventHeader& event, const std::byte*) {
    EXPECT_EQ(event.key().sequence(), next++);
  });
  EXPECT_EQ(next, 1000u);
}

}  // namespace
}  // namespace orrery
