// SPDX-License-Identifier: Apache-2.0
//
// What a run does besides getting from its start to its end: halts on the way, at which its world
// is whole (world.h) and can be written down, and beginning from a world that was. Who halts runs
// for what purpose is not known here; src/snapshot does.
#pragma once

#include "run/world_engine.h"

namespace orrery {

/// Asked by the thread that runs the engine.
class RunHalts {
 public:
  virtual ~RunHalts() = default;
  /// How far the world is to be taken from where it is.
  virtual Goal next_goal(const World& world) = 0;
  /// The engine has had the world up to this halt, and that much of the time went into taking it
  /// and giving it back. Before at_halt.
  virtual void note_hand_over(double) {}
  /// The engine has paused, and the world is whole. False: the run is to end here.
  virtual bool at_halt(World& world) = 0;
  /// The run is complete, and the engine need not have paused at goals behind its last event. May
  /// take the cut back to where the run is to end, behind that event.
  virtual void at_completion(World&) {}
  /// It is over: nothing will be asked of the world any more.
  virtual void at_end(RunResult& result) = 0;
  /// How a run ends that at_halt has ended.
  virtual RunEnd end() const { return RunEnd::interrupted; }
  /// Whether the world is copied to where other processes find it, so that it has to lie on heaps.
  virtual bool moves_the_world() const { return true; }
};

/// Halts a run for a purpose of its own, and for what else it halts for.
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
  /// The world has come to where they wanted it.
  bool is_at_goal_of_others(const World& world) const {
    return world.cut >= Key::start_of(others_until_);
  }
  bool show_to_others(World& world) { return others_ == nullptr || others_->at_halt(world); }

 private:
  RunHalts* const others_;
  Time others_until_ = Time::max();
};

/// Where a world comes from that does not begin with its model's start.
class WorldOrigin {
 public:
  virtual ~WorldOrigin() = default;
  /// Fills a world that has heaps and no LPs yet. Throws UsageError if what it is made from does
  /// not fit.
  virtual void fill(World& world) = 0;
};

}  // namespace orrery
