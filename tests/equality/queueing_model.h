// SPDX-License-Identifier: Apache-2.0
//
// Stations of servers with queues, as an open network (J. R. Jackson, "Networks of waiting lines",
// Operations Research 5, 1957): customers come to each station from outside, are served, and go on
// to another station or leave. It uses what authors of such models would: resources, timers of
// customers who give up, streams by name of every form, and many distributions, so that a rollback
// that forgets a part of any of them shows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/model_access.h"
#include "orrery/orrery.h"

namespace orrery::testing {

struct QueueingOptions {
  LpId stations = 20;
  std::uint64_t servers = 1;
  std::uint64_t queue_limit = Resource<int>::kUnlimited;
  Duration mean_between_arrivals = Duration::milliseconds(1000);
  Duration mean_service = Duration::milliseconds(700);
  double onward = 0;            ///< probability of going on to another station
  bool lively = false;          ///< priorities, impatience, services of many distributions
  Time warm_up = Time::zero();  ///< statistics begin here
};

struct NewCustomer {};
struct Customer {
  std::uint64_t number;
  Timer patience;
};
struct Transfer {
  std::uint64_t number;
};
struct ServiceEnd {
  std::uint64_t number;
};
struct GiveUp {
  std::uint64_t ticket;
};
struct WarmUpEnd {};

class QueueingModel final : public Model {
 public:
  explicit QueueingModel(QueueingOptions chosen)
      : options(chosen),
        sizes(std::vector{1.0, 2.0, 5.0}, std::vector{5.0, 3.0, 2.0}),
        spread(EmpiricalReal::of_points(std::vector{0.0, 0.5, 2.0}, std::vector{0.0, 1.0, 3.0})) {}
  void prepare() override {
    speed_limit = random("limit").uniform(0.9, 1.1);
    ModelAccess::observe_from(station.wait, options.warm_up);
  }
  std::uint64_t lp_count() const override { return options.stations; }
  std::unique_ptr<LogicalProcessBase> create(LpId id) const override;

  const QueueingOptions options;
  const EmpiricalValues sizes;
  const EmpiricalReal spread;
  double speed_limit = 1;
  const ResourceMetrics station{*this, "station"};
  const Metric delayed{*this, "delayed", "", "share of a station's customers that had to wait"};
  const Metric queued{*this, "queued", "", "mean queue of a station"};
  const Metric used{*this, "used", "", "utilisation of a station"};
  const Metric lost{*this, "lost", "", "share of a station's customers that balked"};
  const Table left{*this, "left", {{"customer", ColumnType::integer}}, "customers that gave up"};
};

class Station final
    : public LogicalProcess<Station, NewCustomer, Transfer, ServiceEnd, GiveUp, WarmUpEnd> {
 public:
  Station(const QueueingModel& model, double speed)
      : model_(model), speed_(speed), desk_(model.options.servers, model.options.queue_limit) {}

  void start(Context& context) override {
    desk_.observe(context, model_.station);
    next_arrival(context);
    const Duration warm_up = model_.options.warm_up - Time::zero();
    if (warm_up > Duration::zero()) context.schedule(context.self(), warm_up, WarmUpEnd{});
  }
  void handle(Context& context, const NewCustomer&) {
    next_arrival(context);
    arrive(context, std::uint64_t{context.self()} << 32 | ++arrivals_);
  }
  void handle(Context& context, const Transfer& transfer) { arrive(context, transfer.number); }
  void handle(Context& context, const ServiceEnd& end) {
    send_on(context, end.number);
    if (auto next = desk_.release(context)) begin_service(context, next->customer);
  }
  void handle(Context& context, const GiveUp& who) {
    const auto gone = desk_.renege(context, who.ticket);
    if (!gone) throw std::logic_error("a customer who is served has cancelled the timer");
    context.emit(model_.left, gone->customer.number);
  }
  void handle(Context& context, const WarmUpEnd&) { desk_.restart_statistics(context.now()); }
  void finish(FinalContext& context) override {
    const ResourceStatistics seen = desk_.statistics(context.now());
    context.record(model_.delayed, seen.share_delayed());
    context.record(model_.queued, seen.mean_queue());
    context.record(model_.used, seen.utilisation());
    context.record(model_.lost, seen.share_balked());
    context.state(seen.requests);
    context.state(static_cast<std::uint64_t>(seen.queue_area));
    context.state(arrivals_);
  }

 private:
  void next_arrival(Context& context) {
    const Duration wait =
        context.random(arrival_times_).exponential(model_.options.mean_between_arrivals);
    context.schedule(context.self(), wait, NewCustomer{});
  }

  void arrive(Context& context, std::uint64_t number) {
    Customer customer{number, Timer()};
    std::int64_t priority = 0;
    if (model_.options.lively) {
      Random own = context.random("customer", number & 0xffff);
      priority = static_cast<std::int64_t>(own.binomial(3, 0.4));
      const double patience = own.weibull(1.5, 4);
      if (!desk_.is_free())
        customer.patience =
            context.schedule_timer(Duration::from_seconds(patience), GiveUp{desk_.next_ticket()});
    }
    switch (desk_.request(context, customer, priority)) {
      case Admission::served:
        return begin_service(context, customer);
      case Admission::balked:
        context.cancel(customer.patience);
        return;
      case Admission::queued:
        return;
    }
  }

  void begin_service(Context& context, const Customer& customer) {
    context.cancel(customer.patience);
    context.schedule(context.self(), service(context), ServiceEnd{customer.number});
  }

  Duration service(Context& context) {
    Random& random = context.random(services_);
    const Duration mean = model_.options.mean_service;
    if (!model_.options.lively) return random.exponential(mean);
    return Duration::from_seconds(factor(random) * mean.to_seconds() / speed_ / model_.speed_limit);
  }

  /// Of mean 1, more or less, by every distribution in turn.
  double factor(Random& random) {
    switch (++services_begun_ % 10) {
      case 0:
        return random.gamma(0.7, 1.4);
      case 1:
        return random.erlang(4, 1);
      case 2:
        return random.weibull(2, 1.1);
      case 3:
        return random.pareto(3, 0.6);
      case 4:
        return random.lognormal(-0.2, 0.6);
      case 5:
        return random.triangular(0.2, 0.8, 2);
      case 6:
        return random.beta(2, 3) * 2.5;
      case 7:
        return static_cast<double>(random.geometric(0.5)) * 0.9 + 0.1;
      case 8:
        return static_cast<double>(random.negative_binomial(2, 0.5)) * 0.5;
      default:
        return model_.sizes(random) * 0.2 + model_.spread(random) * 0.5;
    }
  }

  void send_on(Context& context, std::uint64_t number) {
    auto& random = context.random();
    if (!random.bernoulli(model_.options.onward)) return;
    const auto to = static_cast<LpId>(random.below(context.lp_count()));
    context.schedule(to, Duration::zero(), Transfer{number});
  }

  const QueueingModel& model_;
  const double speed_;
  std::uint64_t arrivals_ = 0, services_begun_ = 0;
  RandomStream arrival_times_{"arrivals"}, services_{"services"};
  Resource<Customer> desk_;
};

inline std::unique_ptr<LogicalProcessBase> QueueingModel::create(LpId id) const {
  return std::make_unique<Station>(*this, random("speed", id).uniform(0.9, 1.3));
}

}  // namespace orrery::testing
