// SPDX-License-Identifier: Apache-2.0
//
// The carwash of SimPy's examples: two machines, each of which washes a car in 5 minutes; a car comes
// every 5 to 9 minutes, and four come at the start. Every LP is a carwash of its own. The same with
// handlers: carwash_handlers.cpp.
#include "orrery/orrery.h"
#include "orrery/process.h"

namespace {

using namespace orrery;

class CarwashModel final : public Model {
 public:
  Parameter<std::int64_t> places{*this, "places", 200, {.help = "carwashes", .minimum = 1}};
  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(places.value()); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
  Time default_horizon() const override { return Time::zero() + Duration::hours(1); }

  const ResourceMetrics machine{*this, "machine"};
  const Metric arrived{*this, "arrived", "", "cars that came to a place"};
  const Metric washed{*this, "washed", "", "cars that left a place"};
};

class Carwash final : public ProcessLp<Carwash> {
 public:
  explicit Carwash(const CarwashModel& model) : model_(model) {}

  void begin() override {
    observe(machines_, model_.machine);
    for (int i = 0; i < 4; ++i) spawn(car());
    spawn(cars());
  }
  void finish(FinalContext& context) override {
    context.record(model_.arrived, arrived_);
    context.record(model_.washed, washed_);
  }

 private:
  Process cars() {
    for (;;) {
      co_await delay(Duration::minutes(random(arrivals_).integer(5, 9)));
      spawn(car());
    }
  }
  Process car() {
    ++arrived_;
    const Server machine = co_await machines_.acquire();
    co_await delay(Duration::minutes(5));
    ++washed_;
  }

  const CarwashModel& model_;
  RandomStream arrivals_{"arrivals"};
  Servers machines_{2};
  std::int32_t arrived_ = 0, washed_ = 0;
};

std::unique_ptr<LogicalProcessBase> CarwashModel::create(LpId) const {
  return std::make_unique<Carwash>(*this);
}

}  // namespace

ORRERY_MODEL(CarwashModel, "carwash-processes", "a carwash with two machines, as processes");
