// SPDX-License-Identifier: Apache-2.0
//
// The handlers of a location, in this order: stays and trips, the disease, reports.
#include "location.h"

#include <algorithm>

namespace epidemic {

using orrery::Context;
using orrery::Duration;
using orrery::FinalContext;
using orrery::LpId;
using orrery::Random;
using orrery::Time;
namespace math = orrery::math;

Location::Location(const Epidemic& model, LpId id)
    : model_(model), self_(id), region_(model.geography().region_of(id)) {
  tallies_.push_back({region_, {}});
}

// ---- Stays and trips ---------------------------------------------------------------------------

void Location::start(Context& context) {
  Random& random = context.random();
  last_key_ = random.next();
  threshold_ = random.exponential(1.0);
  settle_residents(context);
  report_sightings(context);
  send_tallies(context);
  if (model_.has_steps()) context.schedule(self_, model_.interval, StepEnd{});
}

/// All people are at home at the start. Some are infectious.
void Location::settle_residents(Context& context) {
  Random& random = context.random();
  const std::uint32_t residents = model_.geography().residents(self_);
  const std::uint32_t infected = model_.first_cases(self_);
  crowd_.reserve(residents + residents / 8);
  for (std::uint32_t number = 0; number < residents; ++number) {
    Person person;
    person.home = self_;
    if (model_.schedule().daily) person.leaves_home_min = model_.schedule().draw_habit(random);
    if (number < infected) {
      model_.disease().infect(person, context.now(), random);
      count(person, Happening::infected);
      person.changes = context.now();
      progress(person, random);
    }
    stay(context, person);
  }
}

void Location::stay(Context& context, const Person& person) {
  const Duration time = draw_stay(person, context.now(), context.random());
  const Time leaves = saturated_sum(context.now(), time);
  see(context.now(), person.stage);
  const Crowd::Slot slot = crowd_.enter(person, leaves);
  if (leaves != Time::max()) context.schedule(self_, time, Departure{slot});
}

Duration Location::draw_stay(const Person& person, Time now, Random& random) const {
  if (!model_.has_trips(region_)) return Duration::max();
  if (person.home == self_) return model_.schedule().at_home(now, person, random);
  return model_.schedule().away(model_.geography().region_of(person.home) != region_, random);
}

void Location::handle(Context& context, const Arrival& arrival) {
  crowd_.expect_arrival();
  Random& random = context.random();
  catch_up(context.now(), random);
  Person person = arrival.person;
  while (person.changes <= context.now()) progress(person, random);
  stay(context, person);
  report_sightings(context);
}

void Location::handle(Context& context, const Departure& departure) {
  crowd_.expect_departure(departure.slot);
  catch_up(context.now(), context.random());
  report_sightings(context);
  const Person& person = crowd_.person(departure.slot);
  if (person.home != self_) {
    go_home(context, departure.slot);
  } else if (person.stage == Stage::homebound || !go_out(context, departure.slot)) {
    const Duration time = draw_stay(person, context.now(), context.random());
    const Time leaves = saturated_sum(context.now(), time);
    crowd_.prolong(departure.slot, leaves);
    if (leaves != Time::max()) context.schedule(self_, time, departure);
  }
}

void Location::go_home(Context& context, Crowd::Slot slot) {
  const LpId home = crowd_.person(slot).home;
  const std::uint32_t to = model_.geography().region_of(home);
  const bool far = to != region_;
  const Duration time = far ? model_.schedule().far_trip(
                                  model_.geography().way(region_, to).shortest, context.random())
                            : model_.schedule().trip(context.random());
  set_out(context, slot, home, time, far);
}

/// Returns whether a trip was made.
bool Location::go_out(Context& context, Crowd::Slot slot) {
  const Geography& geography = model_.geography();
  const Geography::Region& region = geography.region(region_);
  Random& random = context.random();
  double choice = random.uniform();  // first the kind of destination, then which one
  if (region.locations == 1) return go_far(context, slot);
  if (geography.has_ways(region_)) {
    if (choice >= model_.near_share) return go_far(context, slot);
    choice /= model_.near_share;
  }
  const std::uint32_t others = region.locations - 1;
  const auto other = std::min(others - 1, static_cast<std::uint32_t>(choice * others));
  const LpId to = region.first + other + (region.first + other >= self_ ? 1 : 0);
  if (is_closed(to, context.now())) return false;
  const Duration time = model_.schedule().trip(random);
  set_out(context, slot, to, time, false);
  return true;
}

bool Location::go_far(Context& context, Crowd::Slot slot) {
  const Geography& geography = model_.geography();
  Random& random = context.random();
  if (model_.interventions().forbids_trip(context.now(), random)) {
    ++counts_.forbidden;
    return false;
  }
  const Geography::Way& way = geography.choose_way(region_, random);
  const Geography::Region& region = geography.region(way.to);
  const LpId to = region.first + static_cast<LpId>(random.below(region.locations));
  if (is_closed(to, context.now())) return false;
  const Duration time = model_.schedule().far_trip(way.shortest, random);
  set_out(context, slot, to, time, true);
  return true;
}

void Location::set_out(Context& context, Crowd::Slot slot, LpId to, Duration time, bool far) {
  ++counts_.trips;
  if (far) ++counts_.far_trips;
  context.schedule(to, time, Arrival{crowd_.leave(slot)});
}

bool Location::is_closed(LpId location, Time now) {
  if (!model_.interventions().closes(now)) return false;
  const Geography& geography = model_.geography();
  const std::uint32_t locations = geography.region(geography.region_of(location)).locations;
  const bool closed =
      model_.interventions().is_closed(geography.number_in_region(location), locations);
  if (closed) ++counts_.closed_to;
  return closed;
}

// ---- The disease -------------------------------------------------------------------------------

/// Computes what happened up to `until`. The start of vaccination changes the hazard of all people.
void Location::catch_up(Time until, Random& random) {
  const Time vaccination = model_.interventions().vaccinate_from;
  if (caught_up_ < vaccination && vaccination < until) pass(vaccination, random);
  pass(until, random);
}

/// Steps from change to change of stage, up to and including `until`.
void Location::pass(Time until, Random& random) {
  while (true) {
    const Hazard now = hazard();
    const Time change = crowd_.next_change();
    if (reaches_threshold(now, std::min(change, until))) {
      threshold_ = random.exponential(1.0);
      strike(now, random);
      continue;
    }
    if (change > until) return;
    const Crowd::Slot slot = crowd_.take_change();
    crowd_.change(slot, [&](Person& person) { progress(person, random); });
    see(caught_up_, crowd_.person(slot).stage);
  }
}

/// Advances to the time at which the threshold is reached, or else to `stop`.
bool Location::reaches_threshold(const Hazard& hazard, Time stop) {
  const Time from = caught_up_;
  caught_up_ = stop;
  if (!(hazard.total > 0)) return false;
  const auto span = static_cast<double>((stop - from).ticks());
  const double growth = math::product(hazard.total, span * 1e-9);
  if (growth < threshold_) {
    threshold_ -= growth;
    return false;
  }
  const double part = growth > 0 ? threshold_ / growth : 0;
  const auto ticks = static_cast<std::int64_t>(math::product(part, span));
  caught_up_ = std::min(stop, from + Duration::from_ticks(ticks));
  return true;
}

/// Each infectious person contacts people at a rate that does not depend on how many are present,
/// and contacts each with the same probability.
Location::Hazard Location::hazard() const {
  const std::uint32_t mild = crowd_.count(Stage::mild);
  const std::uint32_t others = crowd_.count(Stage::ill) + crowd_.count(Stage::homebound);
  const bool vaccinates = model_.interventions().vaccinates(caught_up_);
  if (mild + others == 0 && !vaccinates) return {};
  Hazard hazard;
  if (mild + others > 0) {
    const Disease& disease = model_.disease();
    const double infectivity = others + math::product(disease.mild_infectivity, mild);
    hazard.infection = disease.beta_per_s * infectivity / crowd_.present();
  }
  if (vaccinates) hazard.dose = model_.interventions().doses_per_s;
  hazard.total = math::product(hazard.infection + hazard.dose, crowd_.count(Stage::susceptible));
  return hazard;
}

/// Infects or vaccinates a susceptible person.
void Location::strike(const Hazard& hazard, Random& random) {
  const Crowd::Slot slot = crowd_.draw_susceptible(random);
  const double kind = random.uniform(0.0, hazard.infection + hazard.dose);
  if (kind >= hazard.infection) {
    vaccinate(slot, random);
    return;
  }
  crowd_.change(slot, [&](Person& person) {
    model_.disease().infect(person, caught_up_, random);
    count(person, Happening::infected);
  });
  if (first_infection_ != Time::max()) return;
  first_infection_ = caught_up_;
  has_news_ = true;
}

/// A dose protects for good or has no effect. A person gets only one dose: doses_per_s is the rate
/// for people without a dose, so a dose drawn for another person is dropped.
void Location::vaccinate(Crowd::Slot slot, Random& random) {
  if (crowd_.person(slot).vaccinated != 0) return;
  crowd_.change(slot, [&](Person& person) {
    person.vaccinated = 1;
    if (!random.bernoulli(model_.interventions().vaccine_efficacy)) return;
    person.stage = Stage::protected_by_vaccine;
    count(person, Happening::protected_by_vaccine);
  });
}

void Location::progress(Person& person, Random& random) {
  constexpr auto kFirst = static_cast<int>(Stage::mild);
  const int before = static_cast<int>(person.stage) - kFirst;
  model_.disease().progress(person, random);
  const int after = static_cast<int>(person.stage) - kFirst;
  const int happening = person.stage == Stage::recovered
                            ? static_cast<int>(Happening::mild_over) + before
                            : static_cast<int>(Happening::mild) + after;
  count(person, static_cast<Happening>(happening));
}

// ---- Reports -----------------------------------------------------------------------------------

/// Adds to the tally of the step for the region of `person.home`. Tallies are few: the location's
/// own region, and the regions of visitors who changed stage here.
void Location::count(const Person& person, Happening happening) {
  ++counts_.happenings[static_cast<std::size_t>(happening)];
  if (!model_.has_steps()) return;
  const std::uint32_t region = model_.geography().region_of(person.home);
  auto tally = std::find_if(tallies_.begin(), tallies_.end(),
                            [&](const RegionTally& known) { return known.region == region; });
  if (tally == tallies_.end()) tally = tallies_.insert(tally, RegionTally{region, {}});
  ++tally->counts[static_cast<std::size_t>(happening)];
}

void Location::see(Time time, Stage stage) {
  if (!is_infectious(stage) || first_case_ <= time) return;
  first_case_ = time;
  has_news_ = true;
}

void Location::report_sightings(Context& context) {
  if (!has_news_) return;
  has_news_ = false;
  context.schedule(model_.geography().office(region_), model_.notice_delay(),
                   Sighting{first_case_, first_infection_});
}

void Location::handle(Context& context, const StepEnd&) {
  catch_up(context.now(), context.random());
  report_sightings(context);
  send_tallies(context);
  context.schedule(self_, model_.interval, StepEnd{});
}

/// Changes during a trip count in the step in which the trip ends.
void Location::send_tallies(Context& context) {
  for (RegionTally& tally : tallies_) {
    if (tally.counts == HappeningCounts{}) continue;
    context.schedule(model_.geography().office(tally.region), model_.notice_delay(),
                     Tally{tally.counts});
    tally.counts = {};
  }
  tallies_.resize(1);
}

void Location::finish(FinalContext& context) {
  Random random(last_key_, self_);
  catch_up(context.now(), random);
  const auto record = [&](const orrery::Metric& metric, std::uint64_t value) {
    context.record(metric, static_cast<double>(value));
  };
  const auto happened = [&](Happening happening) {
    return counts_.happenings[static_cast<std::size_t>(happening)];
  };
  record(model_.trips, counts_.trips);
  record(model_.far_trips, counts_.far_trips);
  record(model_.closed_to, counts_.closed_to);
  record(model_.forbidden, counts_.forbidden);
  record(model_.infections, happened(Happening::infected));
  record(model_.mild_cases, happened(Happening::mild));
  record(model_.ill_cases, happened(Happening::ill));
  record(model_.homebound_cases, happened(Happening::homebound));
  record(model_.recoveries, happened(Happening::mild_over) + happened(Happening::ill_over) +
                                happened(Happening::homebound_over));
  record(model_.protected_people, happened(Happening::protected_by_vaccine));
  record(model_.present, crowd_.present());
  context.state(counts_);
  context.state(caught_up_);
  context.state(threshold_);
  context.state(last_key_);
  context.state(first_case_);
  context.state(first_infection_);
  crowd_.for_each([&](const Person& person) { context.state(person); });
}

}  // namespace epidemic
