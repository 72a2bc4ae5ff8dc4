// SPDX-License-Identifier: Apache-2.0
//
// The gas station of SimPy's examples (see gas_station_processes.cpp), with handlers.
#include <deque>

#include "orrery/orrery.h"

namespace {

using namespace orrery;

struct Arrival {};
struct Refuelled {};
struct Check {};
struct Truck {};

class GasModel final : public Model {
 public:
  Parameter<std::int64_t> stations{*this, "stations", 400, {.help = "stations", .minimum = 1}};
  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(stations.value()); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
  Time default_horizon() const override { return Time::zero() + Duration::seconds(1'000); }

  const ResourceMetrics pump{*this, "pump"};
  const Metric refuelled{*this, "refuelled", "", "cars that a station has refuelled"};
  const Metric trucks{*this, "trucks", "", "trucks that a station has called"};
};

class GasStation final : public LogicalProcess<GasStation, Arrival, Refuelled, Check, Truck> {
 public:
  explicit GasStation(const GasModel& model) : model_(model) {}

  void start(Context& context) override {
    pumps_.observe(context, model_.pump);
    handle(context, Check{});
    expect(context);
  }
  void handle(Context& context, const Arrival&) {
    const std::int64_t litres = context.random(needs_).integer(25, 45);
    if (pumps_.request(context, litres) == Admission::served) fill(context, litres);
    expect(context);
  }
  void handle(Context& context, const Refuelled&) {
    ++refuelled_;
    if (const auto next = pumps_.release(context)) fill(context, next->customer);
  }
  void handle(Context& context, const Check&) {
    if (tank_ >= 50) return context.schedule(context.self(), Duration::seconds(10), Check{});
    ++trucks_;
    context.schedule(context.self(), Duration::minutes(5), Truck{});
  }
  void handle(Context& context, const Truck&) {
    tank_ = 200;
    serve(context);
    context.schedule(context.self(), Duration::seconds(10), Check{});
  }
  void finish(FinalContext& context) override {
    context.record(model_.refuelled, refuelled_);
    context.record(model_.trucks, trucks_);
  }

 private:
  void expect(Context& context) {
    const std::int64_t wait = context.random(arrivals_).integer(30, 300);
    context.schedule(context.self(), Duration::seconds(wait), Arrival{});
  }
  void fill(Context& context, std::int64_t litres) { need_.push_back(litres), serve(context); }
  void serve(Context& context) {
    for (; !need_.empty() && need_.front() <= tank_; need_.pop_front()) {
      tank_ -= need_.front();
      context.schedule(context.self(), Duration::milliseconds(500) * need_.front(), Refuelled{});
    }
  }

  const GasModel& model_;
  RandomStream arrivals_{"arrivals"}, needs_{"needs"};
  Resource<std::int64_t> pumps_{2};
  std::deque<std::int64_t> need_;  // of cars at pumps
  std::int64_t tank_ = 200;
  std::int32_t refuelled_ = 0, trucks_ = 0;
};

std::unique_ptr<LogicalProcessBase> GasModel::create(LpId) const {
  return std::make_unique<GasStation>(*this);
}

}  // namespace

ORRERY_MODEL(GasModel, "gas-station-handlers", "a gas station and its truck, with handlers");
