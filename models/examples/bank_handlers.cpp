// SPDX-License-Identifier: Apache-2.0
//
// The bank of SimPy's examples whose customers renege (see bank_processes.cpp), with handlers.
#include "orrery/orrery.h"

namespace {

using namespace orrery;

struct Arrival {};
struct GiveUp {
  std::uint64_t ticket;
};
struct Departure {};
struct Customer {};

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

class Bank final : public LogicalProcess<Bank, Arrival, GiveUp, Departure> {
 public:
  explicit Bank(const BankModel& model) : model_(model) {}

  void start(Context& context) override {
    counter_.observe(context, model_.counter);
    handle(context, Arrival{});
  }
  void handle(Context& context, const Arrival&) {
    const Duration patience = Duration::from_seconds(context.random(patience_).uniform(1, 3));
    const GiveUp give_up{counter_.next_ticket()};
    if (counter_.request(context, Customer{}) == Admission::served)
      serve(context);
    else
      context.schedule(context.self(), patience, give_up);
    const Duration next = context.random(arrivals_).exponential(Duration::seconds(10));
    if (++customers_ < 5) context.schedule(context.self(), next, Arrival{});
  }
  void handle(Context& context, const GiveUp& who) {
    if (counter_.renege(context, who.ticket)) ++reneged_;
  }
  void handle(Context& context, const Departure&) {
    end_ = context.now();
    if (counter_.release(context)) serve(context);
  }
  void finish(FinalContext& context) override {
    context.record(model_.reneged, reneged_);
    context.record(model_.end, end_.to_seconds());
  }

 private:
  void serve(Context& context) {
    const Duration service = context.random(services_).exponential(Duration::seconds(12));
    context.schedule(context.self(), service, Departure{});
  }

  const BankModel& model_;
  RandomStream arrivals_{"arrivals"}, patience_{"patience"}, services_{"services"};
  Resource<Customer> counter_{1};
  std::int32_t customers_ = 0, reneged_ = 0;
  Time end_;
};

std::unique_ptr<LogicalProcessBase> BankModel::create(LpId) const {
  return std::make_unique<Bank>(*this);
}

}  // namespace

ORRERY_MODEL(BankModel, "bank-handlers", "a bank whose customers renege, with handlers");
