// SPDX-License-Identifier: Apache-2.0
//
// Interfaces for runs that halt on their way, with a whole world (world.h) that can be written
// down, and for runs that begin from an earlier world. This header does not know why runs halt;
// src/snapshot does.
#pragma once

#include "run/world/world_engine.h"

namespace orrery {

/// Called by the thread that runs the engine.
class RunHalts {
 public:
  virtual ~RunHalts() = default;
  /// The goal up to which the engine is to move the world next.
  virtual Goal next_goal(const World& world) = 0;
  /// Called before at_halt with the seconds that the engine took up to this halt for taking the
  /// world and giving it back.
  virtual void note_hand_over(double) {}
  /// The engine has paused, and the world is whole. Returns false if the run is to end here.
  virtual bool at_halt(World& world) = 0;
  /// The run is complete; the engine need not have paused at goals behind its last event. May move
  /// the cut back to the run's end, behind that event.
  virtual void at_completion(World&) {}
  /// Called once after the run; do not use the world afterwards.
  virtual void at_end(RunResult& result) = 0;
  /// The result of a run that at_halt has ended.
  virtual RunEnd end() const { return RunEnd::interrupted; }
  /// Whether other processes use copies of the world, so that it must lie on heaps.
  virtual bool moves_the_world() const { return true; }
};

/// Halts a run for a purpose of its own, and for other RunHalts.
class ChainedHalts : public RunHalts {
 public:
  void note_hand_over(double seconds) override {
    if (others_ != nullptr) others_->note_hand_over(seconds);
  }
  void at_completion(World& world) override {
    if (others_ != nullptr) others_->at_completion(world);
  }
  void at_end(RunResult& result) override {
    if (others_ != nullptr) others_->at_end(result);
  }
  RunEnd end() const override { return others_ != nullptr ? others_->end() : RunHalts::end(); }
  bool moves_the_world() const override { return others_ != nullptr && others_->moves_the_world(); }

 protected:
  /// `others`: null, or outlives this.
  explicit ChainedHalts(RunHalts* others) : others_(others) {}

  Goal goal_of_others(const World& world) {
    const Goal goal = others_ != nullptr ? others_->next_goal(world) : Goal{};
    others_until_ = goal.until;
    return goal;
  }
  /// Whether the world has reached the goal of the others.
  bool is_at_goal_of_others(const World& world) const {
    return world.cut >= Key::start_of(others_until_);
  }
  bool show_to_others(World& world) { return others_ == nullptr || others_->at_halt(world); }

 private:
  RunHalts* const others_;
  Time others_until_ = Time::max();
};

/// The source of a world that does not begin with its model's start.
class WorldOrigin {
 public:
  virtual ~WorldOrigin() = default;
  /// Fills a world that has heaps and no LPs yet. Throws UsageError if the source does not fit.
  virtual void fill(World& world) = 0;
};

}  // namespace orrery
