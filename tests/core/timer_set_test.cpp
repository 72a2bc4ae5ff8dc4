// SPDX-License-Identifier: Apache-2.0
//
// The set of live timers against a map, with events that are undone as a reverse handler's are.
#include "core/timer_set.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace orrery::testing {
namespace {

constexpr auto kNoSave = [](const void*, std::size_t) {};

TEST(TimerSet, HoldsWhatWasAddedAndNotRemoved) {
  std::mt19937 random(7);
  TimerSet set;
  std::map<std::uint64_t, std::uint32_t> live;  // number -> place
  std::map<std::uint64_t, std::uint32_t> gone;
  for (std::uint64_t number = 1; number < 20'000; ++number) {
    const bool growing = number / 500 % 2 == 0;
    if (live.empty() || random() % 8 < (growing ? 6u : 3u)) {
      live[number] = set.add(number, kNoSave);
    } else {
      auto one = live.lower_bound(random() % number);
      if (one == live.end()) one = live.begin();
      set.remove(one->second, kNoSave);
      gone.insert(*one);
      live.erase(one);
    }
    for (const auto& [other, place] : gone) {
      ASSERT_FALSE(set.holds(place, other));
      if (random() % 4 == 0) break;
    }
  }
  for (const auto& [number, place] : live) EXPECT_TRUE(set.holds(place, number));
  EXPECT_FALSE(set.holds(1'000'000, 1));
}

/// What an event changes, put back newest first; then the memory that it has added goes.
class Undo {
 public:
  void save(const void* address, std::size_t bytes) {
    const auto* first = static_cast<const unsigned char*>(address);
    steps_.push_back({const_cast<void*>(address), {first, first + bytes}});
  }
  void apply() {
    for (; !steps_.empty(); steps_.pop_back())
      std::memcpy(steps_.back().address, steps_.back().bytes.data(), steps_.back().bytes.size());
  }

 private:
  struct Step {
    void* address;
    std::vector<unsigned char> bytes;
  };
  std::vector<Step> steps_;
};

TEST(TimerSet, IsAsBeforeWhenAnEventIsUndone) {
  for (const std::uint32_t before : {0u, 1u, 5u, 6u, 7u, 17u, 18u, 19u, 100u}) {
    TimerSet set;
    std::vector<std::uint32_t> places;
    for (std::uint64_t number = 1; number <= before; ++number)
      places.push_back(set.add(number, kNoSave));
    if (before > 3) set.remove(places[2], kNoSave);
    const std::uint32_t pieces = set.pieces();
    Undo undo;
    const auto save = [&](const void* address, std::size_t bytes) { undo.save(address, bytes); };
    for (std::uint64_t number = 1000; number < 1100; ++number) set.add(number, save);
    if (before > 0) set.remove(places[0], save);
    undo.apply();
    set.shrink(pieces);
    EXPECT_EQ(set.pieces(), pieces);
    for (std::uint64_t number = 1; number <= before; ++number)
      EXPECT_EQ(set.holds(places[number - 1], number), before <= 3 || number != 3) << before;
    // It goes on as one that never saw the event.
    TimerSet other;
    for (std::uint64_t number = 1; number <= before; ++number) other.add(number, kNoSave);
    if (before > 3) other.remove(places[2], kNoSave);
    for (std::uint64_t number = 2000; number < 2050; ++number)
      EXPECT_EQ(set.add(number, kNoSave), other.add(number, kNoSave)) << before;
  }
}

}  // namespace
}  // namespace orrery::testing
