// SPDX-License-Identifier: Apache-2.0
//
// The bank with three clerks of salabim's examples: a customer comes every 5 to 15 seconds and is
// served in 30; at most five wait, and none of them longer than 50 seconds. Every LP is a bank of its
// own. The same with handlers: clerks_handlers.cpp.
#include "orrery/orrery.h"
#include "orrery/process.h"

namespace {

using namespace orrery;

class BankModel final : public Model {
 public:
  Parameter<std::int64_t> banks{*this, "banks", 20, {.help = "banks", .minimum = 1}};
  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(banks.value()); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
  Time default_horizon() const override { return Time::zero() + Duration::seconds(50'000); }

  const ResourceMetrics clerk{*this, "clerk"};
};

class Bank final : public ProcessLp<Bank> {
 public:
  explicit Bank(const BankModel& model) : model_(model) {}
  void begin() override {
    observe(clerks_, model_.clerk);
    spawn(customers());
  }

 private:
  Process customers() {
    for (;;) {
      spawn(customer());
      co_await delay(Duration::from_seconds(random(arrivals_).uniform(5, 15)));
    }
  }
  Process customer() {
    const Server clerk = co_await clerks_.acquire_for(Duration::seconds(50));
    if (clerk) co_await delay(Duration::seconds(30));
  }

  const BankModel& model_;
  RandomStream arrivals_{"arrivals"};
  Servers clerks_{3, 5};
};

std::unique_ptr<LogicalProcessBase> BankModel::create(LpId) const {
  return std::make_unique<Bank>(*this);
}

}  // namespace

ORRERY_MODEL(BankModel, "clerks-processes", "a bank with three clerks, as processes");
