// SPDX-License-Identifier: Apache-2.0
//
// The system refuses memory for checkpoints: LPs get on with fewer and other ones, and every
// rollback still leads to what was.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstring>
#include <memory>

#include "checkpoint/checkpointer.h"
#include "orrery/orrery.h"
#include "sanitizers.h"
#include "scarce_memory.h"

namespace orrery::checkpoint {
namespace {

using testing::kSanitizers;
using testing::ScarceMemory;

struct Untold {};

/// 40 MiB, of which events write this or that part, every second line.
class Large final : public LogicalProcess<Large, Untold> {
 public:
  static constexpr std::size_t kWords = std::size_t{5} << 20;
  explicit Large(std::uint64_t* words) : words_(words) {}
  void handle(Context&, const Untold&) {}
  void reverse(ReverseContext&, const Untold&) { ADD_FAILURE() << "it has no record"; }
  void write(std::size_t from, std::size_t to, std::uint64_t value) {
    for (std::size_t at = from; at < to; at += 16) words_[at] = value;
  }
  std::uint64_t digest() const {
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < kWords; ++at) sum = sum * 31 + words_[at];
    return sum;
  }

 private:
  std::uint64_t* words_;
};

constexpr rlim_t kMiB = rlim_t{1} << 20;

class RefusedMemory : public ::testing::Test {
 protected:
  RefusedMemory() : heap_(arena_) {
    mallopt(M_MMAP_THRESHOLD, 1 << 20);  // what is large comes from the system, and goes back
    const memory::ApplicationMode application(heap_);
    auto* words = static_cast<std::uint64_t*>(std::calloc(Large::kWords, sizeof(std::uint64_t)));
    object_ = new Large(words);
  }
  void SetUp() override {
    if (kSanitizers) GTEST_SKIP() << "sanitizers need the address space";
  }
  ~RefusedMemory() override {
    if (record_ != nullptr) checkpointer_->release_all(lp());
  }
  void begin(const char* strategy, Kind kind) {
    checkpointer_.emplace(pool_, Strategy::parse(strategy), Offload{}, nullptr,
                          std::make_shared<PageTracker>());
    record_ = std::make_unique<CheckpointRecord>(Tuning(kind, Interval::fixed(1)));
  }
  Checkpointer::Lp lp() { return {0, *object_, heap_, kernel_, list_, *record_}; }

  /// An event that writes words [from, to).
  void execute(std::size_t from, std::size_t to) {
    digests_.push_back(object_->digest());
    writes_.push_back({from, to});
    const auto ordinal = static_cast<std::uint32_t>(writes_.size() - 1);
    const bool reversing = checkpointer_->before_event(lp(), ordinal);
    if (reversing) remember();
    object_->write(from, to, ordinal + 1);
    checkpointer_->after_event(lp(), ordinal + 1, true);
  }
  void roll_back(std::uint32_t target) {
    const auto now = static_cast<std::uint32_t>(writes_.size());
    const std::uint32_t reached = checkpointer_->restore(lp(), now, target, [](std::uint32_t) {
      return Checkpointer::Event{Time::zero(), event_type_id<Untold>, nullptr, 0};
    });
    ASSERT_LE(reached, target);
    ASSERT_EQ(object_->digest(), digests_[reached]) << "restored to " << reached;
    for (std::uint32_t i = reached; i < target; ++i)
      object_->write(writes_[i].first, writes_[i].second, i + 1);
    ASSERT_EQ(object_->digest(), digests_[target]) << "from " << reached << " to " << target;
    digests_.resize(target);
    writes_.resize(target);
  }
  /// 24 MiB of what a reverse handler would want to know.
  void remember() {
    const memory::ApplicationMode application(heap_);
    for (int i = 0; i < 24; ++i)
      checkpointer_->undo_log().remember(megabyte_.data(), megabyte_.size());
  }
  unsigned count(Kind kind) const {
    unsigned count = 0;
    for (const Checkpoint* c = list_; c != nullptr; c = c->older) count += c->kind == kind;
    return count;
  }

  std::vector<std::byte> megabyte_ = std::vector<std::byte>(1 << 20);
  memory::Arena arena_;
  memory::BlockPool pool_;
  memory::LpHeap heap_;
  Large* object_ = nullptr;
  KernelState kernel_;
  Checkpoint* list_ = nullptr;
  std::unique_ptr<CheckpointRecord> record_;
  std::optional<Checkpointer> checkpointer_;
  std::vector<std::uint64_t> digests_;  // before event i
  std::vector<std::pair<std::size_t, std::size_t>> writes_;
};

TEST_F(RefusedMemory, AnImageIsTakenLater) {
  begin("copy", Kind::image);
  execute(0, 100);
  {
    const ScarceMemory scarce(16 * kMiB);
    for (std::size_t i = 1; i < 9; ++i) execute(i * 1000, i * 2000);
    EXPECT_EQ(count(Kind::image), 1u);
    EXPECT_EQ(checkpointer_->statistics().refused, 4u) << "1, 2, 4 and 8 events after the first";
    roll_back(7);
    roll_back(3);
  }
  for (std::size_t i = 0; i < 20; ++i) execute(i, i * 3000);
  EXPECT_GT(count(Kind::image), 4u) << "once there is memory, as often as before";
  roll_back(15);
  roll_back(0);
}

TEST_F(RefusedMemory, TheFirstCheckpointMustBe) {
  begin("copy", Kind::image);
  const ScarceMemory scarce(16 * kMiB);
  EXPECT_THROW(execute(0, 100), std::bad_alloc);
  EXPECT_EQ(list_, nullptr);
}

TEST_F(RefusedMemory, WithoutAShadowThereAreImages) {
  begin("incremental", Kind::delta);
  execute(0, 100);
  checkpointer_->release_all(lp());
  digests_.clear();
  writes_.clear();
  {
    const ScarceMemory scarce(30 * kMiB);
    EXPECT_THROW(execute(0, 100), std::bad_alloc) << "neither a shadow nor an image";
    digests_.clear();
    writes_.clear();
  }
  EXPECT_EQ(record_->tuning.kind(), Kind::image);
  EXPECT_EQ(checkpointer_->bytes(), 0u) << "no shadow";
  execute(0, 100);
  execute(0, Large::kWords);
  EXPECT_EQ(count(Kind::image), 2u);
  roll_back(1);
  roll_back(0);
}

/// What is refused is the way back of a delta: soon, when half of it is made, when it is to be
/// kept.
TEST_F(RefusedMemory, ADeltaThatIsNotMadeLeavesTheOthersGood) {
  for (const rlim_t room : {4 * kMiB, 30 * kMiB, 64 * kMiB}) {
    SCOPED_TRACE(room / kMiB);
    begin("incremental", Kind::delta);
    execute(0, 100);
    execute(50, 3000);
    execute(2000, 90'000);
    {
      const ScarceMemory scarce(room);
      execute(0, Large::kWords);
      execute(7, 5000);
      EXPECT_EQ(checkpointer_->statistics().refused, 1u);
      EXPECT_EQ(record_->tuning.kind(), Kind::image);
      roll_back(4);
      roll_back(3);
      execute(77, 60'000);
      roll_back(2);
    }
    execute(5, 6000);
    execute(1, 80'000);
    execute(9, 9000);
    roll_back(4);
    roll_back(1);
    roll_back(0);
    checkpointer_->release_all(lp());
    EXPECT_EQ(checkpointer_->bytes(), 0u);
  }
}

/// The handler gets no exception, and what it wanted to be remembered is not missed.
TEST_F(RefusedMemory, AnEventWithoutARecordIsUndoneFromAnImage) {
  begin("reverse", Kind::reverse);
  execute(0, 100);
  {
    const ScarceMemory scarce(8 * kMiB);
    execute(50, 3000);
  }
  EXPECT_EQ(checkpointer_->statistics().refused, 1u);
  roll_back(1);
  checkpointer_->release_all(lp());
}

}  // namespace
}  // namespace orrery::checkpoint
