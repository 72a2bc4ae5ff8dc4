// SPDX-License-Identifier: Apache-2.0
//
// Phases of an instant: in which order events at one time are handled, whatever their senders are,
// on every engine.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "orrery/process.h"
#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

struct ByNumber {
  static constexpr unsigned phase = 3;
};
struct ByPhase {
  static constexpr Phase phase{4};
};
struct WithMember {
  unsigned phase;
};
static_assert(event_phase<ByNumber> == 3 && event_phase<ByPhase> == 4);
static_assert(event_phase<WithMember> == -1, "a value of the event, not of its type");

class Phases : public OnEveryEngine {};

// ---- The order

/// The first cells of all rows, in the order of the events that emitted them.
std::vector<std::uint64_t> first_cells(const Outcome& outcome) {
  std::vector<std::uint64_t> cells;
  for (const auto& row : outcome.rows)
    cells.push_back(std::get<std::vector<std::uint64_t>>(row).at(0));
  return cells;
}

TEST_P(Phases, ComeOneAfterTheOther) {
  ScriptModel model(2);
  model.on_start = [](Context& context, ScriptLp&) {
    if (context.self() == 1) return;
    context.schedule(0, ticks(5), Step{1}, Phase(15));
    context.schedule(0, ticks(5), Step{2}, Phase(3));
    context.schedule(0, ticks(5), Step{3});
    context.schedule_timer(ticks(5), Step{4}, Phase(2));
    context.schedule_expanded(0, ticks(5), Duration::zero(), Step{5}, Phase(4));
    context.schedule(0, ticks(5), Step{6}, Phase(3));
    context.schedule(0, ticks(6), Step{7});
  };
  model.on_step = [&model](Context& context, ScriptLp&, const Step& step) {
    context.emit(model.table, step.kind * 100 + context.phase().number(), 0.0);
    const auto send = [&](std::uint32_t kind, auto... phase) {
      context.schedule(0, Duration::zero(), Step{kind}, phase...);
    };
    if (step.kind == 2) send(20);             // phase 3, behind 6
    if (step.kind == 2) send(21, Phase(3));   // the same
    if (step.kind == 2) send(22, Phase(15));  // behind 1
    if (step.kind == 20) send(23, Phase(5));
    if (step.kind == 23) send(24);  // phase 5
  };
  const std::vector<std::uint64_t> expected = {300, 402,  203,  603, 2003, 2103,
                                               504, 2305, 2405, 115, 2215, 700};
  EXPECT_EQ(first_cells(expect_completed(model)), expected);
}

TEST_P(Phases, AreOfTheSenderUnlessNamed) {
  ScriptModel model(2);
  model.on_start = [](Context& context, ScriptLp&) {
    if (context.self() == 0) context.schedule(0, ticks(5), Step{3, 0, 0}, Phase(7));
  };
  model.on_step = [&model](Context& context, ScriptLp&, const Step& step) {
    context.emit(model.table, context.phase().number(), 0.0);
    if (step.kind > 0) context.schedule(0, Duration::zero(), Step{step.kind - 1});
    if (step.kind == 0 && context.now() < Time::from_ticks(20))
      context.schedule(0, ticks(9), Step{1});
  };
  const std::vector<std::uint64_t> expected = {7, 7, 7, 7, 0, 0, 0, 0};
  EXPECT_EQ(first_cells(expect_completed(model)), expected);
}

TEST_P(Phases, DoNotGoBack) {
  ScriptModel model(2);
  model.on_start = [](Context& context, ScriptLp&) {
    if (context.self() == 0) context.schedule(0, ticks(5), Step{}, Phase(7));
  };
  model.on_step = [](Context& context, ScriptLp&, const Step&) {
    context.schedule(1, Duration::zero(), Step{}, Phase(6));
  };
  const Outcome outcome = run(model, {});
  EXPECT_EQ(outcome.result.end, RunEnd::fault);
  EXPECT_NE(
      outcome.result.fault.find("in phase 7 it sent an event of phase 6 without delay to LP 1: "
                                "the effect would come before its cause; name phase 7 or a "
                                "later one, or give the send a delay"),
      std::string::npos)
      << outcome.result.fault;
}

TEST_P(Phases, AreAtMost15) {
  ScriptModel model(2);
  model.on_start = [](Context& context, ScriptLp&) {
    context.schedule(0, ticks(5), Step{}, Phase(16 + context.self()));
  };
  const Outcome outcome = run(model, {});
  EXPECT_EQ(outcome.result.end, RunEnd::fault);
  EXPECT_NE(outcome.result.fault.find("a phase is 0 to 15, but it is 16"), std::string::npos)
      << outcome.result.fault;
}

/// A livelock is one of a phase: steps in others do not count.
TEST_P(Phases, HaveALivelockEach) {
  ScriptModel model(2);
  model.on_start = [](Context& context, ScriptLp&) {
    if (context.self() == 0) context.schedule(0, ticks(5), Step{0, 80});
  };
  model.on_step = [](Context& context, ScriptLp&, const Step& step) {
    if (step.left == 0) return;
    const Step next{0, step.left - 1};
    step.left % 10 == 0 && context.phase().number() < Phase::kMost
        ? context.schedule(0, Duration::zero(), next, Phase(context.phase().number() + 1))
        : context.schedule(0, Duration::zero(), next);
  };
  RunOptions options;
  options.livelock_microsteps = 12;
  EXPECT_EQ(expect_completed(model, options).result.end, RunEnd::completed);
  options.livelock_microsteps = 8;
  const Outcome outcome = run(model, options);
  EXPECT_EQ(outcome.result.end, RunEnd::fault);
  EXPECT_NE(outcome.result.fault.find("livelock: 8 events"), std::string::npos)
      << outcome.result.fault;
}

// ---- Processes

class Sleeper final : public ProcessLp<Sleeper> {
 public:
  explicit Sleeper(const Table& woken) : woken_(woken) {}
  void begin() override {
    for (const unsigned phase : {9u, 2u, 5u}) spawn(sleep(phase));
  }

 private:
  Process sleep(unsigned phase) {
    co_await delay(Duration::from_ticks(7), Phase(phase));
    emit(woken_, phase);
    co_await delay(Duration::zero(), Phase(9));
    emit(woken_, 100 + phase);
  }
  const Table& woken_;
};

struct Sleepers final : Model {
  std::uint64_t lp_count() const override { return 1; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<Sleeper>(woken);
  }
  Time default_horizon() const override { return Time::from_ticks(20); }
  const Table woken{*this, "woken", {{"phase", ColumnType::integer}}, "processes"};
};

TEST_P(Phases, AreWaitedForByProcesses) {
  const std::vector<std::uint64_t> expected = {2, 5, 9, 102, 105, 109};
  EXPECT_EQ(first_cells(expect_completed(Sleepers())), expected);
}

ORRERY_ON_EVERY_ENGINE(Phases);

}  // namespace
}  // namespace orrery::testing
