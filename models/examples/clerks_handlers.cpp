// SPDX-License-Identifier: Apache-2.0
//
// The bank with three clerks of salabim's examples (see clerks_processes.cpp), with handlers.
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
  Parameter<std::int64_t> banks{*this, "banks", 20, {.help = "banks", .minimum = 1}};
  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(banks.value()); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
  Time default_horizon() const override { return Time::zero() + Duration::seconds(50'000); }

  const ResourceMetrics clerk{*this, "clerk"};
};

class Bank final : public LogicalProcess<Bank, Arrival, GiveUp, Departure> {
 public:
  explicit Bank(const BankModel& model) : model_(model) {}

  void start(Context& context) override {
    clerks_.observe(context, model_.clerk);
    handle(context, Arrival{});
  }
  void handle(Context& context, const Arrival&) {
    const GiveUp give_up{clerks_.next_ticket()};
    const Admission admission = clerks_.request(context, Customer{});
    if (admission == Admission::served) serve(context);
    if (admission == Admission::queued)
      context.schedule(context.self(), Duration::seconds(50), give_up);
    const double next = context.random(arrivals_).uniform(5, 15);
    context.schedule(context.self(), Duration::from_seconds(next), Arrival{});
  }
  void handle(Context& context, const GiveUp& who) { clerks_.renege(context, who.ticket); }
  void handle(Context& context, const Departure&) {
    if (clerks_.release(context)) serve(context);
  }

 private:
  void serve(Context& context) {
    context.schedule(context.self(), Duration::seconds(30), Departure{});
  }

  const BankModel& model_;
  RandomStream arrivals_{"arrivals"};
  Resource<Customer> clerks_{3, 5};
};

std::unique_ptr<LogicalProcessBase> BankModel::create(LpId) const {
  return std::make_unique<Bank>(*this);
}

}  // namespace

ORRERY_MODEL(BankModel, "clerks-handlers", "a bank with three clerks, with handlers");
