// SPDX-License-Identifier: Apache-2.0
//
// The gas station of SimPy's examples: two pumps and a tank of 200 litres. A car comes every 30 to 300
// seconds and takes 25 to 45 litres at 2 litres a second. When less than 50 litres are left, a truck
// is called, which comes after 5 minutes and fills the tank. Every LP is a station of its own. The
// same with handlers: gas_station_handlers.cpp.
#include "orrery/orrery.h"
#include "orrery/process.h"

namespace {

using namespace orrery;

class GasModel final : public Model {
 public:
  Parameter<std::int64_t> stations{*this, "stations", 400, {.help = "stations", .minimum = 1}};
  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(stations.value()); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
  Time default_horizon() const override { return Time::zero() + Duration::seconds(1'000); }

  const ResourceMetrics pump{*this, "pump"};
  const Metric tank{*this, "tank", "l", "litres in a station's tank", Keep::level};
  const Metric refuelled{*this, "refuelled", "", "cars that a station has refuelled"};
  const Metric trucks{*this, "trucks", "", "trucks that a station has called"};
};

class GasStation final : public ProcessLp<GasStation> {
 public:
  explicit GasStation(const GasModel& model) : model_(model) {}

  void begin() override {
    observe(pumps_, model_.pump);
    observe(tank_, model_.tank);
    spawn(control());
    spawn(cars());
  }
  void finish(FinalContext& context) override {
    context.record(model_.refuelled, refuelled_);
    context.record(model_.trucks, trucks_);
  }

 private:
  Process cars() {
    for (;;) {
      co_await delay(Duration::seconds(random(arrivals_).integer(30, 300)));
      spawn(car(random(needs_).integer(25, 45)));
    }
  }
  Process car(std::int64_t litres) {
    const Server pump = co_await pumps_.acquire();
    co_await tank_.get(litres);
    co_await delay(Duration::milliseconds(500) * litres);
    ++refuelled_;
  }
  Process control() {
    for (;; co_await delay(Duration::seconds(10))) {
      if (tank_.level() >= 50) continue;
      ++trucks_;
      co_await delay(Duration::minutes(5));
      if (tank_.level() < tank_.capacity()) co_await tank_.put(tank_.capacity() - tank_.level());
    }
  }

  const GasModel& model_;
  RandomStream arrivals_{"arrivals"}, needs_{"needs"};
  Servers pumps_{2};
  Container tank_{200, 200};
  std::int32_t refuelled_ = 0, trucks_ = 0;
};

std::unique_ptr<LogicalProcessBase> GasModel::create(LpId) const {
  return std::make_unique<GasStation>(*this);
}

}  // namespace

ORRERY_MODEL(GasModel, "gas-station-processes", "a gas station and its truck, as processes");
