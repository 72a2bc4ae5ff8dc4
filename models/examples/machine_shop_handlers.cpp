// SPDX-License-Identifier: Apache-2.0
//
// The machine shop of SimPy's examples (see machine_shop_processes.cpp), with handlers.
#include <vector>

#include "orrery/orrery.h"

namespace {

using namespace orrery;

constexpr std::size_t kMachines = 10;
constexpr std::size_t kRepairman = kMachines;  // his place; his other jobs have its number, too
struct Failure {
  std::size_t machine;
};
struct End {
  std::size_t place;
  std::uint64_t service;
};

class ShopModel final : public Model {
 public:
  Parameter<std::int64_t> shops{*this, "shops", 20, {.help = "shops", .minimum = 1}};
  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(shops.value()); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
  Time default_horizon() const override { return Time::zero() + Duration::days(28); }

  const ResourceMetrics repairman{*this, "repairman"};
  const Metric parts{*this, "parts", "", "parts that a machine has made"};
};

class Shop final : public LogicalProcess<Shop, Failure, End> {
 public:
  explicit Shop(const ShopModel& model) : model_(model) {}

  void start(Context& context) override {
    places_[kRepairman].observe(context, model_.repairman);
    for (std::size_t i = 0; i < kMachines; ++i) make(context, i), expect_failure(context, i);
    request(context, kRepairman, kRepairman, Duration::minutes(30), 2);
  }
  void handle(Context& context, const Failure& failure) {
    expect_failure(context, failure.machine);
    if (places_[failure.machine].taken_out() != 0) return;
    places_[failure.machine].take_out(context, 1, Removal::preempts);
    request(context, kRepairman, failure.machine, Duration::minutes(30), 1);
  }
  void handle(Context& context, const End& end) {
    const auto done = places_[end.place].complete(context, end.service);
    if (done && end.place != kRepairman) make(context, end.place);
    if (done && end.place == kRepairman && done->customer == kRepairman)
      request(context, kRepairman, kRepairman, Duration::minutes(30), 2);
    if (done && end.place == kRepairman && done->customer != kRepairman) {
      places_[done->customer].put_back(context, 1);
      schedule_ends(context, done->customer);
    }
    schedule_ends(context, end.place);
  }
  void finish(FinalContext& context) override {
    for (std::size_t i = 0; i < kMachines; ++i)
      context.record(model_.parts,
                     static_cast<double>(places_[i].statistics(context.now()).served - 1));
  }

 private:
  void make(Context& context, std::size_t i) {
    double minutes = 0;
    while (minutes <= 0) minutes = context.random(parts_).normal(10, 2);
    request(context, i, i, Duration::from_seconds(60 * minutes), 0);
  }
  void expect_failure(Context& context, std::size_t i) {
    const Duration wait = context.random(failures_).exponential(Duration::minutes(300));
    context.schedule(context.self(), wait, Failure{i});
  }
  void request(Context& context, std::size_t place, std::size_t of, Duration work,
               std::int64_t priority) {
    places_[place].request(context, of, work, {.priority = priority});
    schedule_ends(context, place);
  }
  void schedule_ends(Context& context, std::size_t place) {
    while (const auto begun = places_[place].take_begun())
      context.schedule(context.self(), begun->left, End{place, begun->service});
  }

  const ShopModel& model_;
  RandomStream parts_{"parts"}, failures_{"failures"};
  std::vector<PreemptiveResource<std::size_t>> places_{kMachines + 1,
                                                       PreemptiveResource<std::size_t>(1)};
};

std::unique_ptr<LogicalProcessBase> ShopModel::create(LpId) const {
  return std::make_unique<Shop>(*this);
}

}  // namespace

ORRERY_MODEL(ShopModel, "machine-shop-handlers", "machines and their repairman, with handlers");
