// SPDX-License-Identifier: Apache-2.0
//
// The total order of events against the tuple that it stands for, and the packing of its parts at
// and between their bounds.
#include "core/key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "core/event_header.h"

namespace orrery {
namespace {

using Parts = std::tuple<std::int64_t, std::uint32_t, LpId, std::uint64_t>;

Key key_of(const Parts& parts) {
  const auto& [time, step, sender, sequence] = parts;
  return Key(Time::from_ticks(time), step, sender, sequence);
}

Parts parts_of(const Key& key) {
  return {key.time().ticks(), key.step(), key.sender(), key.sequence()};
}

std::string text(const Parts& parts) {
  const auto& [time, step, sender, sequence] = parts;
  return "(" + std::to_string(time) + ", " + std::to_string(step) + ", " + std::to_string(sender) +
         ", " + std::to_string(sequence) + ")";
}

const std::vector<std::int64_t> kTimes = {INT64_MIN, -1, 0, 1, 1 << 20, INT64_MAX - 1, INT64_MAX};
const std::vector<std::uint32_t> kSteps = {0,
                                           1,
                                           255,
                                           256,
                                           65536,
                                           Key::kMaxMicrostep,
                                           Key::kMaxMicrostep + 1,
                                           Key::kMaxStep - 1,
                                           Key::kMaxStep};
const std::vector<LpId> kSenders = {0, 1, 255, 256, 1u << 24, 0x7fffffff, 0x80000000, ~LpId{0}};
const std::vector<std::uint64_t> kSequences = {0,
                                               1,
                                               0x7fffffff,
                                               0x80000000,
                                               0xffffffff,
                                               std::uint64_t{1} << 32,
                                               Key::kMaxSequence - 1,
                                               Key::kMaxSequence};

/// Bounds, values next to them, and random bits in between.
class PartsSource {
 public:
  explicit PartsSource(std::uint64_t seed) : random_(seed) {}
  Parts operator()() {
    return {pick(kTimes), pick(kSteps) & Key::kMaxStep, pick(kSenders),
            pick(kSequences) & Key::kMaxSequence};
  }

 private:
  template <class T>
  T pick(const std::vector<T>& edges) {
    if (random_() % 4 == 0) return static_cast<T>(random_());
    return edges[random_() % edges.size()];
  }
  std::mt19937_64 random_;
};

TEST(Key, PacksEveryPartAtItsBounds) {
  for (const std::int64_t time : kTimes)
    for (const std::uint32_t step : kSteps)
      for (const LpId sender : kSenders)
        for (const std::uint64_t sequence : kSequences) {
          const Parts parts{time, step, sender, sequence};
          ASSERT_EQ(parts_of(key_of(parts)), parts) << text(parts);
        }
}

/// A later phase comes after all microsteps of the phases before it.
TEST(Key, HasAPhase) {
  const auto in = [](unsigned phase, std::uint32_t microstep) {
    return Key(Time::from_ticks(7), Key::first_step_of(phase) + microstep, 3, 1);
  };
  for (const unsigned phase : {0u, 1u, 14u, 15u})
    for (const std::uint32_t microstep : {0u, 1u, Key::kMaxMicrostep}) {
      EXPECT_EQ(in(phase, microstep).phase(), phase);
      EXPECT_EQ(in(phase, microstep).microstep(), microstep);
    }
  EXPECT_LT(in(4, Key::kMaxMicrostep), in(5, 0));
  EXPECT_LT(in(15, Key::kMaxMicrostep), Key::end_of(Time::from_ticks(7)));
}

TEST(Key, OrderIsThatOfTheTuple) {
  constexpr std::uint64_t kSeed = 20;
  PartsSource source(kSeed);
  for (int i = 0; i < 200'000; ++i) {
    Parts a = source(), b = source();
    if (i % 2 == 0) std::get<0>(b) = std::get<0>(a);
    if (i % 4 == 0) std::get<1>(b) = std::get<1>(a);
    if (i % 8 == 0) std::get<2>(b) = std::get<2>(a);
    if (i % 64 == 0) b = a;
    const Key x = key_of(a), y = key_of(b);
    ASSERT_TRUE((x <=> y) == (a <=> b)) << text(a) << " and " << text(b) << ", step " << i;
    ASSERT_EQ(x == y, a == b) << text(a) << " and " << text(b);
    ASSERT_EQ(x < y, a < b) << text(a) << " and " << text(b);
  }
}

TEST(Key, SortsLikeTheTuple) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    PartsSource source(seed);
    std::vector<Parts> parts(2000);
    std::generate(parts.begin(), parts.end(), source);
    std::vector<Key> keys;
    for (const Parts& p : parts) keys.push_back(key_of(p));
    std::sort(parts.begin(), parts.end());
    std::sort(keys.begin(), keys.end());
    for (std::size_t i = 0; i < keys.size(); ++i)
      ASSERT_EQ(parts_of(keys[i]), parts[i]) << "seed " << seed << ", place " << i;
  }
}

TEST(Key, StartAndEndOfAnInstantEncloseIt) {
  PartsSource source(77);
  for (int i = 0; i < 10'000; ++i) {
    const Parts parts = source();
    const Key key = key_of(parts);
    ASSERT_LE(Key::start_of(key.time()), key) << text(parts);
    ASSERT_GE(Key::end_of(key.time()), key) << text(parts);
    ASSERT_LE(key, Key::infinity()) << text(parts);
    if (key.time() < Time::max()) {
      ASSERT_LT(Key::end_of(key.time()), Key::start_of(key.time() + Duration::from_ticks(1)));
      ASSERT_LT(key, Key::infinity());
    }
  }
}

/// A cause precedes its effect, whatever the senders are.
TEST(Key, ZeroDelayEffectsFollowTheirCause) {
  const Key cause(Time::from_ticks(5), 3, ~LpId{0}, Key::kMaxSequence);
  const Key effect(Time::from_ticks(5), 4, 0, 0);
  EXPECT_LT(cause, effect);
}

TEST(Key, FitsTheCommonHeader) {
  const EventHeader header(Key(Time::from_ticks(-3), 1, 2, 3), 4, 5, PayloadSize(100'000, true));
  EXPECT_EQ(header.key(), Key(Time::from_ticks(-3), 1, 2, 3));
  EXPECT_EQ(header.receiver, 4u);
  EXPECT_EQ(header.type, 5u);
  EXPECT_EQ(header.size.bytes(), 100'000u);
  EXPECT_TRUE(header.size.hashed());
  EXPECT_FALSE(header.size.has_trailer());
  EXPECT_FALSE(PayloadSize(0x3fffffff, false).hashed());
  EXPECT_EQ(PayloadSize(0x3fffffff, false).bytes(), 0x3fffffffu);
  EXPECT_FALSE(PayloadSize(0x3fffffff, true).has_trailer());
  EXPECT_TRUE(PayloadSize(0, false, true).has_trailer());
  EXPECT_FALSE(PayloadSize(0, false, true).hashed());
  EXPECT_EQ(PayloadSize(0, true, true).bytes(), 0u);
}

/// The header's own fields lie in the key's tail padding: assigning a key must not touch them.
TEST(Key, AssigningAKeyLeavesTheHeaderAlone) {
  EventHeader header(Key(Time::from_ticks(1), 1, 1, 1), 44, 55, PayloadSize(66, true));
  const Key other(Time::from_ticks(9), 8, 7, 6);
  static_cast<Key&>(header) = other;
  EXPECT_EQ(header.key(), other);
  EXPECT_EQ(header.receiver, 44u);
  EXPECT_EQ(header.type, 55u);
  EXPECT_EQ(header.size.bytes(), 66u);
}

}  // namespace
}  // namespace orrery
