// SPDX-License-Identifier: Apache-2.0
//
// What looking ahead touches: the records of announced events, and no more of them at a time than
// it should. That a prefetch is early enough is seen in measurements only.
#include "run/loop/look_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace orrery {
namespace {

struct Announced {
  std::uint32_t receiver;
  std::size_t bytes() const { return sizeof *this; }
};

/// Announces what it is given.
struct Announcing {
  std::vector<Announced> events;
  std::size_t next = 0;
  const Announced* announced() { return next < events.size() ? &events[next++] : nullptr; }
};

struct Record {
  int* object;
};

/// Notes which are asked for.
struct Records {
  std::vector<Record> records;
  std::vector<std::uint32_t> asked;
  Record& operator[](std::uint32_t id) {
    asked.push_back(id);
    return records[id];
  }
};

TEST(LookAhead, AsksForTheRecordsOfAllThatIsAnnouncedTwoAtATime) {
  int object = 0;
  Records records{std::vector<Record>(100, Record{&object}), {}};
  Announcing pending;
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < 99; ++i) {
    expected.push_back(i * 37 % 100);
    pending.events.push_back({expected.back()});
  }
  LookAhead<Record> look_ahead;
  for (std::size_t step = 1; step <= 60; ++step) {
    look_ahead.step(pending, records);
    EXPECT_EQ(records.asked.size(), std::min<std::size_t>(2 * step, 99));
  }
  EXPECT_EQ(records.asked, expected);
}

TEST(LookAhead, ALpWithoutAnObjectIsNoHarm) {
  Records records{std::vector<Record>(1, Record{nullptr}), {}};
  Announcing pending;
  pending.events.assign(64, {0});
  LookAhead<Record> look_ahead;
  for (int step = 0; step < 32; ++step) look_ahead.step(pending, records);
  EXPECT_EQ(records.asked.size(), 64U);
}

}  // namespace
}  // namespace orrery
