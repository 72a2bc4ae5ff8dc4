// SPDX-License-Identifier: Apache-2.0
//
// Tokens that go from LP to LP with zero delay, all at the same instants: GVT moves by microsteps
// and phases, and so do cuts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "orrery/orrery.h"
#include "sanitizers.h"

namespace orrery::testing {

struct Pass {
  std::uint64_t value;
  std::uint32_t left, padding;
};

class InstantModel final : public Model {
 public:
  explicit InstantModel(std::uint32_t most_steps, bool has_phases = false)
      : steps(most_steps), phases(has_phases) {}
  std::uint64_t lp_count() const override { return 24; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
  Time default_horizon() const override { return Time::from_ticks(kSanitizers ? 3 : 6); }

  const std::uint32_t steps;  ///< at an instant
  const bool phases;          ///< now and then a token goes to a later phase
  const Table passed{*this, "passed", {{"value", ColumnType::integer}}, "some events"};
  const Metric values{*this, "values", "", "of the tokens", Keep::histogram};
};

class InstantLp final : public LogicalProcess<InstantLp, Pass> {
 public:
  explicit InstantLp(const InstantModel& model) : model_(model) {}
  void start(Context& context) override { pass(context, {context.self(), 0, 0}); }
  void handle(Context& context, const Pass& token) {
    digest_ = (digest_ ^ token.value) * 0x9e3779b97f4a7c15;
    if (digest_ >> 62 == 0) context.emit(model_.passed, digest_ >> 1);
    context.record(model_.values, static_cast<double>(digest_ >> 40));
    pass(context, {digest_ >> 8, token.left, 0});
  }
  void finish(FinalContext& context) override { context.state(digest_); }

 private:
  void pass(Context& context, const Pass& token) {
    const auto to = static_cast<LpId>(context.random().below(context.lp_count()));
    if (token.left > 0 && model_.phases && token.value % 8 == 0) {
      context.schedule(to, Duration::zero(), Pass{token.value, token.left - 1, 0},
                       Phase(std::min(context.phase().number() + 1, Phase::kMost)));
    } else if (token.left > 0) {
      context.schedule(to, Duration::zero(), Pass{token.value, token.left - 1, 0});
    } else {
      context.schedule(to, Duration::from_ticks(1), Pass{token.value, model_.steps, 0});
    }
  }
  const InstantModel& model_;
  std::uint64_t digest_ = 0;
};

inline std::unique_ptr<LogicalProcessBase> InstantModel::create(LpId) const {
  return std::make_unique<InstantLp>(*this);
}

}  // namespace orrery::testing
