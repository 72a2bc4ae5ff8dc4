// SPDX-License-Identifier: Apache-2.0
//
// Shops made of processes that do all that processes can: they wait for the clock, for servers with
// priorities and patience, for work, amounts, values, signals and the ends of others, for the first or
// all of several of these, call and interrupt each other, begin in handlers and in processes, and keep
// strings, vectors and trees in their frames meanwhile. Shops send each other parcels, many without
// delay, so that under Time Warp nearly all of it is rolled back now and then. A frame that was
// restored to another moment, or a wait that was lost, shows in rows, in the final state, and in what
// processes check of their own variables.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "orrery/orrery.h"
#include "orrery/process.h"

namespace orrery::testing {

struct ProcessModelOptions {
  LpId shops = 16;
  Duration least_transfer = Duration::zero();  ///< promised for all pairs of shops
  bool durations = false;                      ///< some parcels are expanded events
  std::uint64_t fault_at_customer = 0;         ///< of each shop; 0: never
  Duration horizon = Duration::milliseconds(400);
};

struct Parcel {
  std::uint64_t number;
  std::int64_t lasts_ticks;
};
struct Inspection {
  std::uint64_t number;
};

class ProcessModel : public Model {
 public:
  explicit ProcessModel(ProcessModelOptions chosen = {}) : options(chosen) {}
  std::uint64_t lp_count() const override { return options.shops; }
  std::unique_ptr<LogicalProcessBase> create(LpId id) const override;
  Duration lookahead() const override { return options.least_transfer; }
  Time default_horizon() const override { return Time::zero() + options.horizon; }

  ProcessModelOptions options;  // set before prepare() ends
  const Metric stay{*this, "stay", "s", "of customers", Keep::histogram};
  const Metric present{*this, "present", "", "customers in a shop", Keep::level};
  const ResourceMetrics desk{*this, "desk"};
  const Table log{*this,
                  "log",
                  {{"what", ColumnType::integer}, {"number", ColumnType::integer}},
                  "what processes come to"};
};

class Shop final : public ProcessLp<Shop, Parcel, Inspection> {
 public:
  explicit Shop(const ProcessModel& model) : model_(model) {}

  void begin() override {
    level(model_.present, 0);
    observe(desk_, model_.desk);
    spawn(arrivals());
    for (std::uint64_t i = 0; i < 2; ++i) spawn(carrier(i));
    machine_ = spawn(machine());
    spawn(breakdowns());
    spawn(watcher());
    spawn(crane_breakdowns());
    spawn(pump());
    for (std::uint64_t i = 0; i < 2; ++i) spawn(waits_for_one(i));
    spawn(waits_for_all());
  }
  void handle(const Parcel& parcel) { inbox_.put(parcel); }
  void handle(const Inspection& inspection) { spawn(inspector(inspection.number)); }
  void finish(FinalContext& context) override {
    for (const std::uint64_t count : {arrived_, served_, made_, process_count(), desk_.waiting(),
                                      static_cast<std::uint64_t>(inbox_.size())})
      context.state(count);
    context.state(digest_);
  }

 private:
  enum What {
    gave_up,
    balked,
    served,
    interrupted,
    carried,
    idle,
    repaired,
    inspected,
    seen,
    lifted,
    dropped,
    pumped,
    first_of_three,
    all_of_three
  };

  void note(What what, std::uint64_t number) {
    digest_ = digest_ * 0x9e3779b97f4a7c15u + number * 16 + what;
    emit(model_.log, static_cast<int>(what), number);
  }
  Duration draw(std::int64_t mean_us) {
    return random(delays_).exponential(Duration::microseconds(mean_us));
  }

  Process arrivals() {
    for (;;) {
      co_await delay(draw(2'000));
      const ProcessRef newest = spawn(customer(++arrived_));
      if (random().bernoulli(0.1)) {
        interrupt(patient_, arrived_);
        finished_.notify_one();
      }
      if (random().bernoulli(0.3)) patient_ = newest;
    }
  }

  Process customer(std::uint64_t number) {
    const std::string name = "a customer with the number " + std::to_string(number);
    const Time arrived = now();
    if (number == model_.options.fault_at_customer) throw std::runtime_error(name + " complains");
    level(model_.present, static_cast<double>(++present_));
    try {
      co_await visit(number, name);
    } catch (const Interrupted& interrupt) {
      note(interrupted, interrupt.reason);
    }
    if (name != "a customer with the number " + std::to_string(number)) fail("a name has changed");
    level(model_.present, static_cast<double>(--present_));
    record(model_.stay, (now() - arrived).to_seconds());
    finished_.notify_one();
    if (random().bernoulli(0.6)) send(number);
  }

  Process visit(std::uint64_t number, std::string name) {
    Random own = random("customer", number & 0xffff);
    const auto priority = static_cast<std::int64_t>(own.below(3));
    const Duration patience = own.exponential(Duration::milliseconds(4));
    Server desk = co_await desk_.acquire_for(patience, priority);
    if (!desk) {
      note(desk.has_balked() ? balked : gave_up, number);
      co_return;
    }
    co_await service(number, static_cast<int>(own.below(4)));
    if (own.bernoulli(0.3)) desk.release();
    co_await delay(draw(300));
    ++served_;
    note(served, number + name.size());
    if (own.bernoulli(0.5)) co_await lift(number, own.below(9));
  }

  /// Work that others and breakdowns interrupt.
  Process lift(std::uint64_t number, std::uint64_t how) {
    const Work work = co_await crane_.work_for(draw(9'000), draw(1'500),
                                               {.priority = static_cast<std::int64_t>(how % 3),
                                                .preempted = static_cast<Preempted>(how / 3)});
    digest_ += static_cast<std::uint64_t>(work.lost.ticks() + work.left.ticks());
    note(work ? lifted : dropped, number * 4 + work.preemptions);
  }
  Process crane_breakdowns() {
    for (std::uint64_t number = 0;; ++number) {
      co_await delay(draw(6'000));
      crane_.take_out(1, number % 3 == 0 ? Removal::lets_finish : Removal::preempts);
      co_await delay(draw(3'000));
      crane_.put_back(1);
    }
  }

  Process pump() {
    for (;;) {
      co_await delay(draw(1'500));
      const auto amount = static_cast<std::int64_t>(1 + random().below(9));
      const bool done = co_await tank_.put_for(Duration::milliseconds(5), amount);
      note(pumped, static_cast<std::uint64_t>(amount) * 2 + done);
    }
  }
  Process waits_for_one(std::uint64_t number) {
    for (;;) {
      const auto got = co_await any_of(
          finished_.wait(), tank_.get(4 + 3 * static_cast<int>(number)), delay(draw(4'000)));
      note(first_of_three, got.index());
      co_await delay(draw(500));
    }
  }
  Process waits_for_all() {
    for (;;) {
      const auto [lift, amount, time] = co_await all_of(
          crane_.work(draw(700), {.priority = 1}), tank_.get(2), delay(Duration::milliseconds(1)));
      note(all_of_three, lift.preemptions);
    }
  }

  /// In steps, some without delay.
  Process service(std::uint64_t number, int steps) {
    std::vector<std::uint64_t> done;
    std::map<int, std::string> labels;
    for (int i = 0; i <= steps; ++i) {
      co_await delay(i % 2 == 0 ? draw(1'000) : Duration::zero());
      done.push_back(number * 8 + static_cast<std::uint64_t>(i));
      labels[i] = "step " + std::to_string(i);
      if (done.size() != labels.size() || labels[0] != "step 0") fail("a step was lost");
    }
    for (const std::uint64_t step : done) digest_ += step * step;
  }

  void send(std::uint64_t number) {
    const auto to = static_cast<LpId>(random().below(lp_count()));
    const bool at_once = random().bernoulli(0.5);
    const Duration wait = model_.options.least_transfer + (at_once ? Duration::zero() : draw(500));
    if (random().bernoulli(0.1)) return schedule(to, wait, Inspection{number});
    if (!model_.options.durations || random().bernoulli(0.5))
      return schedule(to, wait, Parcel{number, 0});
    const Duration lasts = draw(200);
    schedule_expanded(to, wait, lasts, Parcel{number, lasts.ticks()});
  }

  Process carrier(std::uint64_t number) {
    for (;;) {
      const auto parcel = co_await inbox_.receive_for(Duration::milliseconds(9));
      if (!parcel) {
        note(idle, number);
        continue;
      }
      co_await delay(Duration::from_ticks(parcel->lasts_ticks));
      const ProcessRef guest = spawn(customer(parcel->number + 1'000'000));
      if (random().bernoulli(0.2)) co_await ended(guest);
      note(carried, parcel->number);
    }
  }

  Process machine() {
    for (;;) {
      const Time begun = now();
      try {
        co_await delay(draw(3'000));
        ++made_;
        continue;
      } catch (const Interrupted& breakdown) {
        note(repaired, breakdown.reason + static_cast<std::uint64_t>((now() - begun).ticks()));
      }
      is_broken_ = true;
      co_await delay(draw(2'000));
      is_broken_ = false;
    }
  }
  Process breakdowns() {
    for (std::uint64_t number = 1;; ++number) {
      co_await delay(draw(5'000));
      if (!is_broken_) interrupt(machine_, number);
    }
  }

  Process inspector(std::uint64_t number) {
    const std::vector<std::uint64_t> numbers(number % 40, number);
    for (int i = 0; i < 3; ++i) {
      co_await finished_.wait();
      note(inspected, numbers.size());
    }
  }
  Process watcher() {
    for (std::uint64_t waits = 0;; ++waits)
      if (!co_await finished_.wait_for(Duration::milliseconds(3))) note(seen, waits);
  }

  const ProcessModel& model_;
  std::uint64_t arrived_ = 0, served_ = 0, made_ = 0, present_ = 0, digest_ = 0;
  RandomStream delays_{"delays"};
  Servers desk_{2, 4};
  PreemptiveServers crane_{*this, 2, 6};
  Container tank_{20, 10};
  Mailbox<Parcel> inbox_;
  Signal finished_;
  ProcessRef machine_, patient_;
  bool is_broken_ = false;
};

inline std::unique_ptr<LogicalProcessBase> ProcessModel::create(LpId) const {
  return std::make_unique<Shop>(*this);
}

}  // namespace orrery::testing
