// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the pending event sets share: an event, sources of times that are unkind to one
// kind of set or another, a probe that counts steps, and the number of heap allocations.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "core/event_header.h"
#include "pending/dary_heap.h"
#include "pending/pending_set.h"
#include "pending/radix_heap.h"
#include "sanitizers.h"

namespace orrery::pending {

/// Calls of any `operator new` in this process so far.
std::size_t allocation_count();

struct TestEvent : EventHeader {
  void set_key(const Key& key) { static_cast<Key&>(*this) = key; }
  bool pending = false;
};

inline const Key& key_of(const TestEvent& event) {
  return event;
}

struct StepCount {
  static inline std::size_t total = 0;
  static void steps(std::size_t count) { total += count; }
};

inline constexpr std::int64_t kMaxTicks = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kMinTicks = std::numeric_limits<std::int64_t>::min();

inline std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return b > 0 ? kMaxTicks : kMinTicks;
  return sum;
}

/// Where the next event goes, given the time of the last one popped.
using Random = std::mt19937_64;
struct TimeSource {
  std::string_view name;
  std::int64_t (*next)(Random& random, std::int64_t now);
};

inline double unit(Random& random) {
  return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
}
inline std::int64_t exponential(Random& random, double mean) {
  return static_cast<std::int64_t>(-std::log(unit(random)) * mean);
}

inline constexpr std::array kTimeSources{
    TimeSource{
        "exponential",
        [](Random& r, std::int64_t now) { return saturating_add(now, exponential(r, 1e9)); }},
    TimeSource{"one instant", [](Random&, std::int64_t) { return std::int64_t{42}; }},
    TimeSource{"the end of time", [](Random&, std::int64_t) { return kMaxTicks; }},
    TimeSource{"two points",
               [](Random& r, std::int64_t) {
                 return r() % 2 == 0 ? std::int64_t{1} : std::int64_t{1} << 60;
               }},
    TimeSource{"few ticks",
               [](Random& r, std::int64_t now) {
                 return saturating_add(now, static_cast<std::int64_t>(r() % 3));
               }},
    TimeSource{"bimodal",
               [](Random& r, std::int64_t now) {
                 return saturating_add(now, exponential(r, r() % 10 == 0 ? 1e12 : 1e3));
               }},
    TimeSource{"pareto",
               [](Random& r, std::int64_t now) {
                 return saturating_add(
                     now, static_cast<std::int64_t>(std::min(9e17, 100 / std::pow(unit(r), 2))));
               }},
    TimeSource{"all 64 bits",
               [](Random& r, std::int64_t) { return static_cast<std::int64_t>(r()); }},
    TimeSource{"powers of two",
               [](Random& r, std::int64_t) { return std::int64_t{1} << (r() % 63); }},
    TimeSource{"near powers of two",
               [](Random& r, std::int64_t) {
                 return (std::int64_t{1} << (r() % 63)) - static_cast<std::int64_t>(r() % 2);
               }},
    TimeSource{"exponential and one far",
               [](Random& r, std::int64_t now) {
                 if (r() % 500 == 0) return kMaxTicks;
                 return now > (kMaxTicks >> 1) ? exponential(r, 1e9)
                                               : saturating_add(now, exponential(r, 1e9));
               }},
    TimeSource{"stragglers",
               [](Random& r, std::int64_t now) {
                 return r() % 4 == 0 ? saturating_add(now, -exponential(r, 1e7))
                                     : saturating_add(now, exponential(r, 1e9));
               }},
    TimeSource{"back and forth",
               [](Random& r, std::int64_t now) {
                 const auto jump = static_cast<std::int64_t>(r() % 2'000'001) - 1'000'000;
                 return saturating_add(now, jump);
               }},
    TimeSource{"bursts",
               [](Random& r, std::int64_t now) {
                 return r() % 64 == 0 ? saturating_add(now, std::int64_t{1} << 30) : (now | 0xffff);
               }},
    TimeSource{"ever earlier",
               [](Random& r, std::int64_t now) {
                 return saturating_add(now, -static_cast<std::int64_t>(r() % 1000) - 1);
               }},
    TimeSource{"ever later",
               [](Random& r, std::int64_t now) {
                 return saturating_add(now, static_cast<std::int64_t>(r() % 1000) + (1 << 20));
               }},
    TimeSource{"halving distances",
               [](Random& r, std::int64_t now) {
                 const std::int64_t goal = std::int64_t{1} << 62;
                 return now < 0 || now >= goal ? static_cast<std::int64_t>(r() % 2)
                                               : now + (goal - now) / 2 + 1;
               }},
};

/// Many events, with sanitizers fewer.
inline constexpr std::size_t kMany = orrery::testing::kSanitizers ? 20'000 : 1'000'000;
/// What is tried with them, too, which takes a second each.
inline bool worth_a_million(const TimeSource& source) {
  return source.name == "exponential" || source.name == "one instant" ||
         source.name == "two points" || source.name == "pareto" || source.name == "all 64 bits";
}

}  // namespace orrery::pending
