// SPDX-License-Identifier: Apache-2.0
//
// The end of LPs in one place and in several: whoever ended them, and in whatever order the parts
// come together, fingerprint and metrics have the same bits, the fault is that of the lowest LP,
// and the rows are the same.
#include "run/results/finish.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "memory/arena.h"
#include "orrery/memory.h"
#include "orrery/orrery.h"
#include "run/containment/guarded_call.h"

namespace orrery {
namespace {

struct Nothing {};

class EndingModel;

/// Reports at its end what its model has for it.
class EndingLp : public LogicalProcess<EndingLp, Nothing> {
 public:
  explicit EndingLp(const EndingModel& model) : model_(model) {}
  void handle(Context&, const Nothing&) {}
  void finish(FinalContext& context) override;

 private:
  const EndingModel& model_;
};

class EndingModel : public Model {
 public:
  static constexpr LpId kLps = 40;

  explicit EndingModel(std::uint64_t seed) : values(kLps) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> exponent(-15, 15);
    for (LpId id = 0; id < kLps; ++id) {
      if (random() % 4 == 0) continue;  // this LP records nothing
      for (std::uint64_t n = 1 + random() % 5; n > 0; --n)
        values[id].push_back((random() % 2 == 0 ? 1 : -1) * std::pow(10.0, exponent(random)));
    }
  }
  std::uint64_t lp_count() const override { return kLps; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<EndingLp>(*this);
  }

  Metric size{*this, "size", "", "Values of very different size", Keep::histogram};
  Metric inverse{*this, "inverse", "", "One by these"};
  Table ends{*this, "ends", {{"number", ColumnType::integer}}, "One row for each value"};
  std::vector<std::vector<double>> values;  ///< of each LP
  std::set<LpId> failing;
};

void EndingLp::finish(FinalContext& context) {
  std::int64_t number = 0;
  for (const double value : model_.values[context.self()]) {
    context.record(model_.size, value);
    context.record(model_.inverse, 1 / value);
    context.emit(model_.ends, number++);
  }
  context.state(context.self() + 1000);
  if (model_.failing.count(context.self()) == 0) return;
  throw std::runtime_error("the books of " + std::to_string(context.self()) + " do not balance");
}

const Time kEnd = Time::from_ticks(500);

std::uint64_t hash_of(LpId id) {
  return (id + 1) * 0x1234567890abcdefu;
}

/// Keeps the rows that it gets, each as text.
class Rows final : public RowSink {
 public:
  void commit(unsigned, RowBuffer& rows) override {
    rows.for_each([this](const Row& row) {
      EXPECT_EQ(row.key, Key::end_of(kEnd)) << "after all events";
      texts.push_back(std::to_string(row.lp) + "." + std::to_string(row.ordinal) + " table " +
                      std::to_string(row.table) + ": " + std::to_string(row.cells[0]));
    });
    rows.clear();
  }
  void advance(unsigned, const Key&) override {}
  std::vector<std::string> sorted() const {
    std::vector<std::string> all = texts;
    std::sort(all.begin(), all.end());
    return all;
  }
  std::vector<std::string> texts;
};

RunResult end_in_one_place(const EndingModel& model, RowSink* rows) {
  Finisher finisher(model, kEnd, rows);
  for (LpId id = 0; id < EndingModel::kLps; ++id)
    finisher.finish(id, *model.create(id), hash_of(id));
  RunResult result;
  finisher.store(result);
  return result;
}

/// `owners[lp]`: who ends it.
std::vector<Finisher::Part> end_in_parts(const EndingModel& model, RowSink* rows,
                                         const std::vector<unsigned>& owners, unsigned places) {
  std::vector<Finisher::Part> parts;
  for (unsigned place = 0; place < places; ++place) {
    Finisher finisher(model, kEnd, rows, Finisher::Metrics::apart);
    for (LpId id = 0; id < EndingModel::kLps; ++id)
      if (owners[id] == place) finisher.finish(id, *model.create(id), hash_of(id));
    parts.push_back(finisher.take_part());
  }
  return parts;
}

bool same_bits(const Summary& a, const Summary& b) {
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  return a.count == b.count && bits(a.sum) == bits(b.sum) && bits(a.squares) == bits(b.squares) &&
         bits(a.minimum) == bits(b.minimum) && bits(a.maximum) == bits(b.maximum);
}

void expect_same(const RunResult& whole, const RunResult& merged) {
  EXPECT_EQ(merged.fingerprint, whole.fingerprint);
  EXPECT_EQ(merged.end, whole.end);
  EXPECT_EQ(merged.fault, whole.fault);
  ASSERT_EQ(merged.metrics.size(), 2u);
  for (std::size_t i = 0; i < whole.metrics.size(); ++i)
    EXPECT_TRUE(same_bits(merged.metrics[i], whole.metrics[i]))
        << "metric " << i << ": " << merged.metrics[i].sum << " and " << whole.metrics[i].sum;
  EXPECT_EQ(merged.mergeable_statistics->words(), whole.mergeable_statistics->words());
}

/// What a merge of each part's own totals would give.
Summary sum_of_parts(const std::vector<Finisher::Part>& parts) {
  Summary sum;
  for (const Finisher::Part& part : parts) {
    Summary own;
    for (std::size_t i = 0; i < part.lps.size(); ++i) {
      Summary one;  // the first of two
      std::memcpy(&one, part.metrics.data() + 2 * i * sizeof one, sizeof one);
      own.merge(one);
    }
    sum.merge(own);
  }
  return sum;
}

TEST(Finisher, PartsMakeTheSameWholeInAnyPartitionAndOrder) {
  int hard_cases = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    EndingModel model(seed);
    if (seed % 5 == 0)
      for (int i = 0; i < 3; ++i) model.failing.insert(random() % EndingModel::kLps);
    const auto places = static_cast<unsigned>(1 + random() % 6);
    std::vector<unsigned> owners(EndingModel::kLps);
    for (unsigned& owner : owners) owner = static_cast<unsigned>(random() % places);

    Rows whole_rows, part_rows;
    const RunResult whole = end_in_one_place(model, &whole_rows);
    std::vector<Finisher::Part> parts = end_in_parts(model, &part_rows, owners, places);
    std::shuffle(parts.begin(), parts.end(), random);
    hard_cases += same_bits(sum_of_parts(parts), whole.metrics[0]) ? 0 : 1;
    RunResult merged;
    merged.fingerprint = 77;  // of a result that is stored anew
    Finisher::store(model, kEnd, std::move(parts), merged);
    expect_same(whole, merged);
    EXPECT_EQ(part_rows.sorted(), whole_rows.sorted());
    EXPECT_EQ(part_rows.texts.size(), merged.metrics[0].count) << "of a failed LP none leaves";
  }
  EXPECT_GT(hard_cases, 100) << "sums that depend on their order are what this is about";
}

TEST(Finisher, TheFingerprintSaysWhichLpRecordedWhat) {
  EndingModel model(3);
  model.values[4] = {1.5};
  model.values[5] = {2.5, 3.5};
  const RunResult first = end_in_one_place(model, nullptr);
  std::uint64_t values = 0;
  for (const auto& of_lp : model.values) values += of_lp.size();
  EXPECT_EQ(first.metrics[0].count, values);
  EXPECT_EQ(first.end, RunEnd::completed);
  EXPECT_EQ(end_in_one_place(model, nullptr).fingerprint, first.fingerprint);
  std::swap(model.values[4], model.values[5]);
  EXPECT_NE(end_in_one_place(model, nullptr).fingerprint, first.fingerprint);
}

TEST(Finisher, TellsTheFaultOfTheLowestLp) {
  EndingModel model(7);
  model.failing = {31, 12, 30};
  std::vector<unsigned> owners(EndingModel::kLps, 0);
  owners[12] = 1;
  for (const bool turned : {false, true}) {
    std::vector<Finisher::Part> parts = end_in_parts(model, nullptr, owners, 2);
    if (turned) std::reverse(parts.begin(), parts.end());
    RunResult result;
    Finisher::store(model, kEnd, std::move(parts), result);
    EXPECT_EQ(result.end, RunEnd::fault);
    EXPECT_NE(result.fault.find("LP 12, event finish()"), std::string::npos) << result.fault;
    EXPECT_NE(result.fault.find("the books of 12 do not balance"), std::string::npos);
  }
}

TEST(Finisher, OfAFaultOfLpZeroTellsThatOne) {
  EndingModel model(7);
  model.failing = {0, 1};
  std::vector<unsigned> owners(EndingModel::kLps, 0);
  owners[0] = 1;
  RunResult result;
  Finisher::store(model, kEnd, end_in_parts(model, nullptr, owners, 2), result);
  EXPECT_NE(result.fault.find("LP 0,"), std::string::npos) << result.fault;
}

TEST(Finisher, AbandonedLpsCountWithWhatTheyCommittedOnly) {
  const EndingModel model(9);
  Finisher all(model, kEnd, nullptr);
  Finisher low(model, kEnd, nullptr, Finisher::Metrics::apart);
  Finisher high(model, kEnd, nullptr, Finisher::Metrics::apart);
  for (LpId id = 0; id < EndingModel::kLps; ++id) {
    all.abandon(id, hash_of(id));
    (id < 9 ? low : high).abandon(id, hash_of(id));
  }
  RunResult whole, merged;
  all.store(whole);
  std::vector<Finisher::Part> parts;
  parts.push_back(high.take_part());
  parts.push_back(low.take_part());
  Finisher::store(model, kEnd, std::move(parts), merged);
  expect_same(whole, merged);
  EXPECT_EQ(whole.metrics[0].count, 0u) << "no finish() was called";
  EXPECT_NE(whole.fingerprint, end_in_one_place(model, nullptr).fingerprint);
}

TEST(Finisher, OfNoPartsIsEmpty) {
  const EndingModel model(1);
  RunResult result;
  Finisher::store(model, kEnd, {}, result);
  EXPECT_EQ(result.fingerprint, 0u);
  ASSERT_EQ(result.metrics.size(), 2u);
  EXPECT_EQ(result.metrics[0].count, 0u);
  EXPECT_EQ(result.end, RunEnd::completed);
}

// ---- In heaps of their own

/// Misuses its memory at its end, or only looks where it is.
class HeapLp : public LogicalProcess<HeapLp, Nothing> {
 public:
  HeapLp(bool frees_twice, const memory::LpHeap*& mode) : frees_twice_(frees_twice), mode_(mode) {}
  void handle(Context&, const Nothing&) {}
  void finish(FinalContext&) override {
    mode_ = memory::running_heap();
    void* memory = allocate_mild(48);
    free_mild(memory);
    if (frees_twice_) free_mild(memory);
  }

 private:
  const bool frees_twice_;
  const memory::LpHeap*& mode_;
};

TEST(Finisher, CallsInTheModeOfTheHeapAndTellsItsMisuse) {
  const EndingModel model(1);
  memory::Arena arena;
  memory::LpHeap heap(arena);
  const MisuseWatch watch;
  const memory::LpHeap* mode = nullptr;
  HeapLp good(false, mode), bad(true, mode);
  Finisher finisher(model, kEnd, nullptr);
  finisher.finish(3, good, hash_of(3), heap);
  EXPECT_EQ(mode, &heap);
  EXPECT_EQ(memory::running_heap(), nullptr);
  finisher.finish(4, bad, hash_of(4), heap);
  RunResult result;
  finisher.store(result);
  EXPECT_EQ(result.end, RunEnd::fault);
  EXPECT_NE(result.fault.find("LP 4, event finish()"), std::string::npos) << result.fault;
  EXPECT_NE(result.fault.find("it misused its memory"), std::string::npos) << result.fault;
}

/// What was counted from the beginning on would be quietly wrong after a warm-up.
TEST(Finisher, LeavesOutWhatWasCountedFromTooEarlyOn) {
  EndingModel model(1);
  model.inverse.observe_from(Time::from_ticks(100));
  std::vector<unsigned> owners(EndingModel::kLps);
  for (LpId id = 0; id < EndingModel::kLps; ++id) owners[id] = id % 3;
  RunResult merged;
  Finisher::store(model, kEnd, end_in_parts(model, nullptr, owners, 3), merged);
  for (const RunResult& result : {end_in_one_place(model, nullptr), merged}) {
    EXPECT_GT(result.metrics[model.size.index()].count, 0u);
    EXPECT_EQ(result.metrics[model.inverse.index()].count, 0u);
    ASSERT_EQ(result.notes.size(), 1u);
    EXPECT_NE(result.notes.front().find("not recorded: inverse ("), std::string::npos);
  }
}

}  // namespace
}  // namespace orrery
