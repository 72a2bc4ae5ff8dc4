// SPDX-License-Identifier: Apache-2.0
//
// The epidemic model: set-up and results over all regions (see model.h for the rest).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "air_network.h"
#include "health_office.h"
#include "location.h"
#include "model.h"

namespace epidemic {

using orrery::Duration;
using orrery::LpId;
using orrery::Time;
using orrery::UsageError;

namespace {

constexpr double kDay_s = 86'400;
constexpr std::int64_t kAllRegions = -1;

}  // namespace

// ---- Set-up ------------------------------------------------------------------------------------

void Epidemic::prepare() {
  if (trip_mean.value() < trip_minimum.value()) {
    throw UsageError(
        "trip_mean must not be less than trip_minimum, as no trip is shorter: raise the one or "
        "lower the other");
  }
  make_geography();
  schedule_ = {.daily = schedule_kind.value() == "daily",
               .home_stay = home_stay,
               .away_stay = away_stay,
               .far_stay = far_stay,
               .leave_at = leave_at,
               .leave_spread = leave_spread,
               .trip_minimum = trip_minimum,
               .trip_mean = trip_mean,
               .far_delay = far_delay};
  make_disease();
  make_interventions();
  find_lookahead();
  place_first_cases();
}

void Epidemic::make_geography() {
  const Geography::Travel travel{speed, overhead, gravity_population, gravity_distance,
                                 change_factor};
  if (airports.value().empty() != routes.value().empty()) {
    throw UsageError(fmt::format("{}='{}' needs the other file as well: give {}",
                                 airports.value().empty() ? "routes" : "airports",
                                 airports.value() + routes.value(),
                                 airports.value().empty() ? "airports" : "routes"));
  }
  if (airports.value().empty()) {
    check_size(static_cast<double>(regions) * static_cast<double>(locations) *
               static_cast<double>(people));
    geography_ = Geography(
        {static_cast<std::uint32_t>(regions.value()), static_cast<std::uint32_t>(locations.value()),
         static_cast<std::uint32_t>(people.value()), spacing},
        travel);
    return;
  }
  const AirNetwork network = read_air_network(airports, routes);
  double all = 0;
  for (const AirNetwork::Airport& airport : network.airports) all += airport.population * scale;
  check_size(all);
  geography_ = Geography(network, scale, static_cast<std::uint32_t>(people.value()), travel);
  std::uint32_t cut_off = 0;
  for (std::uint32_t region = 0; region < geography_.regions(); ++region)
    if (!geography_.has_ways(region)) ++cut_off;
  if (cut_off > 0)
    note(fmt::format("{} of {} airports have no route: nobody leaves or reaches their regions",
                     cut_off, geography_.regions()));
}

void Epidemic::check_size(double all) const {
  constexpr double kMost = 1e9;
  if (all <= kMost) return;
  throw UsageError(
      fmt::format("these are {:.3g} people; at most {:.0g} are possible: lower {}", all, kMost,
                  airports.value().empty() ? "regions, locations or people" : "scale"));
}

void Epidemic::make_disease() {
  disease_ = {.latent = {latent_time, latent_shape},
              .infectious = {infectious_time, infectious_shape},
              .mild_share = mild_share,
              .home_share = home_share,
              .mild_infectivity = mild_infectivity,
              .beta_per_s = beta / kDay_s};
}

void Epidemic::make_interventions() {
  interventions_ = {.close_share = close_share,
                    .close_from = Time::zero() + close_from,
                    .doses_per_s = vaccination_rate / kDay_s,
                    .vaccine_efficacy = vaccine_efficacy,
                    .vaccinate_from = Time::zero() + vaccinate_from,
                    .travel_reduction = travel_reduction,
                    .restrict_from = Time::zero() + restrict_from};
}

/// The shortest possible trip. If no trip is possible: trip_minimum, the delay of reports.
void Epidemic::find_lookahead() {
  bool near = false, far = false;
  for (std::uint32_t region = 0; region < geography_.regions(); ++region) {
    const bool others = geography_.region(region).locations > 1, ways = geography_.has_ways(region);
    near = near || (others && (near_share > 0 || !ways));
    far = far || (ways && (near_share < 1 || !others));
  }
  lookahead_ = near || !far ? trip_minimum.value() : Duration::max();
  if (far) lookahead_ = std::min(lookahead_, geography_.shortest_way());
  if (has_steps() && interval.value() <= lookahead_) {
    throw UsageError(fmt::format(
        "interval must be longer than the shortest trip, {:g} s, which is how long locations take "
        "to tell what has happened in it: raise interval or lower trip_minimum",
        lookahead_.to_seconds()));
  }
}

void Epidemic::place_first_cases() {
  const std::string& name = infected_region.value();
  std::uint64_t residents = geography_.people();
  infected_region_ = kAllRegions;
  if (name != "all") {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool is_number = error == std::errc{} && end == name.data() + name.size();
    std::uint32_t region = 0;
    while (region < geography_.regions() && geography_.region(region).name != name) ++region;
    if (region == geography_.regions() && is_number) region = number;
    if (region >= geography_.regions()) {
      throw UsageError(fmt::format(
          "parameter 'infected_region' cannot be '{}': a number from 0 to {}{} or all is expected",
          name, geography_.regions() - 1,
          airports.value().empty() ? "" : ", the code of an airport"));
    }
    infected_region_ = region;
    residents = geography_.region(region).people;
  }
  if (static_cast<std::uint64_t>(infected.value()) > residents) {
    throw UsageError(fmt::format(
        "infected={} is more than the {} people who live in the region: lower infected, "
        "or set infected_region=all",
        infected.value(), residents));
  }
}

/// The first cases are evenly spread over the residents in the order of the locations.
std::uint32_t Epidemic::first_cases(LpId location) const {
  const auto cases = static_cast<std::uint64_t>(infected.value());
  std::uint64_t residents_before = 0, residents_of_all = 0;
  const std::uint32_t own = geography_.region_of(location);
  if (infected_region_ != kAllRegions) {
    if (own != infected_region_) return 0;
    residents_of_all = geography_.region(own).people;
  } else {
    residents_of_all = geography_.people();
    residents_before = geography_.people_before(own);
  }
  residents_before += geography_.residents_before(location);
  // Resident n is a first case if n * cases / residents_of_all reaches the next whole number.
  const auto cases_before = [&](std::uint64_t residents) {
    return residents * cases / residents_of_all;
  };
  return static_cast<std::uint32_t>(
      cases_before(residents_before + geography_.residents(location)) -
      cases_before(residents_before));
}

std::unique_ptr<orrery::LogicalProcessBase> Epidemic::create(LpId id) const {
  if (geography_.is_office(id)) return std::make_unique<HealthOffice>(*this, id);
  return std::make_unique<Location>(*this, id);
}

/// All locations of a region exchange people; a star about the health office stands for this. A
/// weight is 10 times the trips that result if each person makes one.
void Epidemic::communication(orrery::CommunicationGraph& graph) const {
  constexpr double kUnit = 1000;
  for (std::uint32_t number = 0; number < geography_.regions(); ++number) {
    const Geography::Region& region = geography_.region(number);
    const double people_there = static_cast<double>(region.people) / region.locations;
    const auto weight =
        static_cast<std::uint32_t>(1 + std::min(1e8, people_there * near_share * kUnit / 100));
    for (std::uint32_t i = 0; i < region.locations; ++i)
      graph.connect(region.first + i, geography_.office(number), weight);
  }
  if (airports.value().empty()) return;  // the LP numbers of a grid keep neighbours together
  geography_.for_each_way([&](std::uint32_t from, std::uint32_t to, double share) {
    const double trips_made = static_cast<double>(geography_.region(from).people) *
                              (1 - near_share) * share * kUnit / 100;
    graph.connect(geography_.office(from), geography_.office(to),
                  static_cast<std::uint32_t>(1 + std::min(1e8, trips_made)));
  });
}

/// A week, plus the time after which the tables contain the week's last step.
Time Epidemic::default_horizon() const {
  return Time::zero() + Duration::seconds(7 * 86'400) + notice_delay() + Duration::seconds(1);
}

// ---- Results -----------------------------------------------------------------------------------

void Epidemic::report(orrery::Report& report, Time end) const {
  const auto sum = [&](const Metric& metric) { return report.total(metric).sum; };
  const double all = static_cast<double>(geography_.people());
  const double infectious = sum(mild_cases) + sum(ill_cases) + sum(homebound_cases);
  const double days = end.to_seconds() / kDay_s;
  report.value("people", all, "1", "who are simulated");
  report.value("locations", geography_.locations(), "1", "logical processes where people are");
  report.value("infected", sum(infections), "1", "infected up to the end, first cases included");
  report.value("attack_rate", sum(infections) / all, "1", "the same by all people");
  report.value("latent", sum(infections) - infectious, "1", "infected and not yet infectious");
  report.value("infectious", infectious - sum(recoveries), "1", "infectious at the end");
  report.value("recovered", sum(recoveries), "1", "recovered up to the end");
  report.value("protected", sum(protected_people), "1", "protected by a dose up to the end");
  report.value("regions_reached", static_cast<double>(report.total(arrival_day).count), "1",
               "regions in which somebody infectious has been");
  report.value("trips_per_day", days > 0 ? sum(trips) / all / days : 0.0, "1/d",
               "trips of a person, home or away");
  report.value("far_share", sum(trips) > 0 ? sum(far_trips) / sum(trips) : 0.0, "1",
               "share of the trips that lead from region to region");
  report.value("on_the_way", all - sum(present), "1", "people on a trip at the end");
  report.value("reproduction_number", disease_.reproduction_number(), "1",
               "infections by one case in a large susceptible population, well mixed");
}

ORRERY_MODEL(Epidemic, "epidemic",
             "people who travel between locations and regions, and a disease among them");

}  // namespace epidemic
