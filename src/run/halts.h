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
  /// It is over: nothing will be asked of the world any more.
  virtual void at_end(RunResult& result) = 0;
  /// How a run ends that at_halt has ended.
  virtual RunEnd end() const { return RunEnd::interrupted; }
  /// Whether the world is copied to where other processes find it, so that it has to lie on heaps.
  virtual bool moves_the_world() const { return true; }
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
