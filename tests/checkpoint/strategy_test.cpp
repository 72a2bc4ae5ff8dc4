// SPDX-License-Identifier: Apache-2.0
//
// What --checkpoint and --offload accept, and the sentences for what they do not.
#include <gtest/gtest.h>

#include "checkpoint/copier.h"
#include "checkpoint/offload.h"
#include "checkpoint/options.h"
#include "checkpoint/strategy.h"
#include "orrery/error.h"

namespace orrery::checkpoint {
namespace {

template <class Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(CheckpointStrategy, NamesMeanWhatTheySay) {
  EXPECT_EQ(Strategy::parse("copy").interval().events(), 1u);
  EXPECT_EQ(Strategy::parse("periodic:12").interval().events(), 12u);
  EXPECT_TRUE(Strategy::parse("adaptive").interval().is_automatic());
  EXPECT_EQ(Strategy::parse("incremental").kind(), Kind::delta);
  EXPECT_EQ(Strategy::parse("reverse").kind(), Kind::reverse);
  EXPECT_TRUE(Strategy::parse("auto").automatic());
}

TEST(CheckpointStrategy, RefusesOthersAndListsAll) {
  for (const char* text : {"", "undo", "periodic", "periodic:", "periodic:0", "periodic:1025",
                           "periodic:7x", "Copy"}) {
    const std::string sentence = refusal([&] { Strategy::parse(text); });
    EXPECT_NE(sentence.find("adaptive, incremental, reverse"), std::string::npos) << text;
  }
}

TEST(CheckpointOffload, RefusesWhatCannotBe) {
  const auto with = [](auto&& change) {
    return refusal([&] {
      RunOptions options;
      change(options);
      Offload::parse(options);
    });
  };
  EXPECT_EQ(with([](RunOptions&) {}), "accepted");
  EXPECT_NE(
      with([](RunOptions& o) { o.set(checkpoint::kOffload, "dual"); }).find("none, mono or multi"),
      std::string::npos);
  EXPECT_NE(with([](RunOptions& o) {
              o.set(checkpoint::kOffload, "multi");
              o.set(checkpoint::kCopiers, 0);
            }).find("needs a copier"),
            std::string::npos);
  EXPECT_NE(with([](RunOptions& o) {
              o.set(checkpoint::kOffload, "multi");
              o.set(checkpoint::kCheckpoint, "incremental");
            }).find("whole images"),
            std::string::npos);
  EXPECT_NE(
      with([](RunOptions& o) { o.set(checkpoint::kAbortThreshold, 1.5); }).find("from 0 to 1"),
      std::string::npos);
}

TEST(CheckpointOffload, HardwareThatIsNotDrivenIsNotSimulated) {
  EXPECT_NE(refusal([] { find_copier_backend("dsa"); }).find("no hardware copy engine"),
            std::string::npos);
  EXPECT_NE(refusal([] { find_copier_backend("magic"); }).find("thread, synchronous"),
            std::string::npos);
}

TEST(CheckpointOffload, ThresholdSearchFindsTheBestStep) {
  RunOptions options;
  options.set(checkpoint::kOffload, "multi");
  ThresholdSearch search(Offload::parse(options));
  std::uint64_t executed = 0, cycles = std::uint64_t{1} << 50;  // the counter ran before
  for (int period = 0; period < 200; ++period) {
    executed += 20000;
    const double distance = search.threshold() - 0.2;
    cycles += static_cast<std::uint64_t>(2e6 * (1 + distance * distance * 4));
    search.note(executed, cycles);
  }
  EXPECT_NEAR(search.threshold(), 0.2, 0.15);
}

TEST(CheckpointInterval, FollowsRoennngrenAndAyani) {
  Interval interval = Interval::automatic();
  // sqrt(2 * 100000 * 50 / (1000 * 100)) = 10
  interval.adjust(100'000, 1000, 50, 100);
  EXPECT_EQ(interval.events(), 10u);
  interval.adjust(100'000, 0, 50, 100);
  EXPECT_EQ(interval.events(), Interval::kLongestAutomatic);
  interval.adjust(10, 0, 50, 100);
  EXPECT_NEAR(interval.events(), 5, 1) << "ten events without a rollback say nothing";
  interval.adjust(10, 0, 50, 10'000);
  EXPECT_EQ(interval.events(), 1u) << "long events are not to be executed again";
  Interval fixed = Interval::fixed(7);
  fixed.adjust(1000, 10, 50, 100);
  EXPECT_EQ(fixed.events(), 7u);
}

}  // namespace
}  // namespace orrery::checkpoint
