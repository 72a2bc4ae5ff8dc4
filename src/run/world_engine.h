// SPDX-License-Identifier: Apache-2.0
//
// Engines that work on a world (world.h): they take it, move it forward, and give it back. What
// comes before and after, the LPs' making and end, is the same for all of them and in
// world_run.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/cycles.h"
#include "run/engine.h"
#include "run/world.h"

namespace orrery {

/// How far an engine takes a world, if neither the horizon nor a fault or a request to stop comes
/// first: to the first cut that it can make after that. A pause limits what is executed and never
/// what is sent.
struct Goal {
  std::uint64_t events = std::numeric_limits<std::uint64_t>::max();  ///< committed by this engine
  double seconds = std::numeric_limits<double>::infinity();

  bool pauses() const {
    return events != std::numeric_limits<std::uint64_t>::max() || !std::isinf(seconds);
  }
};

/// Looks at the goal now and then.
class GoalWatch {
 public:
  explicit GoalWatch(const Goal& goal) : events_(goal.events), seconds_(goal.seconds) { restart(); }
  /// The seconds count from now. By one thread, before others look.
  void restart() {
    if (std::isinf(seconds_)) return;
    end_cycles_ = read_cycles() + cycles_in(seconds_);
  }
  /// Whether it is reached; `committed`: events by this engine so far.
  bool reached(std::uint64_t committed) const { return committed >= events_ || time_is_over(); }
  bool time_is_over() const { return read_cycles() >= end_cycles_; }
  /// How many events may be executed before the next look, of `most`; one at least.
  std::uint64_t until_look(std::uint64_t committed, std::uint64_t most) const {
    return committed >= events_ ? 1 : std::min(most, events_ - committed);
  }

 private:
  const std::uint64_t events_;
  const double seconds_;
  std::uint64_t end_cycles_ = std::numeric_limits<std::uint64_t>::max();
};

class WorldEngine : public Engine {
 public:
  /// A run of this engine alone, from its start to its end.
  RunResult run(const Model& model, const RunOptions& options, RunControl& control) final;

  /// Where the LPs of such a run are to lie. `graph`: the model's. Throws UsageError for options
  /// that it cannot honour.
  virtual World::Layout layout(const Model& model, const CommunicationGraph& graph,
                               const RunOptions& options,
                               std::vector<std::string>& notes) const = 0;

  /// Moves the world forward. Sets in `result`: `end`, `fault`, `workers`, `peak_memory_bytes`
  /// beside the world's own, statistics, account and notes, and adds to `startup_seconds` what it
  /// took before it executed anything, which the goal's seconds leave out, and to `loop_seconds`
  /// what it took to execute. After a fault the world's cut is the failed event's key, and the
  /// world can only be ended. Throws UsageError for a world that it cannot take.
  virtual void advance(World& world, const RunOptions& options, const Goal& goal,
                       RunControl& control, RunResult& result) = 0;

  /// Whether it may be faster than one event after the other, by what is pending in the world.
  virtual bool may_pay(const World&) const { return true; }

 private:
  void run_whole(const Model& model, const RunOptions& options, RunControl& control,
                 RunResult& result);
};

}  // namespace orrery
