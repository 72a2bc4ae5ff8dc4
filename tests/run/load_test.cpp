// SPDX-License-Identifier: Apache-2.0
//
// Loads that fill what has a limit: rings between workers, the memory budget, histories of LPs, the
// optimism window. Limits cost time, never results.
#include <chrono>
#include <thread>

#include "engine/timewarp/settings.h"
#include "equality/random_model.h"
#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

class Loads : public OnEveryEngine {};

constexpr std::uint32_t kBurst = kSanitizers ? 10'000 : 100'000;

/// One handler sends far more events to another worker than a ring holds.
TEST_P(Loads, BurstToOneLp) {
  ScriptModel model(4, 1'000'000);
  model.on_start = [](Context& context, ScriptLp&) {
    context.schedule(context.self(), ticks(1), Step{0, context.self() == 0 ? 1u : 0u, 0});
  };
  model.on_step = [](Context& context, ScriptLp&, const Step& step) {
    if (step.left != 1) return;
    for (std::uint32_t i = 0; i < kBurst; ++i)
      context.schedule(3, ticks(10 + i % 1000), Step{1, 0, i});
  };
  EXPECT_EQ(expect_completed(model).result.committed, 4u + kBurst);
}

/// Everybody floods everybody: two workers whose rings to each other are full must not wait for
/// each other.
TEST_P(Loads, BurstsInAllDirections) {
  ScriptModel model(4, 1'000'000);
  model.on_start = [](Context& context, ScriptLp&) {
    context.schedule(context.self(), ticks(1), Step{0, 1, 0});
  };
  model.on_step = [](Context& context, ScriptLp&, const Step& step) {
    if (step.left != 1) return;
    for (std::uint32_t i = 0; i < kBurst / 5; ++i)
      context.schedule((context.self() + i) % 4, ticks(10 + i % 1000), Step{1, 0, i});
  };
  EXPECT_EQ(expect_completed(model).result.committed, 4u + 4 * (kBurst / 5));
}

/// The burst is taken back: LP 0 sends it speculatively and is then corrected by a late message.
/// All cancellations cross the rings as well.
TEST_P(Loads, BurstThatIsRolledBack) {
  ScriptModel model(4, 100'000);
  model.on_start = [](Context& context, ScriptLp&) {
    if (context.self() == 3) context.schedule(3, ticks(1), Step{2, 0, 0});
    if (context.self() == 0) context.schedule(0, ticks(100), Step{0, 4, 0});
  };
  model.on_step = [](Context& context, ScriptLp& self, const Step& step) {
    if (step.kind == 2) {  // the correction, late in real time
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      context.schedule(0, ticks(49), Step{3, 0, 0});
    } else if (step.kind == 3) {
      self.memory.push_back(42);
    } else if (step.kind == 0 && step.left > 0) {
      for (std::uint32_t i = 0; i < kBurst / 5; ++i)
        context.schedule(1 + i % 3, ticks(10 + i % 50), Step{1, 0, i + self.memory.size()});
      context.schedule(0, ticks(100), Step{0, step.left - 1, 0});
    }
  };
  const Outcome actual = expect_completed(model);
  EXPECT_EQ(actual.result.committed, 7u + 4 * (kBurst / 5));
}

/// A long history at one LP: it runs far ahead of a slow one and is rolled back to its beginning.
TEST_P(Loads, LongRollback) {
  constexpr std::int64_t kTicks = kSanitizers ? 4'000 : 12'000;
  ScriptModel model(4, kTicks);
  model.on_start = [](Context& context, ScriptLp&) {
    if (context.self() == 0) context.schedule(0, ticks(5), Step{2, 0, 0});
    if (context.self() == 3) context.schedule(3, ticks(20), Step{0, 0, 1});
  };
  model.on_step = [](Context& context, ScriptLp& self, const Step& step) {
    if (step.kind == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      context.schedule(3, ticks(5), Step{3, 0, 99});
      return;
    }
    self.memory.push_back(step.value);
    if (self.memory.size() > 50) self.memory.erase(self.memory.begin());
    if (step.kind == 0)
      context.schedule(3, ticks(1), Step{0, 0, step.value * 3 + self.memory.size()});
  };
  EXPECT_EQ(expect_completed(model).result.committed, 2u + kTicks - 20);
}

RandomModelOptions random_options() {
  return {.shape = 3, .lps = 40, .horizon = Duration::from_ticks(kSanitizers ? 1'500 : 4'000)};
}

TEST_P(Loads, TinyMemoryBudgetCompletes) {
  const RandomModel model(random_options());
  for (const std::uint64_t bytes : {100'000u, 1'000'000u}) {
    SCOPED_TRACE("memory budget " + std::to_string(bytes));
    RunOptions options;
    options.memory_bytes = bytes;
    expect_completed(model, options);
  }
}

TEST_P(Loads, FixedWindows) {
  const RandomModel model(random_options());
  for (const std::int64_t window : {1, 7, 100, 1'000'000}) {
    SCOPED_TRACE("window " + std::to_string(window));
    RunOptions options;
    options.set(timewarp::kWindow, window);
    expect_completed(model, options);
  }
}

/// Budget and window at once, with hardly a GVT round.
TEST_P(Loads, RareGvtRounds) {
  const RandomModel model(random_options());
  for (const std::uint64_t period_us : {1u, 3000u}) {
    RunOptions options;
    options.set(timewarp::kGvtPeriod, period_us);
    options.set(timewarp::kWindow, period_us == 1 ? 0 : 300);
    SCOPED_TRACE("GVT period " + std::to_string(period_us) + " us");
    expect_completed(model, options);
  }
}

ORRERY_ON_EVERY_ENGINE(Loads);

}  // namespace
}  // namespace orrery::testing
