// SPDX-License-Identifier: Apache-2.0
//
// LPs of the sequential engine in heaps: these hold what the model allocates and nothing of the
// platform's, and what they refuse is told as Time Warp tells it. That results are the same is for
// the other tests, which run the engine so, too.
#include "run/loop/lp_memory.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

const EngineCase kOnHeaps{"sequential", 1, "auto", 0, true};
const EngineCase kTimeWarp{"timewarp", 1};

RunResult run(const Model& model, const EngineCase& engine, RunOptions options = {}) {
  return run_model(model, engine.engine, engine.options(std::move(options))).result;
}

/// Sends and emits from handlers until pool, pending set and rows have grown many times: far, near,
/// at one instant, and crowding the time of the events that come next.
void script_floods(ScriptModel& model) {
  model.on_start = [](Context& context, ScriptLp&) {
    for (int i = 0; i < 10; ++i)
      context.schedule(context.self(), ticks(1 + i * 5000), Step{1, 0, 0});
  };
  model.on_step = [&model](Context& context, ScriptLp&, const Step& step) {
    if (step.kind == 0) return;
    auto& random = context.random();
    for (std::int64_t i = 0; i < 1500; ++i) {
      const std::int64_t delay = i % 3 == 0 ? 7 : random.integer(1, i % 3 == 1 ? 4'000 : 1 << 20);
      context.schedule(context.self(), ticks(delay), Step{});
      context.emit(model.table, i, 0.5);
    }
  };
}

TEST(LpMemory, HoldsNothingOfThePlatform) {
  constexpr std::int64_t kHorizonTicks = 2 << 20;
  const ScriptModel idle(3, kHorizonTicks);
  const double alone = statistic(run(idle, kOnHeaps), "lp_memory");
  ScriptModel model(3, kHorizonTicks);
  script_floods(model);
  const RunResult result = run(model, kOnHeaps);
  ASSERT_EQ(result.end, RunEnd::completed) << result.fault;
  EXPECT_GT(result.committed, 40'000u);
  EXPECT_EQ(statistic(result, "lp_memory"), alone);
  const auto flood = model.on_step;
  model.on_step = [&](Context& context, ScriptLp& self, const Step& step) {
    flood(context, self, step);
    self.memory.push_back(1);
  };
  EXPECT_GT(statistic(run(model, kOnHeaps), "lp_memory"), alone);
}

TEST(LpMemory, RefusedMemoryIsToldAsByTimeWarp) {
  ScriptModel model(4);
  script_walks(model);
  const auto walk = model.on_step;
  model.on_step = [&](Context& context, ScriptLp& self, const Step& step) {
    walk(context, self, step);
    if (context.now() > Time::from_ticks(300))
      static_cast<void>(std::vector<char>(std::size_t{1} << 45));
  };
  const RunResult result = run(model, kOnHeaps);
  EXPECT_EQ(result.end, RunEnd::fault);
  EXPECT_NE(result.fault.find("it ran out of memory"), std::string::npos) << result.fault;
  EXPECT_EQ(result.fault, run(model, kTimeWarp).fault);
  EXPECT_TRUE(result.notes.empty()) << "the fault has told it: " << result.notes[0];
}

TEST(LpMemory, RefusedMemoryThatNobodyMissesIsNoted) {
  ScriptModel model(4);
  script_walks(model);
  const auto walk = model.on_step;
  model.on_step = [&](Context& context, ScriptLp& self, const Step& step) {
    walk(context, self, step);
    static void* (*volatile allocate)(std::size_t) = std::malloc;
    if (self.handled == 5) std::free(allocate(std::size_t{1} << 45));
  };
  for (int i = 0; i < 2; ++i) {  // what another run noted on this thread does not count
    const RunResult result = run(model, kOnHeaps);
    EXPECT_EQ(result.end, RunEnd::completed) << result.fault;
    ASSERT_EQ(result.notes.size(), 1u);
    EXPECT_NE(result.notes[0].find("refused memory 4 times"), std::string::npos);
    EXPECT_EQ(result.notes, run(model, kTimeWarp).notes);
  }
}

/// The exception is made in the LP's heap, which is gone when it is read.
TEST(LpMemory, UsageErrorOfAnLpOutlivesItsHeap) {
  const std::string words = "a file that only this LP needs is not there, which is a pity";
  ScriptModel model(4);
  model.on_create = [&](LpId id) {
    if (id == 2) throw UsageError(words);
  };
  try {
    run(model, kOnHeaps);
    FAIL() << "it ran";
  } catch (const UsageError& error) {
    EXPECT_EQ(error.what(), words);
  }
}

struct Wake {};
class FreesTwice final : public LogicalProcess<FreesTwice, Wake> {
 public:
  ~FreesTwice() override {
    static void (*volatile release)(void*) = std::free;
    release(memory_);
    release(memory_);
  }
  void start(Context&) override {}
  void handle(Context&, const Wake&) {}

 private:
  void* const memory_ = std::malloc(40);
};
class FreesTwiceModel final : public Model {
 public:
  std::uint64_t lp_count() const override { return 3; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<FreesTwice>();
  }
  Time default_horizon() const override { return Time::from_ticks(10); }
};

/// Misuse in a destructor is nobody's fault: neither of this run nor of the next on this thread.
TEST(LpMemory, MisuseByADestructorIsForgotten) {
  const FreesTwiceModel model;
  for (const EngineCase& engine : {kOnHeaps, kTimeWarp}) {
    const RunResult result = run(model, engine);
    EXPECT_EQ(result.end, RunEnd::completed) << result.fault;
    EXPECT_FALSE(heap_misuse().seen) << engine.text();
  }
}

}  // namespace
}  // namespace orrery::testing
