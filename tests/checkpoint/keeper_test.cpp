// SPDX-License-Identifier: Apache-2.0
//
// Every kind of checkpoint against full copies: an LP whose memory changes at random is rolled back
// at random, and each time its memory has to be what it was, byte for byte of what was live.
#include "checkpoint/keeper.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "orrery/orrery.h"

namespace orrery::checkpoint {
namespace {

struct Nothing {};

/// Memory of the shapes that models have: one large array, and small nodes that come and go.
class Churner final : public LogicalProcess<Churner, Nothing> {
 public:
  explicit Churner(std::size_t array_bytes) : array_(array_bytes / sizeof(std::uint32_t)) {}
  void handle(Context&, const Nothing&) {}
  void churn(std::uint32_t seed) {
    std::minstd_rand random(seed);
    for (int i = 0; i < 20; ++i) {
      if (!array_.empty()) array_[random() % array_.size()] += static_cast<std::uint32_t>(random());
      const std::uint32_t key = random() % 64;
      if (random() % 3 == 0) {
        nodes_.erase(key);
      } else {
        nodes_[key].assign(random() % 200, static_cast<char>(random()));
      }
    }
    if (random() % 50 == 0) array_.resize(array_.size() + random() % 3000);
  }
  std::uint64_t digest() const {
    std::uint64_t sum = nodes_.size();
    for (const std::uint32_t value : array_) sum = sum * 31 + value;
    for (const auto& [key, text] : nodes_) sum = sum * 31 + std::hash<std::string>{}(text) + key;
    return sum;
  }

 private:
  std::vector<std::uint32_t> array_;
  std::map<std::uint32_t, std::string> nodes_;
};

struct Case {
  const char* strategy;
  const char* offload;
  std::size_t array_bytes;
  double threshold;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.strategy << ", offload " << c.offload << ", " << c.array_bytes << " bytes";
}

class KeeperTest : public ::testing::TestWithParam<Case> {
 protected:
  KeeperTest() {
    options_.offload = GetParam().offload;
    options_.burst_bytes = 256;
    options_.abort_threshold = GetParam().threshold;
    options_.max_checkpoint_distance = 6;
    offload_ = Offload::parse(options_);
    if (offload_.on()) {
      copier_ = find_copier_backend("thread").make(1, 1);
      queue_ = &copier_->queue(0);
    }
  }
  RunOptions options_;
  Offload offload_;
  std::unique_ptr<Copier> copier_;
  CopyQueue* queue_ = nullptr;
};

/// One LP with its record and what it ought to be at each ordinal.
struct Subject {
  explicit Subject(memory::Arena& arena, std::size_t array_bytes) : heap(arena) {
    const memory::ApplicationMode application(heap);
    object = new Churner(array_bytes);
  }
  ~Subject() {
    const memory::ApplicationMode application(heap);
    delete object;
  }
  std::vector<std::byte> image() const {
    std::vector<std::byte> bytes(heap.image_bytes());
    heap.save(bytes.data());
    return bytes;
  }

  memory::LpHeap heap;
  Churner* object = nullptr;
  KernelState kernel;
  Checkpoint* list = nullptr;
  std::unique_ptr<Kept> kept;
  std::vector<std::vector<std::byte>> images;  // before event i
  std::vector<std::uint64_t> digests;          // likewise
  std::vector<std::uint32_t> seeds;            // of event i
};

TEST_P(KeeperTest, RestoresWhatWas) {
  memory::Arena arena;
  memory::BlockPool pool;
  Keeper keeper(pool, Strategy::parse(GetParam().strategy), offload_, queue_);
  std::vector<std::unique_ptr<Subject>> subjects;
  for (int i = 0; i < 5; ++i) {
    subjects.push_back(std::make_unique<Subject>(arena, GetParam().array_bytes));
    Subject& s = *subjects.back();
    s.kept = keeper.adopt(*s.object, s.heap.image_bytes());
    ASSERT_NE(s.kept, nullptr);
  }
  std::mt19937 random(7);
  const auto view = [](Subject& s) {
    return Keeper::Lp{0, *s.object, s.heap, s.kernel, s.list, *s.kept};
  };
  const auto execute = [&](Subject& s, std::uint32_t seed) {
    s.images.push_back(s.image());
    s.digests.push_back(s.object->digest());
    s.seeds.push_back(seed);
    keeper.before_event(view(s), static_cast<std::uint32_t>(s.images.size() - 1));
    {
      const memory::ApplicationMode application(s.heap);
      s.object->churn(seed);
    }
    s.kernel.hash = s.kernel.hash * 31 + seed;
    keeper.after_event(view(s), static_cast<std::uint32_t>(s.images.size()), true);
  };
  std::uint32_t rollbacks = 0;
  for (int step = 0; step < 1000; ++step) {
    Subject& s = *subjects[random() % subjects.size()];
    const auto now = static_cast<std::uint32_t>(s.images.size());
    const std::uint32_t committed = s.kept->committed;
    if (random() % 8 != 0 || now == committed) {
      execute(s, static_cast<std::uint32_t>(random()));
    } else if (random() % 2 == 0) {  // commit
      s.kept->committed = committed + static_cast<std::uint32_t>(random() % (now - committed + 1));
      if (s.kept->committed == committed) continue;
      Checkpoint* base = keeper.commit_base(view(s), s.kept->committed);
      release_all(pool, std::exchange(base->older, nullptr));
    } else {  // roll back, and coast forward
      const auto target = committed + static_cast<std::uint32_t>(random() % (now - committed));
      const std::uint32_t reached =
          keeper.restore(view(s), now, target, [](std::uint32_t) { return Keeper::Event{}; });
      ASSERT_LE(reached, target);
      ASSERT_TRUE(s.image() == s.images[reached]) << "step " << step;
      for (std::uint32_t i = reached; i < target; ++i) {
        const memory::ApplicationMode application(s.heap);
        s.object->churn(s.seeds[i]);
      }
      // Not the images: bytes that a string has beyond its end come from whatever was there.
      ASSERT_EQ(s.object->digest(), s.digests[target]) << "step " << step;
      s.images.resize(target);
      s.digests.resize(target);
      s.seeds.resize(target);
      ++rollbacks;
    }
  }
  EXPECT_GT(rollbacks, 20u);
  for (const auto& s : subjects) keeper.release_all(view(*s));
  const Keeper::Statistics& statistics = keeper.statistics();
  EXPECT_EQ(statistics.offloaded, statistics.aborted + statistics.by_copier + statistics.by_worker);
  subjects.clear();
  if (copier_ != nullptr) copier_->stop();
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, KeeperTest,
    ::testing::Values(Case{"adaptive", "none", 2000, -1}, Case{"periodic:5", "none", 2000, -1},
                      Case{"incremental", "none", 0, -1}, Case{"incremental", "none", 2000, -1},
                      Case{"incremental", "none", 150'000, -1}, Case{"auto", "none", 40'000, -1},
                      Case{"copy", "multi", 3000, 0}, Case{"copy", "multi", 40'000, 0.5},
                      Case{"periodic:3", "multi", 30'000, 1}, Case{"copy", "mono", 30'000, 0.3},
                      Case{"auto", "mono", 0, -1}));

TEST(PageTracker, TellsWhichPagesWereWritten) {
  PageTracker tracker;
  if (!tracker.available()) GTEST_SKIP() << tracker.why_not();
  constexpr std::size_t kPages = 100, kPage = PageTracker::kPageBytes;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kPage, kPages * kPage));
  std::memset(memory, 1, kPages * kPage);
  ASSERT_TRUE(tracker.watch(memory, memory + kPages * kPage));
  const auto collect = [&] {
    std::vector<std::size_t> pages;
    tracker.collect(memory, memory + kPages * kPage, [&](std::byte* begin, std::byte* end) {
      for (; begin < end; begin += kPage)
        pages.push_back(static_cast<std::size_t>(begin - memory) / kPage);
    });
    return pages;
  };
  EXPECT_EQ(collect().size(), kPages);
  EXPECT_TRUE(collect().empty());
  for (std::size_t page = 0; page < kPages; page += 2) memory[page * kPage + 17] = std::byte{2};
  std::vector<std::size_t> even;
  for (std::size_t page = 0; page < kPages; page += 2) even.push_back(page);
  EXPECT_EQ(collect(), even);  // more rows than one request returns
  EXPECT_TRUE(collect().empty());
  std::free(memory);
}

}  // namespace
}  // namespace orrery::checkpoint
