// SPDX-License-Identifier: Apache-2.0
//
// Engines that work on a world (world.h): they take it, move it forward, and give it back. What
// comes before and after, the LPs' making and end, is the same for all of them and in
// world_run.cpp.
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
#include "run/world.h"

namespace orrery {

/// How far an engine takes a world, if neither the horizon nor a fault or a request to stop comes
/// first: to the first cut that it can make after that. A pause limits what is executed and never
/// what is sent.
struct Goal {
  std::uint64_t events = std::numeric_limits<std::uint64_t>::max();  ///< committed by this engine
  double seconds = std::numeric_limits<double>::infinity();
  /// Everything before is to be executed, and nothing at or after it: then the cut is there, or the
  /// run is complete, if nothing is left.
  Time until = Time::max();
  /// Set by somebody who wants a pause now. Carries no data, hence relaxed. Null, or outlives the
  /// engine's work.
  const std::atomic<bool>* asked = nullptr;
  /// May put the goal off when its time is over. Null, or outlives the engine's work.
  class GoalKeeper* keeper = nullptr;

  /// Whether it may be reached for no other reason than how far the engine has come, or how long it
  /// has had the world.
  bool is_a_slice() const {
    return events != std::numeric_limits<std::uint64_t>::max() || !std::isinf(seconds);
  }
  bool pauses() const { return is_a_slice() || until != Time::max() || asked != nullptr; }
  bool is_asked() const { return asked != nullptr && asked->load(std::memory_order_relaxed); }
  /// Where handlers end for now: at a pause or at the horizon.
  Time end(const RunOptions& options) const { return std::min(until, options.until); }
};

/// Lets an engine go on with the world as it has it: a cut and a hand-over to itself cost a look at
/// each pending event, twice.
class GoalKeeper {
 public:
  struct Progress {
    std::uint64_t committed;  ///< events by this engine, at a moment not long ago
    double seconds;           ///< until then, since the goal was set or put off
    double lag_seconds;       ///< since then
    std::uint64_t pending;    ///< events that a hand-over would move, about
  };
  /// How many seconds it is to go on for, if it is. Asked by one thread of the engine, one at a
  /// time.
  virtual std::optional<double> put_off(const Progress& progress) = 0;

 protected:
  ~GoalKeeper() = default;
};

/// Looks at the goal now and then.
class GoalWatch {
 public:
  explicit GoalWatch(const Goal& goal) : goal_(goal) { restart(); }
  /// The seconds count from now. By one thread, before others look.
  void restart() {
    if (std::isinf(goal_.seconds)) return;
    begin_cycles_ = read_cycles();
    end_cycles_ = begin_cycles_ + cycles_in(goal_.seconds);
  }
  /// Whether it is reached; `committed`: events by this engine so far.
  bool reached(std::uint64_t committed) const {
    return committed >= goal_.events || time_is_over();
  }
  bool time_is_over() const { return read_cycles() >= end_cycles_ || goal_.is_asked(); }
  /// How many events may be executed before the next look, of `most`; one at least.
  std::uint64_t until_look(std::uint64_t committed, std::uint64_t most) const {
    return committed >= goal_.events ? 1 : std::min(most, goal_.events - committed);
  }
  // Where the goal may be put off. By one thread, the only one that asks.
  bool reached_for_good(std::uint64_t committed, std::uint64_t pending) {
    return committed >= goal_.events || time_is_over_for_good(read_cycles(), committed, pending);
  }
  /// `cycles`: when the engine had committed so many events, the last time that is known of.
  bool time_is_over_for_good(std::uint64_t cycles, std::uint64_t committed, std::uint64_t pending) {
    return (cycles >= end_cycles_ && !is_put_off(cycles, committed, pending)) || goal_.is_asked();
  }

 private:
  /// Apart: in the loop of the sequential engine on heaps it cost PHOLD 8 % of its rate.
  [[gnu::noinline]] bool is_put_off(std::uint64_t cycles, std::uint64_t committed,
                                    std::uint64_t pending) {
    if (goal_.keeper == nullptr) return false;
    const double seconds = seconds_of(cycles - begin_cycles_);
    const double lag = seconds_of(read_cycles() - cycles);
    const std::optional<double> more = goal_.keeper->put_off({committed, seconds, lag, pending});
    if (!more) {
      goal_.keeper = nullptr;  // it is asked once
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

  /// Whether LPs that may reach each other without delay have to be on one rank. Its layout sees to
  /// it.
  virtual bool keeps_clusters() const { return false; }

  /// Whether it may be faster than one event after the other, by what is pending in the world.
  virtual bool may_pay(const World&) const { return true; }

 private:
  void advance_with_halts(World& world, const RunOptions& options, RunControl& control,
                          const std::function<void()>& flush_rows, RunResult& result);
  void run_whole(const Model& model, const RunOptions& options, RunControl& control,
                 RunResult& result);
};

}  // namespace orrery
