// SPDX-License-Identifier: Apache-2.0
//
// Which pages were written, and how many mappings it costs to know.
#include "checkpoint/page_tracker.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "memory/region.h"

namespace orrery::checkpoint {
namespace {

constexpr std::size_t kPage = PageTracker::kPageBytes, kWindow = PageTracker::kWindowBytes;

/// LP memory, as arenas take it.
class PageTrackerTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kWindows = 16;
  static constexpr auto kPool = memory::Region::Pool::large;

  PageTrackerTest()
      : memory_(memory::Region::instance().take(kPool, kWindows * kWindow, 2 * kWindow, false)) {}
  ~PageTrackerTest() override {
    memory::Region::instance().give_back(kPool, memory_, kWindows * kWindow);
  }
  void SetUp() override {
    PageTracker tracker(1);
    if (!tracker.watch(memory_, memory_ + kPage)) GTEST_SKIP() << tracker.note();
  }
  std::byte* page(std::size_t window, std::size_t page = 3) const {
    return memory_ + window * kWindow + page * kPage;
  }
  bool watch(PageTracker& tracker, std::size_t window) const {
    return tracker.watch(page(window), page(window) + kPage);
  }
  void unwatch(PageTracker& tracker, std::size_t window) const {
    tracker.unwatch(page(window), page(window) + kPage);
  }
  std::vector<std::size_t> collect(PageTracker& tracker, std::size_t pages) const {
    std::vector<std::size_t> written;
    tracker.collect(memory_, memory_ + pages * kPage, [&](std::byte* begin, std::byte* end) {
      for (; begin < end; begin += kPage)
        written.push_back(static_cast<std::size_t>(begin - memory_) / kPage);
    });
    return written;
  }
  static std::size_t mappings() {
    std::ifstream file("/proc/self/maps");
    std::size_t lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
  }

  std::byte* const memory_;
};

TEST_F(PageTrackerTest, TellsWhichPagesWereWritten) {
  constexpr std::size_t kPages = 100;
  PageTracker tracker;
  std::memset(memory_, 1, kPages * kPage);
  ASSERT_TRUE(tracker.watch(memory_, memory_ + kPages * kPage));
  EXPECT_EQ(collect(tracker, kPages).size(), kPages);
  EXPECT_TRUE(collect(tracker, kPages).empty());
  std::vector<std::size_t> even;
  for (std::size_t page = 0; page < kPages; page += 2) {
    memory_[page * kPage + 17] = std::byte{2};
    even.push_back(page);
  }
  EXPECT_EQ(collect(tracker, kPages), even);  // more rows than one request returns
  EXPECT_TRUE(collect(tracker, kPages).empty());
  EXPECT_EQ(tracker.note(), "");
}

TEST_F(PageTrackerTest, JoinsNeighboursAndStaysWithinItsIslands) {
  PageTracker tracker(2);
  EXPECT_TRUE(watch(tracker, 0));
  EXPECT_TRUE(watch(tracker, 2));
  EXPECT_EQ(tracker.islands(), 2u);
  EXPECT_FALSE(watch(tracker, 4)) << "a third island";
  EXPECT_NE(tracker.note().find("more than 2 separate ranges"), std::string::npos);
  EXPECT_TRUE(watch(tracker, 2)) << "is registered already";
  EXPECT_TRUE(watch(tracker, 1)) << "makes one island of two";
  EXPECT_EQ(tracker.islands(), 1u);
  EXPECT_TRUE(watch(tracker, 5));
  EXPECT_TRUE(tracker.watch(page(3), page(4, 7))) << "joins";
  EXPECT_EQ(tracker.islands(), 1u);
}

TEST_F(PageTrackerTest, CostsMappingsForIslandsOnlyAndGivesThemBack) {
  std::memset(memory_, 1, kWindows * kWindow);
  const std::size_t before = mappings();
  PageTracker tracker(3);
  for (std::size_t window = 0; window < kWindows; ++window) {
    for (std::size_t i = 0; i < 16; ++i) {
      std::byte* const begin = page(window, i * 16 + 1);
      ASSERT_TRUE(tracker.watch(begin, begin + 2 * kPage));
    }
  }
  EXPECT_EQ(tracker.islands(), 1u);
  EXPECT_LE(mappings(), before + 6) << "two, and descriptors' or the allocator's";
  for (std::size_t window = kWindows; window-- > 0;) {
    for (std::size_t i = 0; i < 16; ++i) {
      std::byte* const begin = page(window, i * 16 + 1);
      tracker.unwatch(begin, begin + 2 * kPage);
    }
  }
  EXPECT_EQ(tracker.islands(), 0u);
}

TEST_F(PageTrackerTest, GivesWindowsBackFromTheEndsOfAnIsland) {
  PageTracker tracker(1);
  for (std::size_t window = 0; window < 5; ++window) ASSERT_TRUE(watch(tracker, window));
  unwatch(tracker, 2);
  EXPECT_EQ(tracker.islands(), 1u) << "not made into two";
  unwatch(tracker, 0);
  unwatch(tracker, 1);
  EXPECT_EQ(tracker.islands(), 1u);
  EXPECT_FALSE(watch(tracker, 0)) << "windows 0 to 2 are given back";
  unwatch(tracker, 4);
  unwatch(tracker, 3);
  EXPECT_EQ(tracker.islands(), 0u);
  EXPECT_TRUE(watch(tracker, 9));
}

TEST_F(PageTrackerTest, CountsWhatIsTrackedAgainAsWritten) {
  PageTracker tracker;
  std::memset(memory_, 1, 4 * kPage);
  ASSERT_TRUE(tracker.watch(memory_, memory_ + 4 * kPage));
  EXPECT_EQ(collect(tracker, 4).size(), 4u);
  tracker.unwatch(memory_, memory_ + 4 * kPage);
  memory_[kPage] = std::byte{2};
  ASSERT_TRUE(tracker.watch(memory_, memory_ + 4 * kPage));
  EXPECT_EQ(collect(tracker, 4).size(), 4u);
}

TEST(PageTracker, AsksForAQuarterOfTheMappingsAtMost) {
  std::size_t most = 65'530;
  std::ifstream("/proc/sys/vm/max_map_count") >> most;
  EXPECT_LE(PageTracker::islands_of_system() * 2, most / 4);
  EXPECT_GT(PageTracker::islands_of_system(), 1000u);
}

}  // namespace
}  // namespace orrery::checkpoint
