// SPDX-License-Identifier: Apache-2.0
//
// Every kind of checkpoint against full copies: an LP whose memory changes at random is rolled back
// at random, and each time its memory has to be what it was, byte for byte of what was live.
#include "checkpoint/checkpointer.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "checkpoint/options.h"
#include "orrery/orrery.h"
#include "sanitizers.h"

namespace orrery::checkpoint {
namespace {

struct Nothing {};

/// Memory of the shapes that models have: one large array, and small nodes that come and go.
class Churner final : public LogicalProcess<Churner, Nothing> {
 public:
  void handle(Context&, const Nothing&) {}
  explicit Churner(std::size_t array_bytes) : array_(array_bytes / sizeof(std::uint32_t)) {}
  void churn(std::uint32_t seed, UndoLog*) {
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

/// The same with a reverse handler, hence with an array only.
class ReversibleChurner final : public LogicalProcess<ReversibleChurner, Nothing> {
 public:
  explicit ReversibleChurner(std::size_t bytes) : array_(bytes / sizeof(std::uint32_t)) {}
  void handle(Context&, const Nothing&) {}
  void churn(std::uint32_t seed, UndoLog* undo) {
    std::minstd_rand random(seed);
    for (int i = 0; i < 8; ++i) {
      const std::size_t at = random() % array_.size();
      if (undo != nullptr) {
        undo->remember(&array_[at], sizeof array_[at]);
        undo->remember(&at, sizeof at);
      }
      array_[at] = static_cast<std::uint32_t>(random());
    }
    total_ += seed;
    if (undo != nullptr) undo->remember(&seed, sizeof seed);
  }
  void reverse(ReverseContext& context, const Nothing&) {
    total_ -= context.recall<std::uint32_t>();
    for (int i = 0; i < 8; ++i) {
      const auto at = context.recall<std::size_t>();
      array_[at] = context.recall<std::uint32_t>();
    }
  }
  std::uint64_t digest() const {
    std::uint64_t sum = total_;
    for (const std::uint32_t value : array_) sum = sum * 31 + value;
    return sum;
  }

 private:
  std::vector<std::uint32_t> array_;
  std::uint64_t total_ = 0;
};

struct Case {
  const char* strategy;
  const char* offload;
  std::size_t array_bytes;
  double threshold;
  bool reversible = false;
  bool mixed = false;               ///< each LP changes its kind of checkpoint at random
  std::size_t most_islands = 1000;  ///< that may be tracked
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.strategy << ", offload " << c.offload << ", " << c.array_bytes << " bytes, "
       << c.most_islands << " islands";
}

class CheckpointerTest : public ::testing::TestWithParam<Case> {
 protected:
  CheckpointerTest() {
    options_.set(checkpoint::kOffload, GetParam().offload);
    options_.set(checkpoint::kBurst, 256);
    options_.set(checkpoint::kAbortThreshold, GetParam().threshold);
    options_.set(checkpoint::kMaxDistance, 6);
    offload_ = Offload::parse(options_);
    if (offload_.on()) {
      copier_ = find_copier_backend("thread").make(1, 1);
      queue_ = &copier_->queue(0);
    }
  }
  template <class Churn>
  void check();

  RunOptions options_;
  Offload offload_;
  std::unique_ptr<Copier> copier_;
  CopyQueue* queue_ = nullptr;
};

/// One LP with its record and what it ought to be at each ordinal.
template <class Churn>
struct Subject {
  explicit Subject(memory::Arena& arena, std::size_t array_bytes) : heap(arena) {
    const memory::ApplicationMode application(heap);
    object = new Churn(array_bytes);
  }
  ~Subject() {
    const memory::ApplicationMode application(heap);
    delete object;
  }
  Checkpointer::Lp view() { return {0, *object, heap, kernel, list, *record}; }
  std::uint32_t now() const { return static_cast<std::uint32_t>(images.size()); }

  void execute(Checkpointer& checkpointer, std::uint32_t seed) {
    images.push_back(image());
    digests.push_back(object->digest());
    seeds.push_back(seed);
    const bool reversing = checkpointer.before_event(view(), now() - 1);
    {
      const memory::ApplicationMode application(heap);
      object->churn(seed, reversing ? &checkpointer.undo_log() : nullptr);
    }
    kernel.hash = kernel.hash * 31 + seed;
    checkpointer.after_event(view(), now(), true);
  }
  /// Rolls back, and coasts forward; checks what it comes to.
  void roll_back(Checkpointer& checkpointer, std::uint32_t target) {
    const std::uint32_t reached = checkpointer.restore(view(), now(), target, [](std::uint32_t) {
      return Checkpointer::Event{Time::zero(), event_type_id<Nothing>, nullptr, 0};
    });
    ASSERT_LE(reached, target);
    ASSERT_TRUE(image() == images[reached]) << "at " << reached << " on the way to " << target;
    for (std::uint32_t i = reached; i < target; ++i) {
      const memory::ApplicationMode application(heap);
      object->churn(seeds[i], nullptr);
    }
    // Not the images: bytes that a string has beyond its end come from whatever was there.
    ASSERT_EQ(object->digest(), digests[target]) << "from " << reached << " to " << target;
    images.resize(target);
    digests.resize(target);
    seeds.resize(target);
  }

  std::vector<std::byte> image() const {
    std::vector<std::byte> bytes(heap.image_bytes());
    heap.save(bytes.data());
    return bytes;
  }

  memory::LpHeap heap;
  Churn* object = nullptr;
  KernelState kernel;
  Checkpoint* list = nullptr;
  std::unique_ptr<CheckpointRecord> record;
  std::vector<std::vector<std::byte>> images;  // before event i
  std::vector<std::uint64_t> digests;          // likewise
  std::vector<std::uint32_t> seeds;            // of event i
};

template <class Churn>
void CheckpointerTest::check() {
  memory::Arena arena;
  memory::BlockPool pool;
  Checkpointer checkpointer(pool, Strategy::parse(GetParam().strategy), offload_, queue_,
                            std::make_shared<PageTracker>(GetParam().most_islands));
  std::vector<std::unique_ptr<Subject<Churn>>> subjects;
  for (int i = 0; i < 5; ++i) {
    subjects.push_back(std::make_unique<Subject<Churn>>(arena, GetParam().array_bytes));
    Subject<Churn>& s = *subjects.back();
    s.record = checkpointer.adopt(*s.object, s.heap.image_bytes());
    ASSERT_NE(s.record, nullptr);
  }
  std::mt19937 random(7);
  std::uint32_t rollbacks = 0;
  const int steps = (GetParam().mixed ? 3000 : 1500) / (testing::kSanitizers ? 3 : 1);
  for (int step = 0; step < steps; ++step) {
    Subject<Churn>& s = *subjects[random() % subjects.size()];
    const auto now = static_cast<std::uint32_t>(s.images.size());
    if (GetParam().mixed && random() % 6 == 0) {
      const unsigned kinds = GetParam().reversible ? 3 : 2;
      s.record->tuning =
          Tuning(static_cast<Kind>(random() % kinds), Interval::fixed(1 + random() % 5));
    }
    const std::uint32_t committed = s.record->committed;
    if (random() % 8 != 0 || now == committed) {
      s.execute(checkpointer, static_cast<std::uint32_t>(random()));
    } else if (random() % 2 == 0) {  // commit
      s.record->committed =
          committed + static_cast<std::uint32_t>(random() % (now - committed + 1));
      if (s.record->committed == committed) continue;
      checkpointer.commit(s.view(), s.record->committed);
    } else {  // roll back, and coast forward
      const std::uint32_t most = now - committed;
      const auto target = now - 1 - static_cast<std::uint32_t>(random() % std::min(most, 12u));
      s.roll_back(checkpointer, target);
      if (this->HasFatalFailure()) FAIL() << "step " << step;
      ++rollbacks;
    }
  }
  EXPECT_GT(rollbacks, 20u);
  for (const auto& s : subjects) checkpointer.release_all(s->view());
  const Checkpointer::Statistics& statistics = checkpointer.statistics();
  EXPECT_EQ(statistics.offloaded, statistics.aborted + statistics.by_copier + statistics.by_worker);
  subjects.clear();
  if (copier_ != nullptr) copier_->stop();
}

TEST_P(CheckpointerTest, RestoresWhatWas) {
  if (GetParam().reversible) {
    check<ReversibleChurner>();
  } else {
    check<Churner>();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, CheckpointerTest,
    ::testing::Values(Case{"adaptive", "none", 2000, -1}, Case{"periodic:5", "none", 2000, -1},
                      Case{"incremental", "none", 0, -1}, Case{"incremental", "none", 2000, -1},
                      Case{"incremental", "none", 150'000, -1},
                      Case{"incremental", "none", 150'000, -1, false, false, 0},
                      Case{"auto", "none", 100'000, -1, false, true, 1},
                      Case{"auto", "none", 40'000, -1}, Case{"copy", "multi", 3000, 0},
                      Case{"copy", "multi", 40'000, 0.5}, Case{"periodic:3", "multi", 30'000, 1},
                      Case{"copy", "mono", 30'000, 0.3}, Case{"auto", "mono", 0, -1},
                      Case{"reverse", "none", 3000, -1, true},
                      Case{"auto", "none", 20'000, -1, true},
                      Case{"auto", "none", 9'000, -1, false, true},
                      Case{"auto", "none", 9'000, -1, true, true}));

/// Reverse records on both sides of a delta: the way past the delta is not a way to undo events.
TEST(Checkpointer, ReverseRecordsAroundADelta) {
  memory::Arena arena;
  memory::BlockPool pool;
  Checkpointer checkpointer(pool, Strategy::parse("auto"), Offload{}, nullptr,
                            std::make_shared<PageTracker>());
  Subject<ReversibleChurner> s(arena, 9000);
  s.record = std::make_unique<CheckpointRecord>(Tuning(Kind::delta, Interval::fixed(1)));
  for (std::uint32_t i = 0; i < 5; ++i) s.execute(checkpointer, i);
  s.record->tuning = Tuning(Kind::reverse, Interval::fixed(1));
  for (std::uint32_t i = 5; i < 10; ++i) s.execute(checkpointer, i);
  s.record->tuning = Tuning(Kind::delta, Interval::fixed(1));
  for (std::uint32_t i = 10; i < 12; ++i) s.execute(checkpointer, i);
  s.roll_back(checkpointer, 10);
  s.record->tuning = Tuning(Kind::reverse, Interval::fixed(1));
  s.execute(checkpointer, 10);
  s.roll_back(checkpointer, 8);
  for (std::uint32_t i = 8; i < 12; ++i) s.execute(checkpointer, i);
  s.roll_back(checkpointer, 3);
  checkpointer.release_all(s.view());
}

}  // namespace
}  // namespace orrery::checkpoint
