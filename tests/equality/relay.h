// SPDX-License-Identifier: Apache-2.0
//
// An engine that hands one world from engine to engine, in turns, every so many events, at times,
// or after a while that it puts off some times.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/engine_cases.h"
#include "run/world/world_engine.h"

namespace orrery::testing {

struct Leg {
  EngineCase engine;
  std::uint64_t events;
  unsigned puts_off = 0;   ///< how often; 0: `events` is the goal
  std::int64_t ticks = 0;  ///< to the next multiple of so many; 0: time is no goal
  bool asks = false;       ///< for a pause, all the time
};

/// Puts goals off, so many times.
class PutsOff final : public GoalKeeper {
 public:
  static constexpr double kSeconds = 200e-6;

  void begin(unsigned times) {
    left_ = times;
    committed_ = 0;
  }
  std::optional<double> put_off(const Progress& progress) override {
    EXPECT_GE(progress.committed, committed_);
    EXPECT_GE(progress.seconds, 0.9 * kSeconds) << "not before its time";
    EXPECT_GE(progress.lag_seconds, 0);
    committed_ = progress.committed;
    if (left_ == 0) return std::nullopt;
    --left_;
    ++granted;
    return kSeconds;
  }
  std::uint64_t committed() const { return committed_; }

  std::uint64_t granted = 0;

 private:
  unsigned left_ = 0;
  std::uint64_t committed_ = 0;
};

class Relay final : public WorldEngine {
 public:
  explicit Relay(std::vector<Leg> legs) : legs_(std::move(legs)) {
    for (const Leg& leg : legs_) engines_.push_back(find_engine(leg.engine.engine).make());
  }

  World::Layout layout(const Model& model, const CommunicationGraph& graph,
                       const RunOptions& options, std::vector<std::string>& notes) const override {
    RunOptions widest = options;
    widest.workers = 0;
    for (const Leg& leg : legs_) widest.workers = std::max(widest.workers, leg.engine.workers);
    widest.set(threads_option(), widest.workers);  // a part for each
    const auto timewarp = find_engine("timewarp").make();
    return dynamic_cast<const WorldEngine&>(*timewarp).layout(model, graph, widest, notes);
  }
  void advance(World& world, const RunOptions& options, const Goal&, RunControl& control,
               RunResult& result) override {
    std::vector<std::uint64_t> committed;
    for (std::size_t turn = 0;; ++turn) {
      const Leg& leg = legs_[turn % legs_.size()];
      auto& engine = dynamic_cast<WorldEngine&>(*engines_[turn % legs_.size()]);
      const std::uint64_t before = world.committed;
      keeper.begin(leg.puts_off);
      const Goal goal = goal_of(leg, world);
      engine.advance(world, leg.engine.options(options), goal, control, result);
      EXPECT_GE(world.committed, before + keeper.committed()) << "told more than there were";
      if (result.end != RunEnd::paused) return;
      ++handed_over;
      if (handed_over == kMostAsked) asked_.store(false, std::memory_order_relaxed);
      check(world, before, leg);
      if (leg.ticks > 0) check_time(world, goal.until);
    }
  }

  std::uint64_t handed_over = 0;
  PutsOff keeper;

 private:
  Goal goal_of(const Leg& leg, const World& world) {
    if (leg.ticks > 0)
      return {.until = Time::from_ticks((world.cut.time().ticks() / leg.ticks + 1) * leg.ticks)};
    if (leg.asks) return {.asked = &asked_};
    if (leg.puts_off == 0) return {.events = leg.events};
    return {.seconds = PutsOff::kSeconds, .keeper = &keeper};
  }
  /// A cut is one: nothing before it is left, and it does not go back.
  void check(World& world, std::uint64_t committed_before, const Leg& leg) {
    EXPECT_GE(world.committed, committed_before + leg.events) << leg.engine.text();
    EXPECT_GE(world.cut, cut_) << leg.engine.text();
    cut_ = world.cut;
    check_lists(world, leg);
  }
  /// An engine with one list of pending events deals them out, so that each worker of the next engine
  /// finds those of its LPs in its lists.
  static void check_lists(World& world, const Leg& leg) {
    if (leg.engine.engine != "sequential" && leg.engine.engine != "expanded") return;
    for (unsigned part = 0; part < world.parts(); ++part) {
      EventList kept;
      world.pending[part].take_all([&](const EventHeader& header, const std::byte* payload) {
        EXPECT_EQ(world.part_of(header.receiver), part) << leg.engine.text();
        kept.append(header, payload);
      });
      world.pending[part] = std::move(kept);
    }
  }

  /// Nothing before the time is left, and what is at or after it is all there.
  void check_time(World& world, Time until) {
    EXPECT_GE(world.cut, Key::start_of(until));
    std::uint64_t pending = 0;
    for (EventList& list : world.pending) {
      EventList kept;
      list.take_all([&](const EventHeader& header, const std::byte* payload) {
        EXPECT_GE(header.time(), until);
        kept.append(header, payload);
        ++pending;
      });
      list = std::move(kept);
    }
    EXPECT_GT(pending, 0U) << "else the run is complete";
  }

  const std::vector<Leg> legs_;
  std::vector<std::unique_ptr<Engine>> engines_;
  /// Each time the threads of an engine are started anew.
  static constexpr std::uint64_t kMostAsked = 30;
  std::atomic<bool> asked_{true};
  Key cut_;
};

/// As run_model.
inline Outcome run_relay(const Model& model, Relay& relay, RunOptions options) {
  if (options.until == Time::max()) options.until = model.default_horizon();
  CollectedRows rows;
  RunControl control;
  control.rows = &rows;
  Outcome outcome;
  outcome.result = relay.run(model, options, control);
  outcome.late_rows = rows.late();
  outcome.rows = rows.sorted();
  return outcome;
}

}  // namespace orrery::testing
