// SPDX-License-Identifier: Apache-2.0
//
// The machine shop of SimPy's examples: ten machines make parts in 10 +- 2 minutes and break down
// every 300 minutes on average. One repairman mends each in 30 minutes, and interrupts other jobs of
// 30 minutes for that. Every LP is a shop of its own. The same with handlers:
// machine_shop_handlers.cpp.
#include <deque>

#include "orrery/orrery.h"
#include "orrery/process.h"

namespace {

using namespace orrery;

constexpr Duration kJob = Duration::minutes(30);

class ShopModel final : public Model {
 public:
  Parameter<std::int64_t> shops{*this, "shops", 20, {.help = "shops", .minimum = 1}};
  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(shops.value()); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
  Time default_horizon() const override { return Time::zero() + Duration::days(28); }

  const ResourceMetrics repairman{*this, "repairman"};
  const Metric parts{*this, "parts", "", "parts that a machine has made"};
  const Metric jobs{*this, "jobs", "", "other jobs that a repairman has done"};
};

class Shop final : public ProcessLp<Shop> {
 public:
  explicit Shop(const ShopModel& model) : model_(model) {}

  void begin() override {
    observe(repairman_, model_.repairman);
    for (int i = 0; i < 10; ++i) {
      PreemptiveServers& machine = machines_.emplace_back(*this, 1);
      spawn(production(machine));
      spawn(failures(machine));
    }
    spawn(other_jobs());
  }
  void finish(FinalContext& context) override {
    for (const PreemptiveServers& machine : machines_)
      context.record(model_.parts,
                     static_cast<double>(machine.statistics(context.now()).served - 1));
    context.record(model_.jobs, jobs_);
  }

 private:
  Process production(PreemptiveServers& machine) {
    for (;;) {
      double minutes = 0;
      while (minutes <= 0) minutes = random(parts_).normal(10, 2);
      co_await machine.work(Duration::from_seconds(60 * minutes));
    }
  }
  Process failures(PreemptiveServers& machine) {
    for (;;) {
      co_await delay(random(failures_).exponential(Duration::minutes(300)));
      if (machine.taken_out() == 0) spawn(repair(machine));
    }
  }
  Process repair(PreemptiveServers& machine) {
    machine.take_out(1, Removal::preempts);
    co_await repairman_.work(kJob, {.priority = 1});
    machine.put_back(1);
  }
  Process other_jobs() {
    for (;; ++jobs_) co_await repairman_.work(kJob, {.priority = 2});
  }

  const ShopModel& model_;
  RandomStream parts_{"parts"}, failures_{"failures"};
  PreemptiveServers repairman_{*this, 1};
  std::deque<PreemptiveServers> machines_;  // which do not move
  std::int32_t jobs_ = 0;
};

std::unique_ptr<LogicalProcessBase> ShopModel::create(LpId) const {
  return std::make_unique<Shop>(*this);
}

}  // namespace

ORRERY_MODEL(ShopModel, "machine-shop-processes", "machines and their repairman, as processes");
