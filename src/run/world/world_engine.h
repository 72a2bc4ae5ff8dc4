// SPDX-License-Identifier: Apache-2.0
//
// Engines that work on a world (world.h): they take it, move it forward, and return it. The
// beginning and end of the LPs are the same for all of them and in world_run.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/cycles.h"
#include "run/engine.h"
#include "run/world/world.h"

namespace orrery {

/// How far an engine moves a world, unless the horizon, a fault or a request to stop comes first:
/// to the first cut that the engine can make after the goal. A pause limits what is executed and
/// never what is sent.
struct Goal {
  std::uint64_t events = std::numeric_limits<std::uint64_t>::max();  ///< committed by this engine
  double seconds = std::numeric_limits<double>::infinity();
  /// All events before this time are to be executed, and none at or after it: the cut is then at
  /// this time, or the run is complete, if no event is left.
  Time until = Time::max();
  /// Set by another thread that wants a pause now. Carries no data, hence relaxed. Null, or
  /// outlives the engine's work.
  const std::atomic<bool>* asked = nullptr;
  /// May postpone the goal when its time is over. Null, or outlives the engine's work.
  class GoalKeeper* keeper = nullptr;

  /// Whether the goal may be reached merely by the engine's progress or by the time that it has had
  /// the world.
  bool is_a_slice() const {
    return events != std::numeric_limits<std::uint64_t>::max() || !std::isinf(seconds);
  }
  bool pauses() const { return is_a_slice() || until != Time::max() || asked != nullptr; }
  bool is_asked() const { return asked != nullptr && asked->load(std::memory_order_relaxed); }
  /// The time at which execution ends for now: a pause or the horizon.
  Time end(const RunOptions& options) const { return std::min(until, options.until); }
};

/// Lets an engine keep the world beyond its goal, since a cut and a hand-over to itself touch each
/// pending event twice.
class GoalKeeper {
 public:
  struct Progress {
    std::uint64_t committed;  ///< events committed by this engine, at a recent moment
    double seconds;           ///< until that moment, since the goal was set or postponed
    double lag_seconds;       ///< since that moment
    std::uint64_t pending;    ///< events that a hand-over would move, roughly
  };
  /// For how many seconds to continue, if at all. Called by one thread of the engine at a time.
  virtual std::optional<double> put_off(const Progress& progress) = 0;

 protected:
  ~GoalKeeper() = default;
};

/// Checks the goal from time to time.
class GoalWatch {
 public:
  explicit GoalWatch(const Goal& goal) : goal_(goal) { restart(); }
  /// Restarts the time. By one thread, before others check.
  void restart() {
    if (std::isinf(goal_.seconds)) return;
    begin_cycles_ = read_cycles();
    end_cycles_ = begin_cycles_ + cycles_in(goal_.seconds);
  }
  /// Whether the goal is reached; `committed`: events by this engine so far.
  bool reached(std::uint64_t committed) const {
    return committed >= goal_.events || read_cycles() >= end_cycles_ || is_asked();
  }
  /// Whether another thread wants a pause now.
  bool is_asked() const { return goal_.is_asked(); }
  /// How many events may be executed before the next check, at most `most`; at least one.
  std::uint64_t until_look(std::uint64_t committed, std::uint64_t most) const {
    return committed >= goal_.events ? 1 : std::min(most, goal_.events - committed);
  }
  // For a goal that may be postponed. Called by one thread only.
  bool reached_for_good(std::uint64_t committed, std::uint64_t pending) {
    return committed >= goal_.events || time_is_over_for_good(read_cycles(), committed, pending);
  }
  /// `cycles`: the latest moment at which the number of committed events is known.
  bool time_is_over_for_good(std::uint64_t cycles, std::uint64_t committed, std::uint64_t pending) {
    return (cycles >= end_cycles_ && !is_put_off(cycles, committed, pending)) || goal_.is_asked();
  }

 private:
  /// Not inlined: in the loop of the sequential engine on heaps that cost PHOLD 8 % of its rate.
  [[gnu::noinline]] bool is_put_off(std::uint64_t cycles, std::uint64_t committed,
                                    std::uint64_t pending) {
    if (goal_.keeper == nullptr) return false;
    const double seconds = seconds_of(cycles - begin_cycles_);
    const double lag = seconds_of(read_cycles() - cycles);
    const std::optional<double> more = goal_.keeper->put_off({committed, seconds, lag, pending});
    if (!more) {
      goal_.keeper = nullptr;  // asked only once
      return false;
    }
    begin_cycles_ = cycles;
    end_cycles_ = cycles + cycles_in(*more);
    return true;
  }

  Goal goal_;
  std::uint64_t begin_cycles_ = 0;
  std::uint64_t end_cycles_ = std::numeric_limits<std::uint64_t>::max();
};

class WorldEngine : public Engine {
 public:
  /// A run of this engine alone, from its start to its end.
  RunResult run(const Model& model, const RunOptions& options, RunControl& control) final;

  /// Placement of the LPs of such a run. `graph`: the model's. Throws UsageError for options that
  /// the engine cannot honour.
  virtual World::Layout layout(const Model& model, const CommunicationGraph& graph,
                               const RunOptions& options,
                               std::vector<std::string>& notes) const = 0;

  /// Moves the world forward. Sets in `result`: `end`, `fault`, `workers`, `peak_memory_bytes`
  /// without the world's own, statistics, account and notes; adds to `startup_seconds` the time
  /// before it executed anything, which the goal's seconds leave out, and to `loop_seconds` the
  /// time of execution. After a fault the world's cut is the failed event's key, and the world can
  /// only be ended. Throws UsageError for a world that it cannot take.
  virtual void advance(World& world, const RunOptions& options, const Goal& goal,
                       RunControl& control, RunResult& result) = 0;

  /// Whether LPs that may reach each other without delay must be on one rank, which its layout
  /// ensures.
  virtual bool keeps_clusters() const { return false; }

  /// Whether the engine may be faster than sequential execution, judged by the world's pending
  /// events.
  virtual bool may_pay(const World&) const { return true; }

 private:
  void advance_with_halts(World& world, const RunOptions& options, RunControl& control,
                          const std::function<void()>& flush_rows, RunResult& result);
  void run_whole(const Model& model, const RunOptions& options, RunControl& control,
                 RunResult& result, std::vector<LpId>& here);
};

}  // namespace orrery
