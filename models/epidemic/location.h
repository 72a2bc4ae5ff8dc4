// SPDX-License-Identifier: Apache-2.0
//
// The LP of the epidemic model: a location, the people there, and the disease among them.
//
// A location is exact in continuous time, yet has events only for arrivals and departures of people
// and for the steps of the tables. Nothing outside depends on what happens between two events, so
// the next event computes it, up to its own time (catch_up). Between changes of stage the hazard is
// constant, and the next infection comes when the integral of the hazard reaches an exponential
// threshold (the change of time that turns any counting process into a Poisson process of rate 1;
// the "next reaction method" of M. Gibson and J. Bruck, J. Physical Chemistry A 104, 2000, with the
// susceptible people of a location as one reaction). So a person who arrives, leaves or falls ill
// never makes an event invalid.
//
// At the end of the run no further event triggers the computation, and finish() has no random
// stream. finish() computes the rest with a stream whose key was drawn at the start.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "crowd.h"
#include "events.h"
#include "model.h"
#include "orrery/orrery.h"

namespace epidemic {

class Location final : public orrery::LogicalProcess<Location, Arrival, Departure, StepEnd> {
 public:
  Location(const Epidemic& model, orrery::LpId id);

  void start(orrery::Context& context) override;
  void handle(orrery::Context& context, const Arrival& arrival);
  void handle(orrery::Context& context, const Departure& departure);
  void handle(orrery::Context& context, const StepEnd& end);
  void finish(orrery::FinalContext& context) override;

 private:
  struct Counts {
    std::uint64_t trips = 0, far_trips = 0;
    std::uint64_t closed_to = 0, forbidden = 0;  ///< trips that were not made
    std::array<std::uint64_t, kHappenings> happenings{};
  };
  struct RegionTally {
    std::uint32_t region;
    HappeningCounts counts;
  };
  /// Per second; constant as long as nobody arrives, leaves or changes stage.
  struct Hazard {
    double infection = 0, dose = 0;  ///< of one susceptible person
    double total = 0;                ///< of all susceptible people together
  };

  void settle_residents(orrery::Context& context);
  void stay(orrery::Context& context, const Person& person);
  orrery::Duration draw_stay(const Person& person, orrery::Time now, orrery::Random& random) const;
  void go_home(orrery::Context& context, Crowd::Slot slot);
  bool go_out(orrery::Context& context, Crowd::Slot slot);
  bool go_far(orrery::Context& context, Crowd::Slot slot);
  void set_out(orrery::Context& context, Crowd::Slot slot, orrery::LpId to, orrery::Duration time,
               bool far);
  bool is_closed(orrery::LpId location, orrery::Time now);

  void catch_up(orrery::Time until, orrery::Random& random);
  void pass(orrery::Time until, orrery::Random& random);
  bool reaches_threshold(const Hazard& hazard, orrery::Time stop);
  Hazard hazard() const;
  void strike(const Hazard& hazard, orrery::Random& random);
  void vaccinate(Crowd::Slot slot, orrery::Random& random);
  void progress(Person& person, orrery::Random& random);

  void count(const Person& person, Happening happening);
  void see(orrery::Time time, Stage stage);
  void report_sightings(orrery::Context& context);
  void send_tallies(orrery::Context& context);

  // The members that each event needs lie together, at the front.
  const Epidemic& model_;
  const orrery::LpId self_;
  const std::uint32_t region_;
  orrery::Time caught_up_;  ///< everything before this time has been computed
  double threshold_ = 0;    ///< growth of the integral of the hazard until the next infection
  Crowd crowd_;
  bool has_news_ = false;  ///< the first case or infection has been seen and not yet reported
  orrery::Time first_case_ = orrery::Time::max();
  orrery::Time first_infection_ = orrery::Time::max();
  Counts counts_;
  std::uint64_t last_key_ = 0;        ///< key of the random stream that finish() uses
  std::vector<RegionTally> tallies_;  ///< of this step, the location's own region first
};

}  // namespace epidemic
