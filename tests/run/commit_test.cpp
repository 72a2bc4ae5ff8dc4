// SPDX-License-Identifier: Apache-2.0
//
// What leaves a run: rows in order and once, metrics to the bit, statistics that add up, LPs that
// are made and destroyed once in the mode that their memory belongs to, and runs that are stopped.
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "equality/random_model.h"
#include "memory/application_mode.h"
#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

class Commits : public OnEveryEngine {};

/// Rows and metrics whose sums depend on the order of addition.
void report_a_lot(ScriptModel& model) {
  script_walks(model, 6);
  const auto walk = model.on_step;
  model.on_step = [&model, walk](Context& context, ScriptLp& self, const Step& step) {
    walk(context, self, step);
    const double value = static_cast<double>(step.value >> 11) * 0x1p-40 - 0.1;
    context.record(model.metric, self.handled % 3 == 0 ? -value * 1e-9 : value);
    for (std::uint64_t i = 0; i < self.handled % 3; ++i)
      context.emit(model.table, step.value + i, value);
  };
  model.on_finish = [&model](FinalContext& context, const ScriptLp& self) {
    context.record(model.metric, 0.1 * static_cast<double>(self.handled));
    context.emit(model.table, self.handled, -1.0);
  };
}

TEST_P(Commits, RowsAndMetrics) {
  ScriptModel model(30, 1500);
  report_a_lot(model);
  const Outcome expected = reference(model);
  const Outcome actual = run(model);
  ASSERT_GT(expected.rows.size(), 5000u);
  expect_same(expected, actual, GetParam().text());
  EXPECT_EQ(actual.result.metrics[model.metric.index()].count, actual.result.committed + 30);
  EXPECT_EQ(actual.result.metrics[model.unused.index()].count, 0u);
}

/// The rows of one LP arrive in the order of its events, those of one event in the order of
/// emission, none twice, none behind a watermark that covers it.
class OrderedRows final : public RowSink {
 public:
  void begin(unsigned workers) override {
    const std::lock_guard lock(mutex_);
    ++begins;
    const Key reached = watermarks_.empty() ? Key() : watermarks_.front();
    for (const Key& watermark : watermarks_) apart += watermark != reached;
    watermarks_.assign(workers, reached);
  }
  void commit(unsigned worker, RowBuffer& rows) override {
    const std::lock_guard lock(mutex_);
    ASSERT_LT(worker, watermarks_.size()) << "a worker that begin() did not announce";
    rows.for_each([&](const Row& row) {
      ++count;
      if (row.key < watermarks_[worker]) ++late;
      const auto place = std::make_pair(row.key, row.ordinal);
      const auto [last, first] = last_.try_emplace(row.lp, place);
      if (!first && !(last->second < place)) ++disordered;
      last->second = place;
    });
    rows.clear();
  }
  void advance(unsigned worker, const Key& until) override {
    const std::lock_guard lock(mutex_);
    ASSERT_LT(worker, watermarks_.size());
    if (until < watermarks_[worker]) ++backward;
    watermarks_[worker] = until;
  }
  bool ended() const {
    for (const Key& watermark : watermarks_)
      if (watermark != Key::infinity()) return false;
    return !watermarks_.empty();
  }
  int begins = 0;
  std::uint64_t count = 0, late = 0, disordered = 0, backward = 0;
  std::uint64_t apart = 0;  ///< watermarks that differ when another team begins

 private:
  std::mutex mutex_;
  std::vector<Key> watermarks_;
  std::map<LpId, std::pair<Key, std::uint32_t>> last_;
};

TEST_P(Commits, RowsComeInOrder) {
  ScriptModel model(30, 1500);
  report_a_lot(model);
  RunOptions options = GetParam().options();
  options.until = model.default_horizon();
  OrderedRows rows;
  RunControl control;
  control.rows = &rows;
  const RunResult result = find_engine(GetParam().engine).make()->run(model, options, control);
  ASSERT_EQ(result.end, RunEnd::completed) << result.fault;
  EXPECT_GE(rows.begins, 1) << GetParam();
  EXPECT_EQ(rows.apart, 0u) << GetParam();
  EXPECT_GT(rows.count, 5000u) << GetParam();
  EXPECT_EQ(rows.disordered, 0u) << GetParam();
  EXPECT_EQ(rows.late, 0u) << GetParam();
  EXPECT_EQ(rows.backward, 0u) << "a watermark went back, " << GetParam();
  EXPECT_TRUE(rows.ended()) << "a last watermark is missing, " << GetParam();
}

TEST_P(Commits, RowsOfStart) {
  ScriptModel model(12, 50);
  script_walks(model);
  const auto start = model.on_start;
  model.on_start = [&model, start](Context& context, ScriptLp& self) {
    start(context, self);
    context.emit(model.table, context.self(), 0.25);
    context.record(model.metric, 1.0 / (1 + context.self()));
  };
  const Outcome actual = run(model);
  EXPECT_EQ(actual.rows.size(), 12u) << GetParam();
  expect_same(reference(model), actual, GetParam().text());
}

/// A large model takes seconds to start; whoever asks it to stop meanwhile need not wait.
TEST_P(Commits, AStopWhileLpsStartIsObeyed) {
  ScriptModel model(30, 500);
  script_walks(model);
  RunOptions options = GetParam().options();
  options.until = model.default_horizon();
  RunControl control;
  std::atomic<int> started = 0;
  const auto start = model.on_start;
  model.on_start = [&](Context& context, ScriptLp& self) {
    start(context, self);
    ++started;
    control.stop_requested.store(true, std::memory_order_relaxed);
  };
  const RunResult result = find_engine(GetParam().engine).make()->run(model, options, control);
  EXPECT_EQ(result.end, RunEnd::interrupted) << GetParam();
  EXPECT_EQ(result.committed, 0u) << GetParam();
  EXPECT_LE(started, static_cast<int>(GetParam().workers)) << GetParam();
  ASSERT_EQ(result.notes.empty(), false) << GetParam();
  EXPECT_NE(result.notes.back().find("while its LPs were made"), std::string::npos);
}

TEST_P(Commits, WithoutASinkNothingElseChanges) {
  ScriptModel model(30, 500);
  report_a_lot(model);
  RunOptions options = GetParam().options();
  options.until = model.default_horizon();
  RunControl control;
  const RunResult result = find_engine(GetParam().engine).make()->run(model, options, control);
  EXPECT_EQ(result.fingerprint, reference(model).result.fingerprint) << GetParam();
}

TEST_P(Commits, StatisticsAddUp) {
  const RandomModel model({.shape = 9, .lps = 50, .horizon = Duration::from_ticks(4'000)});
  RunOptions options = GetParam().options();
  options.until = model.default_horizon();
  RunControl control;
  const RunResult result = find_engine(GetParam().engine).make()->run(model, options, control);
  ASSERT_EQ(result.end, RunEnd::completed) << result.fault;
  // One engine may choose fewer.
  if (GetParam().engine == "auto") {
    EXPECT_LE(result.workers, GetParam().workers);
  } else {
    EXPECT_EQ(result.workers, GetParam().workers);
  }
  // What watchers see may be a round old, but is never ahead of the truth.
  EXPECT_GT(control.committed.load(), 0u) << GetParam();
  EXPECT_LE(control.committed.load(), result.committed) << GetParam();
  EXPECT_LE(control.executed.load(), result.executed) << GetParam();
  EXPECT_LE(control.gvt_ticks.load(), options.until.ticks()) << GetParam();
  EXPECT_GT(result.peak_memory_bytes, 0u);
  EXPECT_GE(result.startup_seconds, 0);
  EXPECT_GT(result.loop_seconds, 0);
  if (GetParam().engine == "auto") return;
  if (GetParam().engine != "timewarp" || GetParam().workers == 1) {
    EXPECT_EQ(result.executed, result.committed);
    return;
  }
  const auto value = [&](const char* name) { return statistic(result, name); };
  EXPECT_EQ(static_cast<double>(result.executed) - value("rolled_back"),
            static_cast<double>(result.committed));
  EXPECT_GE(value("rolled_back"), value("rollbacks")) << "a rollback undoes an event";
  EXPECT_LE(value("cancellation_notices"), value("cancellations"));
  EXPECT_GT(value("remote_events"), 0);
  EXPECT_GT(value("checkpoints"), 0);
  EXPECT_GT(value("gvt_rounds"), 0);
}

// Life of an LP.

struct LifeCounts {
  std::atomic<int> made{0}, started{0}, finished{0}, destroyed{0}, wrong_mode{0};
};

struct Beat {};

class MortalLp final : public LogicalProcess<MortalLp, Beat> {
 public:
  MortalLp(LifeCounts& counts, bool own_heap) : counts_(counts), own_heap_(own_heap) {
    ++counts_.made;
    check();
  }
  ~MortalLp() override {
    ++counts_.destroyed;
    check();
  }
  void start(Context& context) override {
    ++counts_.started;
    check();
    context.schedule(context.self(), ticks(1), Beat{});
  }
  void handle(Context& context, Beat) {
    check();
    words_.push_back(words_.size());
    context.schedule((context.self() + 1) % context.lp_count(), ticks(3), Beat{});
  }
  void finish(FinalContext& context) override {
    ++counts_.finished;
    check();
    context.state(words_.size());
  }

 private:
  /// Application mode where the engine keeps heaps of LPs, platform mode where it does not.
  void check() {
    if ((memory::running_heap() != nullptr) != own_heap_) ++counts_.wrong_mode;
  }
  LifeCounts& counts_;
  const bool own_heap_;
  std::vector<std::uint64_t> words_;
};

class MortalModel final : public Model {
 public:
  explicit MortalModel(bool heaps) : own_heaps(heaps) {}
  std::uint64_t lp_count() const override { return 37; }
  Time default_horizon() const override { return Time::from_ticks(600); }
  std::unique_ptr<LogicalProcessBase> create(LpId id) const override {
    if (id == fail_at) throw std::runtime_error("told to");
    return std::make_unique<MortalLp>(counts, own_heaps);
  }
  mutable LifeCounts counts;
  const bool own_heaps;
  LpId fail_at = ~LpId{0};
};

TEST_P(Commits, LpsLiveOnceInTheirOwnMode) {
  MortalModel model(GetParam().has_heaps());
  ASSERT_EQ(run(model).result.end, RunEnd::completed);
  EXPECT_EQ(model.counts.made, 37) << GetParam();
  EXPECT_EQ(model.counts.started, 37) << GetParam();
  EXPECT_EQ(model.counts.finished, 37) << GetParam();
  EXPECT_EQ(model.counts.destroyed, 37) << GetParam();
  EXPECT_EQ(model.counts.wrong_mode, 0) << GetParam();
  EXPECT_EQ(memory::running_heap(), nullptr) << "the caller is left in application mode";
}

TEST_P(Commits, LpsMadeBeforeAFailureAreDestroyed) {
  MortalModel model(GetParam().has_heaps());
  model.fail_at = 20;
  ASSERT_EQ(run(model).result.end, RunEnd::fault);
  EXPECT_EQ(model.counts.destroyed, model.counts.made) << GetParam();
  EXPECT_EQ(model.counts.started, 0) << GetParam();
  EXPECT_EQ(model.counts.finished, 0) << GetParam();
}

// Stopped runs.

/// Every event has a time of its own, so "everything before `reached`" is one exact set of events.
void unique_times(ScriptModel& model) {
  model.on_start = [](Context& context, ScriptLp&) {
    context.schedule(context.self(), ticks(1 + context.self()), Step{});
  };
  model.on_step = [&model](Context& context, ScriptLp&, const Step& step) {
    const auto lps = static_cast<std::int64_t>(context.lp_count());
    // To an LP of its own residue: times at LP i are i + 1 modulo the number of LPs.
    const auto hop = static_cast<std::int64_t>(context.random().below(context.lp_count()));
    const auto to = static_cast<LpId>((context.self() + hop) % lps);
    std::int64_t delay = (static_cast<std::int64_t>(to) + 1 - context.now().ticks()) % lps;
    delay += delay <= 0 ? lps : 0;
    context.emit(model.table, step.value, 0.5);
    context.record(model.metric, static_cast<double>(delay) * 0.1);
    context.schedule(to, ticks(delay), Step{0, 0, step.value * 7 + 1});
  };
}

TEST_P(Commits, StoppedRunIsTheRunUpToWhereItGot) {
  constexpr std::int64_t kEndless = 2'000'000'000;
  ScriptModel model(32, kEndless);
  // Two walks can meet at an LP and an instant; that is decided by keys and is fine.
  unique_times(model);
  RunControl control;
  CollectedRows rows;
  control.rows = &rows;
  const auto step = model.on_step;
  model.on_step = [step, &control](Context& context, ScriptLp& self, const Step& event) {
    step(context, self, event);
    if (context.now().ticks() > (kSanitizers ? 3'000 : 40'000))
      control.stop_requested.store(true, std::memory_order_relaxed);
  };
  RunOptions options = GetParam().options();
  options.until = model.default_horizon();
  const RunResult result = find_engine(GetParam().engine).make()->run(model, options, control);
  ASSERT_EQ(result.end, RunEnd::interrupted) << GetParam();
  const std::int64_t reached = result.reached.ticks();
  EXPECT_GT(reached, 0) << GetParam();
  EXPECT_LT(reached, kEndless / 2) << GetParam();

  model.on_step = step;
  options.until = result.reached;
  const Outcome before = reference(model, options);
  options.until = result.reached + ticks(1);
  const Outcome within = reference(model, options);
  std::vector<CollectedRows::Line> actual = rows.sorted();
  EXPECT_EQ(actual.size(), result.committed);
  EXPECT_GE(result.committed, before.result.committed) << "reached " << reached;
  EXPECT_LE(result.committed, within.result.committed) << "reached " << reached;
  // All rows before `reached`, and some of those at it.
  ASSERT_LE(actual.size(), within.rows.size());
  ASSERT_GE(actual.size(), before.rows.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_TRUE(actual[i] == within.rows[i])
        << GetParam() << ", row " << i << ", reached " << reached;
  for (const Outcome* whole : {&before, &within}) {
    if (result.committed != whole->result.committed) continue;  // within the last instant
    EXPECT_EQ(result.fingerprint, whole->result.fingerprint)
        << GetParam() << ", reached " << reached;
  }
  EXPECT_EQ(result.metrics[0].count, result.committed);
}

TEST_P(Commits, StopBeforeTheFirstEvent) {
  ScriptModel model(8, 2'000'000'000);
  script_walks(model);
  RunControl control;
  control.stop_requested = true;
  RunOptions options = GetParam().options();
  options.until = model.default_horizon();
  const RunResult result = find_engine(GetParam().engine).make()->run(model, options, control);
  EXPECT_EQ(result.end, RunEnd::interrupted) << GetParam();
  EXPECT_LT(result.reached, options.until);
}

TEST_P(Commits, StopFromAnotherThread) {
  ScriptModel model(8, 4'000'000'000'000);
  script_walks(model);
  RunControl control;
  RunOptions options = GetParam().options();
  options.until = model.default_horizon();
  RunResult result;
  std::thread runner(
      [&] { result = find_engine(GetParam().engine).make()->run(model, options, control); });
  while (control.committed.load(std::memory_order_relaxed) < 5000) std::this_thread::yield();
  control.stop_requested = true;
  runner.join();
  EXPECT_EQ(result.end, RunEnd::interrupted) << GetParam();
  EXPECT_GE(result.committed, 5000u);
  EXPECT_GT(result.reached, Time::zero());
}

ORRERY_ON_EVERY_ENGINE(Commits);

}  // namespace
}  // namespace orrery::testing
