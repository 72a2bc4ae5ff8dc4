// SPDX-License-Identifier: Apache-2.0
//
// Committed events in the file: what is put in comes out, times are scaled without loss of order,
// and no file is larger than it may be.
#include "trace/committed_events.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "trace/reader.h"

namespace orrery::trace {
namespace {

struct Rows final : RowWriter {
  void write(const Row& row) override { tables.push_back(row.table); }
  std::vector<std::uint32_t> tables;
};

Facts facts(double tick_seconds = 1e-9) {
  return {"model", {"lps=5", "work=2 s"}, 7, tick_seconds, 5, {}};
}

TracedEvent event(std::int64_t ticks, LpId sender, std::uint64_t send, LpId lp) {
  TracedEvent one;
  one.key = Key(Time::from_ticks(ticks), 0, sender, send);
  one.lp = lp;
  one.type = 11;
  one.name = "Arrival";
  one.payload_bytes = 12;
  one.fingerprint = 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(ticks + 1);
  return one;
}

void put(CommittedEvents& events, const TracedEvent& one) {
  TracedEvent::Cells cells;
  events.write({one.key, 0, one.lp, TracedEvent::kTable, one.pack(cells)});
}

class CommittedEventsTest : public testing::Test {
 protected:
  ~CommittedEventsTest() override { std::filesystem::remove(path_); }
  std::size_t write(const CommittedEvents& events) {
    std::ofstream file(path_, std::ios::binary);
    events.append_packets([&](std::string& text) {
      file << text;
      text.clear();
    });
    file.close();
    return std::filesystem::file_size(path_);
  }
  const std::string path_ = testing::TempDir() + "committed-" +
                            testing::UnitTest::GetInstance()->current_test_info()->name() +
                            ".pftrace";
  TraceRecorder recorder_{{}, 1, 1};
};

TEST_F(CommittedEventsTest, ReadsBackWhatWasWritten) {
  CommittedEvents events(facts(), 1 << 20, recorder_, nullptr);
  TracedEvent start;
  start.lp = 3;
  start.first_send = 1;
  start.sends = 2;
  put(events, start);
  TracedEvent effect = event(1000, 3, 1, 2);
  effect.key = Key(Time::from_ticks(1000), 5, 3, 1);
  effect.duration_ticks = 50;
  put(events, effect);
  put(events, event(1020, 4, 9, 2));  // begins before the other has ended
  write(events);

  TraceReader reader(path_);
  EXPECT_EQ(reader.facts().model, "model");
  EXPECT_EQ(reader.facts().parameters, facts().parameters);
  EXPECT_EQ(reader.facts().seed, 7u);
  const auto first = reader.next(), second = reader.next(), third = reader.next();
  ASSERT_TRUE(first && second && third);
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.tail().events, 2u) << "and a start";
  EXPECT_TRUE(reader.tail().whole);
  EXPECT_TRUE(first->is_start());
  EXPECT_TRUE(first->is_cause_of(*second));
  EXPECT_FALSE(first->is_cause_of(*third));
  EXPECT_EQ(second->key, effect.key);
  EXPECT_EQ(second->type, "Arrival");
  EXPECT_EQ(second->payload_bytes, 12u);
  EXPECT_EQ(second->duration_ticks, 50);
  EXPECT_EQ(second->fingerprint, effect.fingerprint);
  reader.rewind();
  EXPECT_EQ(reader.next(), first);
}

TEST_F(CommittedEventsTest, HasTheNamesOfLps) {
  Facts named = facts();
  named.lp_text = [](LpId lp) { return lp_text(lp, lp == 2 ? "router (2)" : ""); };
  CommittedEvents events(named, 1 << 20, recorder_, nullptr);
  put(events, event(1000, 3, 1, 2));
  put(events, event(1020, 2, 9, 4));
  write(events);
  const TraceReader reader(path_);
  EXPECT_EQ(reader.lp_text(2), "LP 2 (router (2))");
  EXPECT_EQ(reader.lp_text(4), "LP 4");
  EXPECT_EQ(reader.lps().count, 5u);
  EXPECT_EQ(read_lps("--lps", "router*", reader.lps()), (LpRanges{{2, 2}}));
}

TEST_F(CommittedEventsTest, HandsOnRowsOfTheModel) {
  Rows rows;
  CommittedEvents events(facts(), 1 << 20, recorder_, &rows);
  put(events, event(1, 1, 1, 1));
  events.write({Key(), 0, 1, 4, {}});
  EXPECT_EQ(rows.tables, std::vector<std::uint32_t>{4});
  EXPECT_EQ(events.events(), 1u);
}

TEST_F(CommittedEventsTest, IsNeverLargerThanItMayBe) {
  for (const bool dear : {false, true}) {
    constexpr std::uint64_t kMost = 40'000;
    TraceRecorder recorder({}, 1, 1);
    CommittedEvents events(facts(dear ? 1e-3 : 1e-9), kMost, recorder, nullptr);
    std::uint64_t asked = 0;
    for (; !events.is_full(); ++asked) {
      TracedEvent one = event(static_cast<std::int64_t>(asked), 0, asked + 1, 0);
      one.first_send = asked + 2;
      one.sends = 1;
      if (dear) {
        one.key = Key(Time::from_ticks(1'000'000'000'000 + static_cast<std::int64_t>(asked)),
                      Key::kMaxStep, 4, (std::uint64_t{1} << 39) + asked);
        one.lp = 4;
        one.first_send = (std::uint64_t{1} << 39) + asked + 1;
        one.duration_ticks = 1'000'000'000'000;
        one.fingerprint = ~std::uint64_t{0};
        one.payload_bytes = 1 << 29;
      }
      put(events, one);
    }
    EXPECT_EQ(events.events(), asked - 1);
    EXPECT_FALSE(recorder.takes_events());
    const std::size_t bytes = write(events);
    EXPECT_LE(bytes, kMost);
    EXPECT_GT(bytes, kMost / 2);
    put(events, event(2'000'000'000'000, 1, 1, 1));
    EXPECT_EQ(events.events(), asked - 1) << "what was full stays so";
    TraceReader reader(path_);
    while (reader.next()) {
    }
    EXPECT_FALSE(reader.tail().whole);
    EXPECT_EQ(reader.tail().until, *events.full_at());
  }
}

TEST(TimeScale, IsRealWhereThatIsPossible) {
  EXPECT_EQ(TimeScale(1e-9, 1000).timestamp(7), 7u);
  EXPECT_EQ(TimeScale(1e-6, 1000).timestamp(7), 7000u);
  EXPECT_EQ(TimeScale(1, 1000).timestamp(7), 7'000'000'000u);
  EXPECT_TRUE(TimeScale(60, 1000).is_real());
}

TEST(TimeScale, GivesEachTickANanosecondElsewhere) {
  const TimeScale fine(1e-12, 1000), long_run(1, std::numeric_limits<std::int64_t>::max() / 2);
  EXPECT_FALSE(fine.is_real());
  EXPECT_FALSE(long_run.is_real());
  EXPECT_EQ(fine.timestamp(7), 7u);
  EXPECT_EQ(long_run.timestamp(7), 7u);
}

TEST(TimeScale, KeepsTheOrderOfTicksThatAreNoWholeNumberOfNanoseconds) {
  const TimeScale scale(1.0 / 3, 1'000'000);
  for (std::int64_t tick = 0; tick < 1000; ++tick)
    EXPECT_LT(scale.timestamp(tick), scale.timestamp(tick + 1));
}

}  // namespace
}  // namespace orrery::trace
