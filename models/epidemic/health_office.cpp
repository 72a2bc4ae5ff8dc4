// SPDX-License-Identifier: Apache-2.0
#include "health_office.h"

#include <algorithm>

namespace epidemic {

using orrery::Context;
using orrery::Duration;
using orrery::FinalContext;
using orrery::LpId;
using orrery::Time;

namespace {

double days(Time time) {
  return time.to_seconds() / 86'400;
}

}  // namespace

HealthOffice::HealthOffice(const Epidemic& model, LpId id)
    : model_(model), region_(model.geography().region_of(id)) {
  at(Stage::susceptible) = model.geography().region(region_).people;
}

/// A tally arrives after the notice delay; the row of a step is written one tick later.
void HealthOffice::start(Context& context) {
  if (!model_.has_steps()) return;
  context.schedule(context.self(), model_.notice_delay() + Duration::from_ticks(1), StepEnd{});
}

void HealthOffice::handle(Context&, const Tally& tally) {
  const auto count = [&](Happening happening) {
    return tally.counts[static_cast<std::size_t>(happening)];
  };
  const auto move = [&](Stage from, Stage to, Happening happening) {
    at(from) -= count(happening);  // may wrap below 0: the tallies of a step come in any order
    at(to) += count(happening);
  };
  move(Stage::susceptible, Stage::latent, Happening::infected);
  move(Stage::latent, Stage::mild, Happening::mild);
  move(Stage::latent, Stage::ill, Happening::ill);
  move(Stage::latent, Stage::homebound, Happening::homebound);
  move(Stage::mild, Stage::recovered, Happening::mild_over);
  move(Stage::ill, Stage::recovered, Happening::ill_over);
  move(Stage::homebound, Stage::recovered, Happening::homebound_over);
  move(Stage::susceptible, Stage::protected_by_vaccine, Happening::protected_by_vaccine);
  infected_ += count(Happening::infected);
}

void HealthOffice::handle(Context&, const Sighting& sighting) {
  first_case_ = std::min(first_case_, sighting.first_case);
  first_infection_ = std::min(first_infection_, sighting.first_infection);
}

void HealthOffice::handle(Context& context, const StepEnd&) {
  const Time step = Time::zero() + static_cast<std::int64_t>(steps_) * model_.interval.value();
  const std::uint64_t infectious = at(Stage::mild) + at(Stage::ill) + at(Stage::homebound);
  if (infectious > most_infectious_) {
    most_infectious_ = infectious;
    worst_step_ = steps_;
  }
  context.emit(model_.curves, days(step), region_, at(Stage::susceptible), at(Stage::latent),
               at(Stage::mild), at(Stage::ill), at(Stage::homebound), at(Stage::recovered),
               at(Stage::protected_by_vaccine), infected_ - infected_before_);
  infected_before_ = infected_;
  ++steps_;
  context.schedule(context.self(), model_.interval, StepEnd{});
}

void HealthOffice::finish(FinalContext& context) {
  constexpr double kNever = -1;
  const Geography::Region& region = model_.geography().region(region_);
  const Time worst =
      Time::zero() + static_cast<std::int64_t>(worst_step_) * model_.interval.value();
  const bool reached = first_case_ != Time::max();
  context.emit(model_.arrivals, region_, region.x, region.y, region.people, region.locations,
               reached ? days(first_case_) : kNever,
               first_infection_ != Time::max() ? days(first_infection_) : kNever, infected_,
               most_infectious_, most_infectious_ > 0 ? days(worst) : kNever);
  if (reached) context.record(model_.arrival_day, days(first_case_));
  for (const std::uint64_t people : people_) context.state(people);
  context.state(infected_);
  context.state(steps_);
  context.state(first_case_);
  context.state(first_infection_);
}

}  // namespace epidemic
