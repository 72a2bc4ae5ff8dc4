// SPDX-License-Identifier: Apache-2.0
//
// --stop-when: a run ends when its metrics say that it has come far enough.
//
// The condition is looked at where the run is cut at a simulated time: everything before it is
// committed, nothing at or after it executed. These times are the multiples of a step, given by the
// options alone. So every engine sees the same metrics at each look, stops at the same time, and
// the results are those of a run with --until at that time.
//
// Where the condition is about an interval's width, looking again and again makes intervals that
// are narrow by chance stop the run; few looks (a hundred by default) keep that small.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/model.h"
#include "run/engine.h"
#include "run/halts.h"

namespace orrery {

/// "wait.count >= 1000 and wait.precision < 0.02": figures of metrics as the report names them, and
/// `precision`, the half-width of the interval of batch means as a share of the mean.
class StopRule {
 public:
  /// Throws UsageError for what is no such text, for what the model does not have, and for the
  /// precision of a metric without batch means. `batched`: those that have them.
  StopRule(const Model& model, std::string text, const std::vector<const Metric*>& batched);

  /// A figure that has no value yet fulfils nothing.
  bool holds(const RunResult& so_far) const;
  const std::string& text() const { return text_; }
  /// "wait.count was 102331 and wait.precision was 0.0193"
  std::string state(const RunResult& so_far) const;

 private:
  enum class Relation { less, at_most, more, at_least };
  struct Condition {
    const Metric* metric;
    std::string figure;
    Relation relation;
    double bound;
  };
  Condition parse(const std::string& text, const std::vector<const Metric*>& batched) const;
  std::size_t name_bytes(const std::string& text) const;
  const Metric* metric_of(const std::string& name, const std::string& figure,
                          const std::vector<const Metric*>& batched) const;
  std::optional<double> value(const Condition& condition, const RunResult& so_far) const;
  static bool fulfils(const Condition& condition, double value);

  const Model& model_;
  const std::string text_;
  std::vector<Condition> conditions_;  ///< all of them have to hold
};

/// Halts a run for its rule, and for what else it halts for.
class StopHalts final : public ChainedHalts {
 public:
  /// `step`: from one look to the next, not 0. `until`: of the run. `others`: null, or outlives
  /// this.
  StopHalts(const StopRule& rule, Duration step, Time until, const RunControl& control,
            RunHalts* others)
      : ChainedHalts(others), rule_(rule), step_(step), until_(until), control_(control) {}

  Goal next_goal(const World& world) override;
  bool at_halt(World& world) override;
  void at_completion(World& world) override;
  void at_end(RunResult& result) override;
  RunEnd end() const override;

 private:
  Time look_after(Time time) const;
  bool is_behind_look(const World& world) const;
  bool is_time_to_stop(World& world);

  const StopRule& rule_;
  const Duration step_;
  const Time until_;
  const RunControl& control_;
  std::optional<Time> look_;  ///< the next one, once the world is known
  std::string note_;          ///< once the rule has stopped the run
};

}  // namespace orrery
