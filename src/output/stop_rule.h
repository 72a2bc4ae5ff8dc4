// SPDX-License-Identifier: Apache-2.0
//
// --stop-when: ends a run when its metrics fulfil a condition.
//
// The condition is checked at cuts of the run at a simulated time: all events before the cut are
// committed, and no event at or after it is executed. These times are the multiples of a step that
// only depends on the options. So every engine sees the same metrics at each check and stops at the
// same time, and the results are those of a run with --until at that time. A condition on the
// current values of a level is a predicate over the committed states of all LPs.
//
// For a condition about an interval's width, each check is another chance that an interval is
// narrow by accident; few checks (a hundred by default) keep this error small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/model.h"
#include "run/engine.h"
#include "run/world/halts.h"

namespace orrery {

/// A condition such as "wait.count >= 1000 and infected.current_total == 0": figures of metrics as the
/// report names them, and `precision`, the half-width of the interval of batch means as a share of
/// the mean.
class StopRule {
 public:
  /// Throws UsageError for a malformed text, for a metric or figure that the model does not have,
  /// and for the precision of a metric without batch means. `batched`: the metrics that have batch
  /// means.
  StopRule(const Model& model, std::string text, const std::vector<const Metric*>& batched);

  /// False if a figure has no value yet.
  bool holds(const RunResult& so_far) const;
  const std::string& text() const { return text_; }
  /// "wait.count was 102331 and wait.precision was 0.0193"
  std::string state(const RunResult& so_far) const;

 private:
  enum class Relation : std::uint8_t { less, at_most, more, at_least, equal, unequal };
  /// A relation and where its sign stands in a text.
  struct Sign {
    Relation relation;
    std::size_t at, bytes;
  };
  static Sign sign_of(const std::string& text);
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

/// Halts a run for the checks of its rule, and for its other halts.
class StopHalts final : public ChainedHalts {
 public:
  /// `step`: from one check to the next, not 0. `until`: of the run. `others`: null, or must
  /// outlive this object.
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
  std::optional<Time> look_;  ///< time of the next check, once the world is known
  std::string note_;          ///< set when the rule has stopped the run
};

}  // namespace orrery
