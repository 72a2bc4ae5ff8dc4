// SPDX-License-Identifier: Apache-2.0
//
// The carwash of SimPy's examples: two machines, each of which washes a car in 5 minutes; a car comes
// every 5 to 9 minutes, and four come at the start. Every LP is a carwash of its own. The same as
// processes: carwash_processes.cpp.
#include "orrery/orrery.h"

namespace {

using namespace orrery;

struct Arrival {};
struct Washed {};
struct Car {};

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

class Carwash final : public LogicalProcess<Carwash, Arrival, Washed> {
 public:
  explicit Carwash(const CarwashModel& model) : model_(model) {}

  void start(Context& context) override {
    machines_.observe(context, model_.machine);
    for (int i = 0; i < 4; ++i) arrive(context);
    expect(context);
  }
  void handle(Context& context, const Arrival&) {
    arrive(context);
    expect(context);
  }
  void handle(Context& context, const Washed&) {
    ++washed_;
    if (machines_.release(context)) wash(context);
  }
  void finish(FinalContext& context) override {
    context.record(model_.arrived, arrived_);
    context.record(model_.washed, washed_);
  }

 private:
  void expect(Context& context) {
    const Duration wait = Duration::minutes(context.random(arrivals_).integer(5, 9));
    context.schedule(context.self(), wait, Arrival{});
  }
  void arrive(Context& context) {
    ++arrived_;
    if (machines_.request(context, Car{}) == Admission::served) wash(context);
  }
  void wash(Context& context) { context.schedule(context.self(), Duration::minutes(5), Washed{}); }

  const CarwashModel& model_;
  RandomStream arrivals_{"arrivals"};
  Resource<Car> machines_{2};
  std::int32_t arrived_ = 0, washed_ = 0;
};

std::unique_ptr<LogicalProcessBase> CarwashModel::create(LpId) const {
  return std::make_unique<Carwash>(*this);
}

}  // namespace

ORRERY_MODEL(CarwashModel, "carwash-handlers", "a carwash with two machines, with handlers");
