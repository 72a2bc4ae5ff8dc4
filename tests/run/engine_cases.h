// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the engines share: the engines and worker counts that they run on, a model
// whose behaviour is a few lambdas in the test that uses it, and the comparison of two outcomes.
// The sequential engine is the reference; what a test asserts of it, `expect_same` extends to the
// others.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "engine/auto/settings.h"
#include "engine/expanded/settings.h"
#include "engine/sequential/settings.h"
#include "engine/timewarp/settings.h"
#include "equality/run_model.h"
#include "instant.h"
#include "orrery/orrery.h"
#include "sanitizers.h"

namespace orrery {

/// How GoogleTest prints what it compares.
inline void PrintTo(RunEnd end, std::ostream* out) {
  *out << (end == RunEnd::completed ? "completed" : end == RunEnd::fault ? "fault" : "interrupted");
}
inline void PrintTo(Time time, std::ostream* out) {
  *out << "tick " << time.ticks();
}

}  // namespace orrery

namespace orrery::testing {

struct EngineCase {
  std::string engine;
  unsigned workers;
  std::string mode = "auto";  ///< of the expanded engine, which would run short events in place
  unsigned threads = 0;       ///< that share the workers; 0: automatic
  bool on_heaps = false;      ///< of the sequential engine
  std::uint64_t hand_over_every = 0;  ///< events, of the engine that chooses engines

  std::string text() const {
    return engine + ", " + std::to_string(workers) + " workers" +
           (mode == "auto" ? "" : ", mode " + mode) +
           (threads == 0 ? "" : " on " + std::to_string(threads) + " threads") +
           (on_heaps ? ", on heaps" : "") +
           (hand_over_every == 0
                ? ""
                : ", hand-overs every " + std::to_string(hand_over_every) + " events");
  }
  std::string identifier() const {
    return engine + std::to_string(workers) + (mode == "auto" ? "" : mode) +
           (threads == 0 ? "" : "on" + std::to_string(threads)) + (on_heaps ? "onheaps" : "") +
           (hand_over_every == 0 ? "" : "every" + std::to_string(hand_over_every));
  }
  RunOptions options(RunOptions options = {}) const {
    options.workers = workers;
    options.bind = false;
    options.set(expanded::kMode, mode);
    options.set(threads_option(), threads);
    options.set(sequential::kOnHeaps, on_heaps);
    options.set(automatic::kHandOverEvery, hand_over_every);
    return options;
  }
  /// Whether LPs lie in LP heaps.
  bool has_heaps() const {
    return engine == "timewarp" || on_heaps || (engine == "auto" && workers > 1);
  }
};

inline std::ostream& operator<<(std::ostream& out, const EngineCase& c) {
  return out << c.text();
}

/// With sanitizers, which make a run tens of times as slow, each engine is run in fewer ways; with
/// the thread sanitizer, with several threads only.
inline std::vector<EngineCase> all_engines() {
  std::vector<EngineCase> engines{{"timewarp", 2},
                                  {"timewarp", 4, "auto", 4},
                                  {"expanded", 3, "batched"},
                                  {"expanded", 4, "batched"},
                                  {"conservative", 3, "auto", 3},
                                  {"auto", 3, "batched", 2, false, kSanitizers ? 20'000u : 1'000u}};
  const auto add = [&engines](std::initializer_list<EngineCase> more) {
    engines.insert(engines.end(), more);
  };
  if (!kThreadSanitizer) {
    add({{"sequential", 1}, {"sequential", 1, "auto", 0, true}, {"timewarp", 1}});
  }
  if (!kSanitizers) {
    add({{"timewarp", 3, "auto", 3},
         {"expanded", 1},
         {"conservative", 1},
         {"auto", 1},
         {"auto", 2}});
  }
  return engines;
}

/// Everything that must not depend on the engine.
inline void expect_same(const Outcome& expected, const Outcome& actual, const std::string& what) {
  SCOPED_TRACE(what);
  ASSERT_EQ(actual.result.end, expected.result.end)
      << "fault: " << actual.result.fault << " instead of: " << expected.result.fault;
  EXPECT_EQ(actual.result.fault, expected.result.fault);
  EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint);
  EXPECT_EQ(actual.result.committed, expected.result.committed);
  EXPECT_EQ(actual.result.reached, expected.result.reached);
  EXPECT_TRUE(actual.rows == expected.rows)
      << actual.rows.size() << " rows, " << expected.rows.size() << " expected";
  EXPECT_FALSE(actual.late_rows) << "a row came behind its watermark";
  ASSERT_EQ(actual.result.metrics.size(), expected.result.metrics.size());
  for (std::size_t i = 0; i < expected.result.metrics.size(); ++i) {
    const Summary& a = actual.result.metrics[i];
    const Summary& b = expected.result.metrics[i];
    const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
    EXPECT_EQ(a.count, b.count) << "metric " << i;
    EXPECT_EQ(bits(a.sum), bits(b.sum)) << "metric " << i << ": " << a.sum << " for " << b.sum;
    EXPECT_EQ(bits(a.squares), bits(b.squares)) << "metric " << i;
    EXPECT_EQ(bits(a.minimum), bits(b.minimum)) << "metric " << i;
    EXPECT_EQ(bits(a.maximum), bits(b.maximum)) << "metric " << i;
  }
  ASSERT_EQ(actual.result.mergeable_statistics.has_value(),
            expected.result.mergeable_statistics.has_value());
  if (!expected.result.mergeable_statistics) return;
  EXPECT_TRUE(actual.result.mergeable_statistics->words() ==
              expected.result.mergeable_statistics->words())
      << "metrics have counted otherwise";
}

/// Base of test suites that run on every engine.
class OnEveryEngine : public ::testing::TestWithParam<EngineCase> {
 protected:
  static Outcome run(const Model& model) { return run(model, GetParam().options()); }
  static Outcome run(const Model& model, RunOptions options) {
    return run_model(model, GetParam().engine, GetParam().options(std::move(options)));
  }
  static Outcome reference(const Model& model, RunOptions options = {}) {
    options.workers = 1;
    return run_model(model, "sequential", options);
  }
  /// Completes, and commits what the sequential engine does.
  static Outcome expect_completed(const Model& model, RunOptions options = {}) {
    const Outcome expected = reference(model, options);
    const Outcome actual = run(model, options);
    EXPECT_EQ(actual.result.end, RunEnd::completed) << GetParam() << ": " << actual.result.fault;
    expect_same(expected, actual, GetParam().text());
    return actual;
  }
};

/// At the end of a file, for a suite derived from OnEveryEngine.
#define ORRERY_ON_EVERY_ENGINE(Suite)                                          \
  INSTANTIATE_TEST_SUITE_P(Engines, Suite, ::testing::ValuesIn(all_engines()), \
                           [](const auto& test) { return test.param.identifier(); })

/// The one event type of a scripted model. Its bytes enter the fingerprint.
struct Step {
  std::uint32_t kind = 0;
  std::uint32_t left = 0;  ///< what the script makes of it, usually steps still to go
  std::uint64_t value = 0;
};

class ScriptModel;

/// Counts and digests what it handles, so that a lost, doubled or reordered event shows in its
/// final state even where the engine's own hash should miss it.
class ScriptLp final : public LogicalProcess<ScriptLp, Step> {
 public:
  explicit ScriptLp(const ScriptModel& model) : model_(model) {}
  void start(Context& context) override;
  void handle(Context& context, const Step& step);
  void finish(FinalContext& context) override;

  std::uint64_t handled = 0, digest = 0;
  std::vector<std::uint64_t> memory;  ///< the script's
  std::vector<bool> bits;             ///< the same, bit by bit

 private:
  const ScriptModel& model_;
};

/// A model made of what the test assigns to its members.
class ScriptModel final : public Model {
 public:
  explicit ScriptModel(std::uint64_t lps, std::int64_t horizon_ticks = 1000)
      : lps_(lps), horizon_(Time::from_ticks(horizon_ticks)) {}

  std::function<void(Context&, ScriptLp&)> on_start;
  std::function<void(Context&, ScriptLp&, const Step&)> on_step;
  std::function<void(FinalContext&, const ScriptLp&)> on_finish;
  std::function<void(LpId)> on_create;
  std::function<std::string(LpId)> on_name;

  std::uint64_t lp_count() const override { return lps_; }
  Time default_horizon() const override { return horizon_; }
  std::unique_ptr<LogicalProcessBase> create(LpId id) const override {
    if (on_create) on_create(id);
    return std::make_unique<ScriptLp>(*this);
  }

  std::string name_of(LpId id) const override { return on_name ? on_name(id) : ""; }

  const Metric metric{*this, "metric", "", "what the script records"};
  const Metric unused{*this, "unused", "", "never recorded"};
  const Table table{
      *this, "table", {{"count", ColumnType::integer}, {"share", ColumnType::real}}, "rows"};

 private:
  const std::uint64_t lps_;
  const Time horizon_;
};

inline void ScriptLp::start(Context& context) {
  if (model_.on_start) model_.on_start(context, *this);
}

inline void ScriptLp::handle(Context& context, const Step& step) {
  ++handled;
  digest = digest * 0x9e3779b97f4a7c15u + step.value + step.kind + 1;
  if (model_.on_step) model_.on_step(context, *this, step);
}

inline void ScriptLp::finish(FinalContext& context) {
  context.state(handled);
  context.state(digest);
  for (const std::uint64_t word : memory) context.state(word);
  for (const bool bit : bits) context.state(bit);
  if (model_.on_finish) model_.on_finish(context, *this);
}

/// A walk: sends itself on, to a random LP after a random delay of 1 to `longest` ticks. Every LP
/// starts one.
inline void script_walks(ScriptModel& model, std::int64_t longest = 20) {
  model.on_start = [](Context& context, ScriptLp&) {
    context.schedule(context.self(), ticks(1 + context.self() % 7), Step{0, 0, context.self()});
  };
  model.on_step = [longest](Context& context, ScriptLp&, const Step& step) {
    auto& random = context.random();
    const auto to = static_cast<LpId>(random.below(context.lp_count()));
    context.schedule(to, ticks(random.integer(1, longest)), Step{0, 0, step.value * 5 + 1});
  };
}

inline double statistic(const RunResult& result, const std::string& name) {
  for (const Statistic& one : result.statistics)
    if (one.name == name) return one.value;
  ADD_FAILURE() << "the engine has no statistic '" << name << "'";
  return -1;
}

}  // namespace orrery::testing
