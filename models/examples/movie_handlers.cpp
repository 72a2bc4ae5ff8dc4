// SPDX-License-Identifier: Apache-2.0
//
// The cinema of SimPy's examples ("Movie Renege", see movie_processes.cpp), with handlers.
#include <vector>

#include "orrery/orrery.h"

namespace {

using namespace orrery;

struct Arrival {};
struct Departure {};
struct Person {
  std::size_t film;
  std::int64_t tickets;
};

class CinemaModel final : public Model {
 public:
  Parameter<std::int64_t> cinemas{*this, "cinemas", 200, {.help = "cinemas", .minimum = 1}};
  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(cinemas.value()); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
  Time default_horizon() const override { return Time::zero() + Duration::hours(2); }

  const ResourceMetrics counter{*this, "counter"};
  const Metric sold_out{*this, "sold_out", "s", "when the tickets of a film were gone"};
  const Metric left{*this, "left", "", "people who waited for a film when it was sold out"};
};

class Cinema final : public LogicalProcess<Cinema, Arrival, Departure> {
 public:
  explicit Cinema(const CinemaModel& model) : model_(model) {}

  void start(Context& context) override {
    counter_.observe(context, model_.counter);
    expect(context);
  }
  void handle(Context& context, const Arrival&) {
    expect(context);
    const std::size_t film = context.random(choices_).below(3);
    const Person person{film, context.random(choices_).integer(1, 6)};
    if (tickets_[film] == 0) return;
    waiting_[film].push_back(counter_.next_ticket());
    if (counter_.request(context, person) == Admission::served) serve(context, person);
  }
  void handle(Context& context, const Departure&) {
    if (const auto next = counter_.release(context)) serve(context, next->customer);
  }

 private:
  void expect(Context& context) {
    const Duration wait = context.random(arrivals_).exponential(Duration::seconds(30));
    context.schedule(context.self(), wait, Arrival{});
  }
  void serve(Context& context, const Person& person) {
    const bool sells = tickets_[person.film] >= person.tickets;
    if (sells && (tickets_[person.film] -= person.tickets) < 2) sell_out(context, person.film);
    context.schedule(context.self(), Duration::seconds(sells ? 60 : 30), Departure{});
  }
  void sell_out(Context& context, std::size_t film) {
    int left = 0;
    for (const std::uint64_t ticket : waiting_[film])
      left += counter_.renege(context, ticket).has_value();
    tickets_[film] = 0;
    context.record(model_.left, left);
    context.record(model_.sold_out, (context.now() - Time::zero()).to_seconds());
  }

  const CinemaModel& model_;
  RandomStream arrivals_{"arrivals"}, choices_{"choices"};
  Resource<Person> counter_{1};
  std::int64_t tickets_[3] = {50, 50, 50};
  std::vector<std::uint64_t> waiting_[3];  // by film, some served already
};

std::unique_ptr<LogicalProcessBase> CinemaModel::create(LpId) const {
  return std::make_unique<Cinema>(*this);
}

}  // namespace

ORRERY_MODEL(CinemaModel, "movie-handlers", "a cinema whose films sell out, with handlers");
