// SPDX-License-Identifier: Apache-2.0
//
// The oracle itself: a fingerprint that overlooks a field would pass every test of equality. Each
// part of an event, each bit of a payload and the order of events must change it; the order of LPs
// must not.
#include "core/fingerprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <vector>

namespace orrery {
namespace {

struct Event {
  std::int64_t time = 1000;
  std::uint32_t step = 2;
  LpId sender = 30;
  std::uint64_t sequence = 4000;
  EventTypeId type = 0x12345678;
  std::vector<unsigned char> payload = std::vector<unsigned char>(19, 7);
  bool hashed = true;

  std::uint64_t add_to(std::uint64_t hash) const {
    const EventHeader header(Key(Time::from_ticks(time), step, sender, sequence), 0, type,
                             PayloadSize(static_cast<std::uint32_t>(payload.size()), hashed));
    return fingerprint::add_event(hash, header, payload.data());
  }
};

template <class Change>
void expect_changed(const char* what, Change&& change) {
  for (const std::uint64_t start :
       {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{0x0123456789abcdef}}) {
    const Event event;
    Event changed;
    change(changed);
    EXPECT_NE(event.add_to(start), changed.add_to(start)) << what << ", chain " << start;
  }
}

TEST(Fingerprint, EveryFieldCounts) {
  for (int bit = 0; bit < 64; ++bit)
    expect_changed("time", [bit](Event& e) {
      e.time =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(e.time) ^ std::uint64_t{1} << bit);
    });
  for (int bit = 0; bit < 24; ++bit)
    expect_changed("step", [bit](Event& e) { e.step ^= 1u << bit; });
  for (int bit = 0; bit < 32; ++bit)
    expect_changed("sender", [bit](Event& e) { e.sender ^= 1u << bit; });
  for (int bit = 0; bit < 40; ++bit)
    expect_changed("sequence", [bit](Event& e) { e.sequence ^= std::uint64_t{1} << bit; });
  for (int bit = 0; bit < 32; ++bit)
    expect_changed("type", [bit](Event& e) { e.type ^= 1u << bit; });
}

TEST(Fingerprint, EveryBitOfAPayloadCounts) {
  for (std::size_t byte = 0; byte < 19; ++byte)
    for (int bit = 0; bit < 8; ++bit)
      expect_changed("payload",
                     [&](Event& e) { e.payload[byte] ^= static_cast<unsigned char>(1 << bit); });
}

TEST(Fingerprint, LengthOfAPayloadCounts) {
  std::set<std::uint64_t> seen;
  for (std::size_t size = 0; size < 100; ++size) {
    Event event;
    event.payload.assign(size, 0);
    EXPECT_TRUE(seen.insert(event.add_to(1)).second) << "payload of " << size << " zeros";
    event.hashed = false;
    event.payload.assign(size, 9);
    const std::uint64_t one = event.add_to(1);
    event.payload.assign(size, 8);
    EXPECT_EQ(event.add_to(1), one) << "bytes that are no unique representation must not count";
  }
}

TEST(Fingerprint, TailOfTheBytesCounts) {
  std::set<std::uint64_t> seen;
  for (std::size_t size = 1; size < 40; ++size) {
    const std::vector<unsigned char> zeros(size, 0);
    EXPECT_TRUE(seen.insert(fingerprint::add_bytes(5, zeros.data(), size)).second) << size;
  }
}

TEST(Fingerprint, BytesArePlacedNotSummed) {
  const std::array<unsigned char, 16> a = {1, 2, 3}, b = {2, 1, 3};
  EXPECT_NE(fingerprint::add_bytes(0, a.data(), 16), fingerprint::add_bytes(0, b.data(), 16));
  std::array<unsigned char, 16> swapped{};
  std::copy(a.begin(), a.begin() + 8, swapped.begin() + 8);
  EXPECT_NE(fingerprint::add_bytes(0, a.data(), 16), fingerprint::add_bytes(0, swapped.data(), 16));
}

TEST(Fingerprint, OrderOfAnLpsEventsCounts) {
  Event first, second;
  second.sequence = 4001;
  for (std::uint64_t start = 0; start < 100; ++start)
    EXPECT_NE(second.add_to(first.add_to(start)), first.add_to(second.add_to(start))) << start;
}

TEST(Fingerprint, LosingOrDoublingAnEventCounts) {
  const Event event;
  std::uint64_t hash = 0;
  std::set<std::uint64_t> seen{hash};
  for (int i = 0; i < 10'000; ++i) {
    hash = event.add_to(hash);
    ASSERT_TRUE(seen.insert(hash).second) << "the chain closes after " << i << " equal events";
  }
}

TEST(Fingerprint, ContributionsDependOnTheLp) {
  std::set<std::uint64_t> seen;
  for (LpId id = 0; id < 10'000; ++id)
    EXPECT_TRUE(seen.insert(fingerprint::contribution(id, 0)).second) << "LP " << id;
  EXPECT_NE(fingerprint::contribution(1, 5) + fingerprint::contribution(2, 6),
            fingerprint::contribution(1, 6) + fingerprint::contribution(2, 5))
      << "two LPs that change places";
}

TEST(Fingerprint, OrderOfLpsDoesNotCount) {
  std::vector<std::pair<LpId, std::uint64_t>> lps;
  std::mt19937_64 random(3);
  for (LpId id = 0; id < 100; ++id) lps.emplace_back(id, random());
  const auto sum = [&] {
    std::uint64_t total = 0;
    for (const auto& [id, hash] : lps) total += fingerprint::contribution(id, hash);
    return total;
  };
  const std::uint64_t forward = sum();
  std::shuffle(lps.begin(), lps.end(), random);
  EXPECT_EQ(sum(), forward);
  lps[50].second ^= 1;
  EXPECT_NE(sum(), forward);
}

/// Random chains of short words: no collision among a million is what 64 bits promise.
TEST(Fingerprint, NoCollisionsAmongSimilarChains) {
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t a = 0; a < 512; ++a)
    for (std::uint64_t b = 0; b < 512; ++b)
      hashes.push_back(fingerprint::add_word(fingerprint::add_word(0, a), b));
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
}

}  // namespace
}  // namespace orrery
