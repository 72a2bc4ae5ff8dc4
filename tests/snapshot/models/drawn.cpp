// SPDX-License-Identifier: Apache-2.0
//
// A model that draws wherever it can: a table in prepare() whose size depends on the seed, the LPs
// in create(), and their steps from streams by name. A run that goes on must find what it began
// with. Its metrics keep all that metrics can, which has to go on, too.
#include <vector>

#include "orrery/orrery.h"

namespace {

using orrery::Context;
using orrery::Duration;
using orrery::LpId;
using orrery::Random;

struct Step {
  std::uint64_t number;
};

class Drawn final : public orrery::Model {
 public:
  void prepare() override {
    Random random = this->random("table");
    table.resize(1000 + random.below(100'000));
    for (double& entry : table) entry = random.uniform(0.5, 1.5);
    for (orrery::Metric* metric : {&waits, &pace}) metric->series(Duration::seconds(7));
  }
  std::uint64_t lp_count() const override { return 20; }
  std::unique_ptr<orrery::LogicalProcessBase> create(LpId id) const override;
  orrery::Time default_horizon() const override {
    return orrery::Time::zero() + Duration::seconds(200);
  }
  std::vector<double> table;
  orrery::Metric waits{*this, "waits", "s", "between steps",
                       orrery::Keep::histogram | orrery::Keep::rate};
  orrery::Metric pace{*this, "pace", "s", "the latest wait", orrery::Keep::level};
};

class Walker final : public orrery::LogicalProcess<Walker, Step> {
 public:
  Walker(const Drawn& model, double pace) : model_(model), pace_(pace) {}
  void start(Context& context) override { handle(context, Step{0}); }
  void handle(Context& context, const Step& step) {
    const double factor = context.random("step", step.number).gamma(2, 0.5);
    Random& own = context.random(steps_);
    const double wait = pace_ * factor * model_.table[own.below(model_.table.size())];
    context.record(model_.waits, wait);
    context.level(model_.pace, wait);
    const auto to = static_cast<LpId>(own.below(context.lp_count()));
    context.schedule(to, Duration::from_seconds(wait), Step{step.number + 1});
  }

 private:
  const Drawn& model_;
  const double pace_;
  orrery::RandomStream steps_{"steps"};
};

std::unique_ptr<orrery::LogicalProcessBase> Drawn::create(LpId id) const {
  return std::make_unique<Walker>(*this, random("pace", id).uniform(0.5, 2));
}

}  // namespace

ORRERY_MODEL(Drawn, "drawn", "draws in prepare(), create() and from streams by name");
