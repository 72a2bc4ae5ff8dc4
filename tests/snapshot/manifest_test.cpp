// SPDX-License-Identifier: Apache-2.0
//
// Manifests, which have to be believed or not, and the times at which a run takes snapshots.
#include "snapshot/manifest.h"

#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "orrery/error.h"
#include "snapshot/snapshot_taker.h"

namespace orrery::snapshot {
namespace {

Manifest example() {
  Manifest m;
  m.number = 12;
  m.created = "2026-01-02T03:04:05Z";
  m.version = "0.1.0";
  m.ground = {"abc", "def", 0x100000000000, std::uint64_t{1} << 40, 4096};
  m.references = {{"/lib/libstdc++.so.6", "01", 0x7ffff7c00000, 3}};
  m.model = "phold";
  m.parameters = {{"lps", "7"}, {"name", "a \"quoted\" one"}};
  m.changes = {{"remote", "0.5"}};
  m.seed = ~std::uint64_t{0};
  m.model_seed = 17;
  m.until_ticks = 20'000'000'000;
  m.livelock_microsteps = 1'000'000;
  m.lps = 7;
  m.cut = Key(Time::from_ticks(5'000'000'000), 3, 4'000'000'000, Key::kMaxSequence);
  m.committed = 100;
  m.executed = 120;
  m.pending = 9;
  m.trail_ticks = 3;
  m.trail_lps = {1, 5};
  m.fingerprint = 0x8000000000000001;
  m.wall_seconds = 1.25;
  m.every_ticks = 1'000'000'000;
  m.wall_share = 0.25;
  m.at_ticks = {7, 8};
  m.rows_bytes = 4096;
  m.section_bytes = {16, 32, kSumBytes, 16, 48};
  m.sums = {0xffffffffffffffff, 1};
  return m;
}

TEST(Manifest, ComesBack) {
  const Manifest m = example();
  const Manifest back = Manifest::from_json(m.to_json(), "x.json");
  EXPECT_EQ(back.to_json(), m.to_json());
  EXPECT_EQ(back.cut, m.cut);
  EXPECT_EQ(back.seed, m.seed);
  EXPECT_EQ(back.model_seed, m.model_seed);
  EXPECT_EQ(back.sums, m.sums);
  EXPECT_EQ(back.parameters, m.parameters);
  EXPECT_EQ(back.references.at(0).base, m.references[0].base);
  EXPECT_EQ(back.time(), "5 s (tick 5000000000)");
  EXPECT_EQ(back.wall_share, 0.25);
}

/// Whoever asks for halts by the clock, and whoever takes them, at given moments.
TEST(ClockHalts, WaitForProgressAndForAShareOfTheTime) {
  using std::chrono::milliseconds;
  const ClockHalts::Moment now{std::chrono::hours(3)};
  ClockHalts halts;
  EXPECT_GT(halts.next_look(now, 1000), now) << "nobody has said that the run can halt";
  halts.allow(now + milliseconds(5), 100);
  EXPECT_EQ(halts.next_look(now, 1000), now + milliseconds(5));
  EXPECT_GT(halts.next_look(now + milliseconds(5), 100), now + milliseconds(5)) << "no progress";
  EXPECT_EQ(halts.next_look(now + milliseconds(5), 101), now + milliseconds(5));
  halts.forbid();
  EXPECT_GT(halts.next_look(now + milliseconds(5), 101), now + milliseconds(5)) << "asked already";
  EXPECT_EQ(ClockHalts::pause_after(milliseconds(3), 0.03), milliseconds(97));
  EXPECT_EQ(ClockHalts::pause_after(milliseconds(3), 1), milliseconds(0));
  EXPECT_EQ(ClockHalts::pause_after(milliseconds(3), 1e-300), std::chrono::hours(24));
}

TEST(Manifest, BelievesNoChange) {
  const std::string text = example().to_json();
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    if (std::isspace(static_cast<unsigned char>(text[at])) != 0 &&
        std::isspace(static_cast<unsigned char>(changed[at])) != 0)
      continue;
    try {
      // Spelled otherwise it may mean the same.
      EXPECT_EQ(Manifest::from_json(changed, "x.json").to_json(), text) << at;
    } catch (const UsageError&) {
    }
    if (at + 1 == text.size()) break;  // the end of the line is no loss
    EXPECT_THROW(Manifest::from_json(text.substr(0, at), "x.json"), UsageError) << at;
  }
}

TEST(Times, AreMultiplesAndThoseGiven) {
  const auto at = [](std::int64_t ticks) { return Time::from_ticks(ticks); };
  Times times;
  EXPECT_EQ(times.next(Key()), Time::max());
  times.every = Duration::from_ticks(10);
  EXPECT_EQ(times.next(Key()), at(10));
  EXPECT_EQ(times.next(Key::start_of(at(10))), at(20));
  EXPECT_EQ(times.next(Key::end_of(at(9))), at(10));
  EXPECT_EQ(times.next(Key::start_of(Time::max())), Time::max());
  times.at = {at(7), at(13)};
  EXPECT_EQ(times.next(Key()), at(7));
  EXPECT_EQ(times.next(Key::start_of(at(7))), at(10));
  EXPECT_EQ(times.next(Key::start_of(at(10))), at(13));
  EXPECT_EQ(times.next(Key::end_of(at(12))), at(13));
  EXPECT_EQ(times.next(Key::start_of(at(13))), at(20));
  EXPECT_FALSE(times.are_behind(Key::end_of(at(12))));
  EXPECT_TRUE(times.are_behind(Key::start_of(at(13))));
}

}  // namespace
}  // namespace orrery::snapshot
