// SPDX-License-Identifier: Apache-2.0
//
// The cinema of SimPy's examples ("Movie Renege"): a counter sells 50 tickets for each of three films.
// When a film has fewer than 2 tickets left it is sold out, and all who wait for it leave. Every LP is
// a cinema of its own. The same with handlers: movie_handlers.cpp.
#include "orrery/orrery.h"
#include "orrery/process.h"

namespace {

using namespace orrery;

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

struct Film {
  std::int64_t tickets = 50;
  int left = 0;
  Signal sold_out;
};

class Cinema final : public ProcessLp<Cinema> {
 public:
  explicit Cinema(const CinemaModel& model) : model_(model) {}

  void begin() override {
    observe(counter_, model_.counter);
    spawn(people());
  }
  void finish(FinalContext& context) override {
    for (const Film& film : films_)
      if (film.tickets == 0) context.record(model_.left, film.left);
  }

 private:
  Process people() {
    for (;;) {
      co_await delay(random(arrivals_).exponential(Duration::seconds(30)));
      Film& film = films_[random(choices_).below(3)];
      const std::int64_t tickets = random(choices_).integer(1, 6);
      if (film.tickets > 0) spawn(person(film, tickets));
    }
  }
  Process person(Film& film, std::int64_t tickets) {
    const auto got = co_await any_of(counter_.acquire(), film.sold_out.wait());
    if (got.index() == 1) {
      ++film.left;
      co_return;
    }
    if (film.tickets >= tickets) {
      film.tickets -= tickets;
      if (film.tickets < 2) sell_out(film);
      co_await delay(Duration::minutes(1));
    } else {
      co_await delay(Duration::seconds(30));  // a discussion
    }
  }
  void sell_out(Film& film) {
    film.tickets = 0;
    film.sold_out.notify_all();
    record(model_.sold_out, (now() - Time::zero()).to_seconds());
  }

  const CinemaModel& model_;
  RandomStream arrivals_{"arrivals"}, choices_{"choices"};
  Servers counter_{1};
  Film films_[3];
};

std::unique_ptr<LogicalProcessBase> CinemaModel::create(LpId) const {
  return std::make_unique<Cinema>(*this);
}

}  // namespace

ORRERY_MODEL(CinemaModel, "movie-processes", "a cinema whose films sell out, as processes");
