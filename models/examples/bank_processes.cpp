// SPDX-License-Identifier: Apache-2.0
//
// The bank of SimPy's examples whose customers renege: five come about every 10 seconds, wait at most
// 1 to 3 seconds, and are served one after the other in 12 seconds on average. Every LP is a bank of
// its own. The same with handlers: bank_handlers.cpp.
#include "orrery/orrery.h"
#include "orrery/process.h"

namespace {

using namespace orrery;

class BankModel final : public Model {
 public:
  Parameter<std::int64_t> banks{*this, "banks", 400, {.help = "banks", .minimum = 1}};
  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(banks.value()); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
  Time default_horizon() const override { return Time::zero() + Duration::hours(1); }

  const ResourceMetrics counter{*this, "counter"};
  const Metric reneged{*this, "reneged", "", "customers of a bank that gave up waiting"};
  const Metric end{*this, "end", "s", "when the last customer of a bank left the counter"};
};

class Bank final : public ProcessLp<Bank> {
 public:
  explicit Bank(const BankModel& model) : model_(model) {}

  void begin() override {
    observe(counter_, model_.counter);
    spawn(customers());
  }
  void finish(FinalContext& context) override {
    context.record(model_.reneged, reneged_);
    context.record(model_.end, end_.to_seconds());
  }

 private:
  Process customers() {
    for (int i = 0; i < 5; ++i) {
      spawn(customer());
      co_await delay(random(arrivals_).exponential(Duration::seconds(10)));
    }
  }
  Process customer() {
    const Duration patience = Duration::from_seconds(random(patience_).uniform(1, 3));
    const Server counter = co_await counter_.acquire_for(patience);
    if (!counter) {
      ++reneged_;
      co_return;
    }
    co_await delay(random(services_).exponential(Duration::seconds(12)));
    end_ = now();
  }

  const BankModel& model_;
  RandomStream arrivals_{"arrivals"}, patience_{"patience"}, services_{"services"};
  Servers counter_{1};
  std::int32_t reneged_ = 0;
  Time end_;
};

std::unique_ptr<LogicalProcessBase> BankModel::create(LpId) const {
  return std::make_unique<Bank>(*this);
}

}  // namespace

ORRERY_MODEL(BankModel, "bank-processes", "a bank whose customers renege, as processes");
