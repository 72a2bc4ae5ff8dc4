// SPDX-License-Identifier: Apache-2.0
//
// The epidemic model: its parameters, the data that all locations share, and its reports. README.md
// has the definition with its sources.
//
// Individuals in locations, locations in regions, trips within and between regions, and a disease
// as a probabilistic timed transition system. With this model K. Perumalla and S. Seal ("Discrete
// event modeling and massively parallel execution of epidemic outbreak phenomena", SIMULATION
// 88(7), 2012) measured parallel engines. An LP is a location; the lookahead is the shortest trip.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "disease.h"
#include "geography.h"
#include "interventions.h"
#include "orrery/orrery.h"
#include "schedule.h"

namespace epidemic {

class Epidemic final : public orrery::Model {
  template <class T>
  using Parameter = orrery::Parameter<T>;
  using Text = std::string;
  using Duration = orrery::Duration;
  using Metric = orrery::Metric;
  static constexpr Duration kHour = Duration::seconds(3600);
  static constexpr Duration kDay = Duration::seconds(86'400);

 public:
  // Regions and their people.
  Parameter<std::int64_t> regions{
      *this,
      "regions",
      100,
      {.help = "regions, on the points of a square grid", .minimum = 1, .maximum = 2048}};
  Parameter<std::int64_t> locations{
      *this,
      "locations",
      100,
      {.help = "locations (logical processes) of each region", .minimum = 1, .maximum = 1 << 24}};
  Parameter<std::int64_t> people{
      *this,
      "people",
      100,
      {.help = "people who live at each location", .minimum = 1, .maximum = 1 << 24}};
  Parameter<double> spacing{*this,
                            "spacing",
                            100.0,
                            {.help = "distance between neighbouring regions",
                             .unit = "km",
                             .minimum = 1.0,
                             .maximum = 20'000.0}};
  Parameter<Text> airports{
      *this,
      "airports",
      "",
      {.help = "file of airports, each with the people who live nearest to it: a region each, "
               "instead of the grid; us_by_air.py makes it"}};
  Parameter<Text> routes{
      *this, "routes", "", {.help = "file of the pairs of these airports that can be flown"}};
  Parameter<double> scale{
      *this,
      "scale",
      0.001,
      {.help = "airports: part of the population that is simulated, everybody for 1 / scale people",
       .minimum = 1e-9,
       .maximum = 1.0}};

  // Trips.
  Parameter<Text> schedule_kind{
      *this,
      "schedule",
      "random",
      {.help = "random: stays have exponential lengths; daily: everybody leaves home at an hour "
               "of their own each day, and days out scatter less",
       .choices = {"random", "daily"}}};
  Parameter<double> near_share{
      *this,
      "near_share",
      0.9,
      {.help = "share of the trips from home that stay within the region, where there is a choice",
       .minimum = 0.0,
       .maximum = 1.0}};
  Parameter<Duration> home_stay{*this,
                                "home_stay",
                                10 * kHour,
                                {.help = "random: mean stay at home",
                                 .minimum = Duration::seconds(60),
                                 .maximum = 1000 * kDay}};
  Parameter<Duration> away_stay{*this,
                                "away_stay",
                                Duration::seconds(12'000),
                                {.help = "mean stay elsewhere in the region",
                                 .minimum = Duration::seconds(60),
                                 .maximum = 1000 * kDay}};
  Parameter<Duration> far_stay{*this,
                               "far_stay",
                               8 * kHour,
                               {.help = "mean stay in another region",
                                .minimum = Duration::seconds(60),
                                .maximum = 1000 * kDay}};
  Parameter<Duration> leave_at{*this,
                               "leave_at",
                               8 * kHour,
                               {.help = "daily: mean time of day at which people leave home",
                                .minimum = Duration::zero(),
                                .maximum = kDay}};
  Parameter<Duration> leave_spread{*this,
                                   "leave_spread",
                                   2 * kHour,
                                   {.help = "daily: standard deviation of it over the people",
                                    .minimum = Duration::zero(),
                                    .maximum = kDay}};
  Parameter<Duration> trip_minimum{
      *this,
      "trip_minimum",
      Duration::seconds(600),
      {.help = "shortest trip within a region; the lookahead, if no trip to another is shorter",
       .minimum = Duration::seconds(1),
       .maximum = kDay}};
  Parameter<Duration> trip_mean{*this,
                                "trip_mean",
                                Duration::seconds(1200),
                                {.help = "mean duration of a trip within a region",
                                 .minimum = Duration::seconds(1),
                                 .maximum = 10 * kDay}};
  Parameter<double> speed{
      *this,
      "speed",
      80.0,
      {.help = "between regions", .unit = "km/h", .minimum = 1.0, .maximum = 3000.0}};
  Parameter<Duration> overhead{
      *this,
      "overhead",
      Duration::seconds(1800),
      {.help = "between regions: time beside that at full speed, for each vehicle that is used",
       .minimum = Duration::seconds(1),
       .maximum = 10 * kDay}};
  Parameter<Duration> far_delay{*this,
                                "far_delay",
                                Duration::seconds(900),
                                {.help = "between regions: mean time lost beyond the least that a "
                                         "trip can take, exponentially distributed",
                                 .minimum = Duration::zero(),
                                 .maximum = 10 * kDay}};
  Parameter<double> gravity_population{
      *this,
      "gravity_population",
      1.0,
      {.help = "between regions: trips are proportional to this power of the population there",
       .minimum = 0.0,
       .maximum = 4.0}};
  Parameter<double> gravity_distance{
      *this,
      "gravity_distance",
      2.0,
      {.help = "between regions: trips are inversely proportional to this power of the distance",
       .minimum = 0.0,
       .maximum = 8.0}};
  Parameter<double> change_factor{
      *this,
      "change_factor",
      0.2,
      {.help = "airports: how much less a pair is travelled for each change of aeroplane",
       .minimum = 0.001,
       .maximum = 1.0}};

  // The disease.
  Parameter<double> beta{*this,
                         "beta",
                         1.12,
                         {.help = "infections that a fully infectious person causes among people "
                                  "who are all susceptible",
                          .unit = "1/d",
                          .minimum = 0.0,
                          .maximum = 1000.0}};
  Parameter<Duration> latent_time{*this,
                                  "latent_time",
                                  Duration::seconds(318'816),
                                  {.help = "mean time from infection to being infectious",
                                   .minimum = Duration::seconds(1),
                                   .maximum = 1000 * kDay}};
  Parameter<Duration> infectious_time{*this,
                                      "infectious_time",
                                      Duration::seconds(300'672),
                                      {.help = "mean time for which people are infectious",
                                       .minimum = Duration::seconds(1),
                                       .maximum = 1000 * kDay}};
  Parameter<std::int64_t> latent_shape{
      *this,
      "latent_shape",
      1,
      {.help = "shape of its Erlang distribution; 1: exponential", .minimum = 1, .maximum = 64}};
  Parameter<std::int64_t> infectious_shape{
      *this,
      "infectious_shape",
      1,
      {.help = "shape of its Erlang distribution; 1: exponential", .minimum = 1, .maximum = 64}};
  Parameter<double> mild_share{
      *this,
      "mild_share",
      0.86,
      {.help = "share of the infected who do not notice it", .minimum = 0.0, .maximum = 1.0}};
  Parameter<double> mild_infectivity{
      *this,
      "mild_infectivity",
      0.55,
      {.help = "how infectious they are, relative to others", .minimum = 0.0, .maximum = 1.0}};
  Parameter<double> home_share{
      *this,
      "home_share",
      0.5,
      {.help = "share of the others who stay at home as soon as they are there",
       .minimum = 0.0,
       .maximum = 1.0}};
  Parameter<std::int64_t> infected{
      *this,
      "infected",
      10,
      {.help = "people who are infectious at the start", .minimum = 0, .maximum = 1 << 30}};
  Parameter<Text> infected_region{
      *this,
      "infected_region",
      "0",
      {.help = "where they live: number of a region, code of an airport, or all (evenly spread)"}};

  // Interventions.
  Parameter<double> close_share{
      *this,
      "close_share",
      0.0,
      {.help = "share of the locations of each region that take no visitors from close_from on",
       .minimum = 0.0,
       .maximum = 1.0}};
  Parameter<Duration> close_from{
      *this,
      "close_from",
      Duration::zero(),
      {.help = "time from the start", .minimum = Duration::zero(), .maximum = 10'000 * kDay}};
  Parameter<double> vaccination_rate{
      *this,
      "vaccination_rate",
      0.0,
      {.help = "rate at which a susceptible person without a dose gets one from vaccinate_from on",
       .unit = "1/d",
       .minimum = 0.0,
       .maximum = 1000.0}};
  Parameter<double> vaccine_efficacy{*this,
                                     "vaccine_efficacy",
                                     0.9,
                                     {.help = "share of the doses that protect, at once and for "
                                              "good; the others do nothing",
                                      .minimum = 0.0,
                                      .maximum = 1.0}};
  Parameter<Duration> vaccinate_from{
      *this,
      "vaccinate_from",
      Duration::zero(),
      {.help = "time from the start", .minimum = Duration::zero(), .maximum = 10'000 * kDay}};
  Parameter<double> travel_reduction{
      *this,
      "travel_reduction",
      0.0,
      {.help = "share of the trips to other regions that are not made from restrict_from on",
       .minimum = 0.0,
       .maximum = 1.0}};
  Parameter<Duration> restrict_from{
      *this,
      "restrict_from",
      Duration::zero(),
      {.help = "time from the start", .minimum = Duration::zero(), .maximum = 10'000 * kDay}};
  Parameter<Duration> interval{
      *this,
      "interval",
      6 * kHour,
      {.help = "step of the table 'curves'; 0: no such table and no counts by region",
       .minimum = Duration::zero(),
       .maximum = 1000 * kDay}};

  // Each location records one value at the end, so no event has to update statistics.
  Metric trips{*this, "trips", "", "trips from a location, home or away"};
  Metric far_trips{*this, "far_trips", "", "of these, to another region"};
  Metric closed_to{*this, "closed_to", "", "trips not made as the destination was closed"};
  Metric forbidden{*this, "forbidden", "", "trips not made as travel was restricted"};
  Metric infections{*this, "infections", "", "people infected at a location, first cases included"};
  Metric mild_cases{*this, "mild_cases", "", "people who became infectious without noticing it"};
  Metric ill_cases{*this, "ill_cases", "", "people who became infectious and went about"};
  Metric homebound_cases{*this, "homebound_cases", "",
                         "people who became infectious and went home"};
  Metric recoveries{*this, "recoveries", "", "people who recovered"};
  Metric protected_people{*this, "protected", "", "people whom a dose protected"};
  Metric present{*this, "present", "", "people at a location at the end"};
  Metric arrival_day{*this, "arrival_day", "d",
                     "first time that somebody infectious is in a region"};

  orrery::Table curves{*this,
                       "curves",
                       {{"day", orrery::ColumnType::real, "d"},
                        {"region", orrery::ColumnType::integer},
                        {"susceptible", orrery::ColumnType::integer},
                        {"latent", orrery::ColumnType::integer},
                        {"mild", orrery::ColumnType::integer},
                        {"ill", orrery::ColumnType::integer},
                        {"homebound", orrery::ColumnType::integer},
                        {"recovered", orrery::ColumnType::integer},
                        {"protected", orrery::ColumnType::integer},
                        {"infected", orrery::ColumnType::integer}},
                       "the people who live in a region by stage at the end of each step, wherever "
                       "they are, and how many were infected in it (if interval > 0)"};
  orrery::Table arrivals{*this,
                         "arrivals",
                         {{"region", orrery::ColumnType::integer},
                          {"x", orrery::ColumnType::real, "km, or degrees east"},
                          {"y", orrery::ColumnType::real, "km, or degrees north"},
                          {"people", orrery::ColumnType::integer},
                          {"locations", orrery::ColumnType::integer},
                          {"first_case", orrery::ColumnType::real, "d"},
                          {"first_infection", orrery::ColumnType::real, "d"},
                          {"infected", orrery::ColumnType::integer},
                          {"peak", orrery::ColumnType::integer},
                          {"peak_day", orrery::ColumnType::real, "d"}},
                         "each region at the end: when somebody infectious was there first, when "
                         "somebody was infected there first (-1: never), and of those who live "
                         "there how many were infected, most infectious at once and when"};

  void prepare() override;
  std::uint64_t lp_count() const override { return geography_.lp_count(); }
  std::unique_ptr<orrery::LogicalProcessBase> create(orrery::LpId id) const override;
  /// "JFK.3" and "JFK.office", with the code of the airport; "region0.3" on a square.
  std::string name_of(orrery::LpId id) const override { return geography_.name_of(id); }
  Duration lookahead() const override { return lookahead_; }
  void communication(orrery::CommunicationGraph& graph) const override;
  orrery::Time default_horizon() const override;
  void report(orrery::Report& report, orrery::Time end) const override;

  // For the LPs.
  const Geography& geography() const { return geography_; }
  const Schedule& schedule() const { return schedule_; }
  const Disease& disease() const { return disease_; }
  const Interventions& interventions() const { return interventions_; }
  /// Whether people of a region have a destination.
  bool has_trips(std::uint32_t region) const {
    return geography_.region(region).locations > 1 || geography_.has_ways(region);
  }
  bool has_steps() const { return interval.value() > Duration::zero(); }
  /// Delay of a report from a location to a health office: the lookahead, so that reports do not
  /// shorten it.
  Duration notice_delay() const { return lookahead_; }
  /// Residents of a location who are infectious at the start.
  std::uint32_t first_cases(orrery::LpId location) const;

 private:
  void make_geography();
  void check_size(double all) const;
  void make_disease();
  void make_interventions();
  void find_lookahead();
  void place_first_cases();

  Geography geography_;
  Schedule schedule_;
  Disease disease_;
  Interventions interventions_;
  Duration lookahead_;
  std::int64_t infected_region_ = 0;  ///< -1: all
};

}  // namespace epidemic
