// SPDX-License-Identifier: Apache-2.0
//
// The epidemic model: its parts one by one (disease, people at a location, geography, schedule,
// files), the disease against what is known exactly (pairs of people, the mean-field equations,
// vaccination without a disease), what interventions do, and a sentence for wrong input.
//
// Statistical tests have fixed seeds: they say something about the model, and cannot fail by chance
// from one day to the next.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../../models/epidemic/air_network.h"
#include "../../models/epidemic/crowd.h"
#include "../../models/epidemic/disease.h"
#include "../../models/epidemic/geography.h"
#include "../../models/epidemic/interventions.h"
#include "../../models/epidemic/schedule.h"
#include "models/event_recorder.h"
#include "models/simulation.h"

namespace orrery::testing {
namespace {

using epidemic::Crowd;
using epidemic::Disease;
using epidemic::Dwell;
using epidemic::Geography;
using epidemic::Person;
using epidemic::Schedule;
using epidemic::Stage;

namespace fs = std::filesystem;

constexpr Duration kHour = Duration::seconds(3600);
constexpr Duration kDay = Duration::seconds(86'400);

// ---- disease ------------------------------------------------------------------------------------

TEST(EpidemicDisease, DwellHasItsMeanAndScatter) {
  Random random(1, 0);
  for (const std::int64_t shape : {1, 4, 16}) {
    const Dwell dwell{kDay, shape};
    Summary days;
    for (int i = 0; i < 20'000; ++i) days.add(dwell.draw(random).to_seconds() / 86'400);
    const double deviation = 1 / std::sqrt(static_cast<double>(shape));
    EXPECT_NEAR(days.mean(), 1.0, 4 * deviation / std::sqrt(20'000.0)) << shape;
    EXPECT_NEAR(days.deviation(), deviation, 0.05 * deviation) << shape;
  }
}

TEST(EpidemicDisease, StagesFollowInOrderAndVariantsInTheirShares) {
  const Disease disease{.latent = {2 * kDay, 1},
                        .infectious = {3 * kDay, 1},
                        .mild_share = 0.6,
                        .home_share = 0.25,
                        .mild_infectivity = 0.5,
                        .beta_per_s = 1.0 / 86'400};
  EXPECT_NEAR(disease.reproduction_number(), 3 * (0.6 * 0.5 + 0.4), 1e-9);
  Random random(7, 0);
  std::map<Stage, double> cases;
  constexpr int kPeople = 20'000;
  for (int i = 0; i < kPeople; ++i) {
    Person person;
    EXPECT_EQ(person.changes, Time::max());
    disease.infect(person, Time::zero() + kDay, random);
    ASSERT_EQ(person.stage, Stage::latent);
    const Time infectious_from = person.changes;
    ASSERT_GE(infectious_from, Time::zero() + kDay);
    disease.progress(person, random);
    ASSERT_TRUE(is_infectious(person.stage));
    ASSERT_GE(person.changes, infectious_from);
    ++cases[person.stage];
    disease.progress(person, random);
    ASSERT_EQ(person.stage, Stage::recovered);
    ASSERT_EQ(person.changes, Time::max());
  }
  EXPECT_NEAR(cases[Stage::mild] / kPeople, 0.6, 0.014);
  EXPECT_NEAR(cases[Stage::homebound] / kPeople, 0.1, 0.009);
  EXPECT_NEAR(cases[Stage::ill] / kPeople, 0.3, 0.013);
}

TEST(EpidemicDisease, TimesBeyondTheClockAreItsEnd) {
  const Disease disease{.latent = {Duration::max(), 1}, .infectious = {}, .beta_per_s = 1};
  Random random(1, 0);
  Person person;
  disease.infect(person, Time::max() - kDay, random);
  EXPECT_EQ(person.changes, Time::max());
  EXPECT_EQ(epidemic::saturated_sum(Time::zero(), kDay), Time::zero() + kDay);
}

// ---- people at a location -----------------------------------------------------------------------

/// Against a plain map, over thousands of random steps.
TEST(EpidemicCrowd, KeepsWhoIsThereAndWhoChangesNext) {
  Random random(3, 0);
  Crowd crowd;
  std::map<Crowd::Slot, std::pair<Person, Time>> expected;
  std::set<std::pair<Time, Crowd::Slot>> agenda;
  std::int64_t clock = 0;
  for (int step = 0; step < 20'000; ++step) {
    ++clock;
    if (expected.empty() || random.bernoulli(0.5)) {
      Person person;
      person.home = static_cast<LpId>(step);
      if (random.bernoulli(0.5)) {
        person.stage = Stage::latent;
        person.changes = Time::from_ticks(clock + random.integer(1, 200));
      }
      const Time leaves = Time::from_ticks(clock + random.integer(1, 200));
      const Crowd::Slot slot = crowd.enter(person, leaves);
      ASSERT_TRUE(expected.emplace(slot, std::pair(person, leaves)).second);
      if (person.changes < leaves) agenda.emplace(person.changes, slot);
    } else {
      auto victim = expected.begin();
      for (const auto& at : agenda) ASSERT_TRUE(expected.contains(at.second));
      for (auto i = expected.begin(); i != expected.end(); ++i)
        if (i->second.second < victim->second.second) victim = i;
      // All changes before the next departure come first, in order.
      while (crowd.next_change() < victim->second.second) {
        ASSERT_EQ(crowd.next_change(), agenda.begin()->first);
        const Crowd::Slot slot = crowd.take_change();
        ASSERT_EQ(slot, agenda.begin()->second);
        agenda.erase(agenda.begin());
        crowd.change(slot, [](Person& person) {
          person.stage = Stage::recovered;
          person.changes = Time::max();
        });
        expected[slot].first.stage = Stage::recovered;
      }
      const Crowd::Slot slot = victim->first;
      clock = std::max(clock, victim->second.second.ticks());
      if (random.bernoulli(0.2)) {
        const Time leaves = Time::from_ticks(clock + random.integer(1, 200));
        crowd.prolong(slot, leaves);
        victim->second.second = leaves;
        if (crowd.person(slot).changes < leaves) agenda.emplace(crowd.person(slot).changes, slot);
      } else {
        const Person person = crowd.leave(slot);
        ASSERT_EQ(person.home, victim->second.first.home);
        ASSERT_EQ(person.stage, victim->second.first.stage);
        expected.erase(victim);
      }
    }
    std::uint32_t latent = 0;
    for (const auto& [slot, stay] : expected) latent += stay.first.stage == Stage::latent;
    ASSERT_EQ(crowd.present(), expected.size());
    ASSERT_EQ(crowd.count(Stage::latent), latent);
    ASSERT_EQ(crowd.next_change(), agenda.empty() ? Time::max() : agenda.begin()->first);
  }
  std::size_t visited = 0;
  crowd.for_each([&](const Person&) { ++visited; });
  EXPECT_EQ(visited, expected.size());
}

TEST(EpidemicCrowd, DrawsEachOfTheSusceptibleAlikeAndNobodyElse) {
  Random random(5, 0);
  Crowd crowd;
  std::vector<Crowd::Slot> slots;
  for (LpId i = 0; i < 60; ++i) {
    Person person;
    person.home = i;
    if (i % 3 == 1) person.stage = Stage::recovered;
    slots.push_back(crowd.enter(person, Time::max()));
  }
  for (LpId i = 2; i < 60; i += 3) crowd.leave(slots[i]);
  std::map<LpId, int> drawn;
  for (int i = 0; i < 20'000; ++i) ++drawn[crowd.person(crowd.draw_susceptible(random)).home];
  EXPECT_EQ(drawn.size(), 20u);
  for (const auto& [home, count] : drawn) {
    EXPECT_EQ(home % 3, 0u);
    EXPECT_NEAR(count, 1000, 4 * std::sqrt(1000.0));
  }
}

// ---- schedule -----------------------------------------------------------------------------------

Schedule schedule(bool daily) {
  return {.daily = daily,
          .home_stay = 10 * kHour,
          .away_stay = 3 * kHour,
          .far_stay = 24 * kHour,
          .leave_at = 8 * kHour,
          .leave_spread = 2 * kHour,
          .trip_minimum = Duration::seconds(600),
          .trip_mean = Duration::seconds(1200),
          .far_delay = Duration::seconds(900)};
}

TEST(EpidemicSchedule, StaysAndTripsHaveTheirMeans) {
  for (const bool daily : {false, true}) {
    const Schedule plan = schedule(daily);
    Random random(11, 0);
    Summary near, far, trip, far_trip;
    for (int i = 0; i < 20'000; ++i) {
      near.add(plan.away(false, random).to_seconds());
      far.add(plan.away(true, random).to_seconds());
      trip.add(plan.trip(random).to_seconds());
      far_trip.add(plan.far_trip(kHour, random).to_seconds());
    }
    const double shape = daily ? 4 : 1;
    EXPECT_NEAR(near.mean(), 3 * 3600, 4 * near.deviation() / std::sqrt(20'000.0));
    EXPECT_NEAR(far.mean(), 24 * 3600, 4 * far.deviation() / std::sqrt(20'000.0));
    EXPECT_NEAR(near.deviation(), near.mean() / std::sqrt(shape), 0.05 * near.mean());
    EXPECT_NEAR(trip.mean(), 1200, 20);
    EXPECT_GE(trip.minimum, 600);
    EXPECT_LT(trip.minimum, 602);
    EXPECT_NEAR(far_trip.mean(), 4500, 30);
    EXPECT_GE(far_trip.minimum, 3600);
  }
}

TEST(EpidemicSchedule, DailyPeopleLeaveAtTheirHour) {
  const Schedule plan = schedule(true);
  Random random(13, 0);
  Summary habits;
  for (int i = 0; i < 5'000; ++i) {
    Person person;
    person.leaves_home_min = plan.draw_habit(random);
    ASSERT_LT(person.leaves_home_min, 1440);
    habits.add(person.leaves_home_min);
    const Time now = Time::zero() + Duration::from_seconds(random.uniform(0, 10 * 86'400));
    const Duration stay = plan.at_home(now, person, random);
    EXPECT_GE(stay, 2 * kHour);
    EXPECT_LT(stay, 27 * kHour);
    const double minute = std::fmod((now + stay).to_seconds(), 86'400) / 60;
    const double late = std::remainder(minute - person.leaves_home_min, 1440);
    EXPECT_LT(std::fabs(late), 60);  // six deviations
  }
  EXPECT_NEAR(habits.mean(), 480, 8);
  EXPECT_NEAR(habits.deviation(), 120, 6);
}

// ---- geography ----------------------------------------------------------------------------------

Geography::Travel travel() {
  return {.speed_km_h = 100,
          .overhead = kHour,
          .gravity_population = 1,
          .gravity_distance = 2,
          .change_factor = 0.5};
}

TEST(EpidemicGeography, SquareNumbersLocationsAndOfficesRegionByRegion) {
  const Geography square({.regions = 7, .locations = 3, .people = 5, .spacing_km = 10}, travel());
  EXPECT_EQ(square.regions(), 7u);
  EXPECT_EQ(square.lp_count(), 28u);
  EXPECT_EQ(square.locations(), 21u);
  EXPECT_EQ(square.people(), 105u);
  for (LpId lp = 0; lp < 28; ++lp) {
    EXPECT_EQ(square.region_of(lp), lp / 4);
    EXPECT_EQ(square.number_in_region(lp), lp % 4);
    EXPECT_EQ(square.is_office(lp), lp % 4 == 3);
    EXPECT_EQ(square.office(lp / 4), lp / 4 * 4 + 3);
  }
  EXPECT_EQ(square.region(5).x, 20);  // rows of three
  EXPECT_EQ(square.region(5).y, 10);
}

TEST(EpidemicGeography, GravityFallsWithTheSquareOfTheDistance) {
  const Geography row({.regions = 4, .locations = 1, .people = 1, .spacing_km = 50}, travel());
  // A square of 2 by 2: two neighbours at 50 km, one at 71 km.
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> shares;
  row.for_each_way([&](std::uint32_t from, std::uint32_t to, double share) {
    shares[{from, to}] = share;
  });
  EXPECT_EQ(shares.size(), 12u);
  EXPECT_NEAR((shares[{0, 1}]), 0.4, 1e-12);
  EXPECT_NEAR((shares[{0, 2}]), 0.4, 1e-12);
  EXPECT_NEAR((shares[{0, 3}]), 0.2, 1e-12);
  EXPECT_EQ(row.way(0, 2).to, 2u);
  EXPECT_EQ(row.way(0, 2).shortest, kHour + Duration::seconds(1800));
  EXPECT_EQ(row.shortest_way(), kHour + Duration::seconds(1800));
  Random random(1, 0);
  std::map<std::uint32_t, int> drawn;
  for (int i = 0; i < 10'000; ++i) ++drawn[row.choose_way(0, random).to];
  EXPECT_NEAR(drawn[3], 2000, 160);
  EXPECT_EQ(drawn[0], 0);
}

TEST(EpidemicGeography, AirportsGetPeopleAndWaysBothWays) {
  epidemic::AirNetwork network;
  network.airports = {{"AAA", -80, 40, 1'000'000},
                      {"BBB", -90, 30, 250'049},
                      {"CCC", -100, 35, 20},
                      {"DDD", 0, 0, 5e5}};
  network.routes = {{1, 0, 500, 0}, {1, 2, 1000, 1}};
  const Geography air(network, 0.001, 100, travel());
  EXPECT_EQ(air.regions(), 4u);
  EXPECT_EQ(air.region(0).people, 1000u);
  EXPECT_EQ(air.region(0).locations, 10u);
  EXPECT_EQ(air.region(1).people, 250u);
  EXPECT_EQ(air.region(1).locations, 3u);
  EXPECT_EQ(air.region(2).people, 1u);  // nobody would be nothing to reach
  EXPECT_FALSE(air.has_ways(3));
  EXPECT_TRUE(air.has_ways(0));
  EXPECT_EQ(air.way(0, 1).shortest, 6 * kHour);
  EXPECT_EQ(air.way(2, 1).shortest, 12 * kHour);
  EXPECT_EQ(air.shortest_way(), 6 * kHour);
  std::uint64_t before = 0;
  for (LpId lp = 0; lp < air.lp_count(); ++lp) {
    if (air.is_office(lp)) continue;
    EXPECT_EQ(air.people_before(air.region_of(lp)) + air.residents_before(lp), before);
    before += air.residents(lp);
  }
  EXPECT_EQ(before, air.people());
  air.for_each_way([&](std::uint32_t from, std::uint32_t to, double share) {
    // From BBB: 1000 / 500^2 against half of 1 / 1000^2.
    if (from != 1) return;
    EXPECT_NEAR(share, to == 0 ? 0.004 / 0.0040005 : 5e-7 / 0.0040005, 1e-12);
  });
}

// ---- files --------------------------------------------------------------------------------------

class EpidemicFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "orrery-epidemic-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  std::string airports(const std::string& lines) const {
    return file("airports.csv", "code,longitude,latitude,population\n" + lines);
  }
  std::string routes(const std::string& lines) const {
    return file("routes.csv", "from,to,distance_km,changes\n" + lines);
  }
  static std::string refusal(const std::string& airports_path, const std::string& routes_path) {
    try {
      epidemic::read_air_network(airports_path, routes_path);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  }
  fs::path folder_;
};

constexpr const char* kTwoAirports = "AAA,-80,40,900000\nBBB,-90.5,30,300000\n";

TEST_F(EpidemicFiles, AreRead) {
  const epidemic::AirNetwork network = epidemic::read_air_network(
      airports(std::string(kTwoAirports) + "\r\n"), routes("BBB, AAA ,1200.5,1\n"));
  ASSERT_EQ(network.airports.size(), 2u);
  EXPECT_EQ(network.airports[1].code, "BBB");
  EXPECT_EQ(network.airports[1].longitude, -90.5);
  EXPECT_EQ(network.airports[1].population, 300'000);
  ASSERT_EQ(network.routes.size(), 1u);
  EXPECT_EQ(network.routes[0].from, 1u);
  EXPECT_EQ(network.routes[0].distance_km, 1200.5);
  EXPECT_EQ(network.routes[0].changes, 1u);
}

TEST_F(EpidemicFiles, AreRefusedWithFileLineAndReason) {
  const std::string good_routes = routes("AAA,BBB,1200,0\n");
  const std::vector<std::pair<std::string, std::string>> wrong_airports = {
      {"AAA,-80,40\n", "airports.csv:2: 4 values are expected"},
      {"AAA,-80,40,5,6\n", "found 5"},
      {"AAA,west,40,5\n", "longitude is expected as a number, found 'west'"},
      {"AAA,-80,91,5\n", "latitude must be from -90 to 90, found 91"},
      {"AAA,-80,40,0\n", "population must be from 1"},
      {"AAA,-80,40,nan\n", "population is expected as a number"},
      {"AAA,-80,40,\n", "found nothing"},
      {",-80,40,5\n", "an airport needs a code"},
      {"AAA,-80,40,5\n\nAAA,-80,40,5\n",
       "airports.csv:4: the airport 'AAA' stands in the file twice"},
      {"", "there is no airport in it"}};
  for (const auto& [lines, reason] : wrong_airports) {
    const std::string said = refusal(airports(lines), good_routes);
    EXPECT_NE(said.find(reason), std::string::npos) << lines << said;
  }
  const std::string good_airports = airports(kTwoAirports);
  const std::vector<std::pair<std::string, std::string>> wrong_routes = {
      {"AAA,XYZ,1200,0\n", "routes.csv:2: the airport 'XYZ' is not in the file of airports"},
      {"AAA,AAA,1200,0\n", "from an airport to itself"},
      {"AAA,BBB,0,0\n", "distance_km must be from 1"},
      {"AAA,BBB,100,5\n", "changes is expected as a whole number from 0 to 4, found '5'"},
      {"AAA,BBB,100,-1\n", "found '-1'"},
      {"AAA,BBB,100,0\nBBB,AAA,100,0\n",
       "routes.csv:3: the pair BBB and AAA stands in the file twice"}};
  for (const auto& [lines, reason] : wrong_routes) {
    const std::string said = refusal(good_airports, routes(lines));
    EXPECT_NE(said.find(reason), std::string::npos) << lines << said;
  }
  EXPECT_NE(refusal(good_airports, file("other.csv", "a,b\n")).find("the columns from,to,"),
            std::string::npos);
  EXPECT_NE(refusal(good_airports, (folder_ / "none.csv").string()).find("none.csv"),
            std::string::npos);
}

TEST_F(EpidemicFiles, MakeARun) {
  const std::string lines = "AAA,-80,40,900000\nBBB,-90.5,30,300000\nCCC,-70,45,100000\n";
  const Settings settings = {{"airports", airports(lines)},
                             {"routes", routes("AAA,BBB,1200,0\n")},
                             {"infected", "50"},
                             {"infected_region", "BBB"},
                             {"near_share", "0.5"}};
  const Simulation run("epidemic", settings, 4 * kDay);
  EXPECT_EQ(run["people"], 1300);
  const auto rows = run.table("arrivals");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].at("x"), -90.5);
  EXPECT_EQ(rows[1].at("first_case"), 0);
  EXPECT_GT(rows[0].at("first_case"), 0);
  EXPECT_EQ(rows[2].at("first_case"), -1);  // no route
  ASSERT_EQ(run.model().notes().size(), 1u);
  EXPECT_NE(run.model().notes()[0].find("1 of 3 airports have no route"), std::string::npos);
}

// ---- what is known exactly ----------------------------------------------------------------------

/// Two people at a location, one of them infectious, nobody travels. The other is infected before
/// the first recovers with probability (beta / 2) / (beta / 2 + 1 / D): the two times are a race.
TEST(EpidemicExact, PairsOfPeople) {
  Summary share;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Simulation run("epidemic",
                         {{"regions", "400"},
                          {"locations", "1"},
                          {"people", "2"},
                          {"infected", "400"},
                          {"infected_region", "all"},
                          {"travel_reduction", "1"},
                          {"mild_share", "0"},
                          {"home_share", "0"},
                          {"beta", "1"},
                          {"infectious_time", "3d"},
                          {"interval", "0s"}},
                         60 * kDay, seed);
    EXPECT_EQ(run["infectious"] + run["latent"], 0);
    EXPECT_EQ(run.metric("trips").sum, 0);
    EXPECT_GT(run.metric("forbidden").sum, 0);
    share.add((run["infected"] - 400) / 400);
  }
  const double expected = 0.5 / (0.5 + 1.0 / 3);
  EXPECT_NEAR(share.mean(), expected, 4 * std::sqrt(expected * (1 - expected) / 1600));
}

/// SEIR with Erlang times as chains of exponential ones, and a vaccine: W. Kermack and
/// A. McKendrick's equations in the limit of many people, by the method of Runge and Kutta.
class MeanField {
 public:
  struct Rates {
    double people, infected, beta, latent_d, infectious_d;
    std::size_t latent_shape, infectious_shape;
    double dose, efficacy;
  };
  explicit MeanField(const Rates& rates)
      : rates_(rates), state_(4 + rates.latent_shape + rates.infectious_shape) {
    state_[0] = rates.people - rates.infected;
    state_[4 + rates.latent_shape] = rates.infected;
  }
  void advance(double days) {
    constexpr double kStep = 0.01;
    for (int i = 0; i < static_cast<int>(std::lround(days / kStep)); ++i) step(kStep);
  }
  double susceptible() const { return state_[0] + state_[1]; }
  double protected_people() const { return state_[2]; }
  double recovered() const { return state_[3]; }
  double latent() const { return sum(4, rates_.latent_shape); }
  double infectious() const { return sum(4 + rates_.latent_shape, rates_.infectious_shape); }

 private:
  using State = std::vector<double>;  // no dose, dose without effect, protected, recovered, chain

  double sum(std::size_t from, std::size_t count) const {
    double sum = 0;
    for (std::size_t i = from; i < from + count; ++i) sum += state_[i];
    return sum;
  }
  State slope(const State& at) const {
    State d(at.size());
    double infectious = 0;
    for (std::size_t i = 4 + rates_.latent_shape; i < at.size(); ++i) infectious += at[i];
    const double force = rates_.beta * infectious / rates_.people;
    d[0] = -(force + rates_.dose) * at[0];
    d[1] = -force * at[1] + (1 - rates_.efficacy) * rates_.dose * at[0];
    d[2] = rates_.efficacy * rates_.dose * at[0];
    double inflow = force * (at[0] + at[1]);
    for (std::size_t i = 4; i < at.size(); ++i) {
      const bool latent = i < 4 + rates_.latent_shape;
      const double rate = latent
                              ? static_cast<double>(rates_.latent_shape) / rates_.latent_d
                              : static_cast<double>(rates_.infectious_shape) / rates_.infectious_d;
      d[i] = inflow - rate * at[i];
      inflow = rate * at[i];
    }
    d[3] = inflow;
    return d;
  }
  static State plus(const State& a, const State& b, double factor) {
    State sum = a;
    for (std::size_t i = 0; i < a.size(); ++i) sum[i] += factor * b[i];
    return sum;
  }
  void step(double h) {
    const State a = slope(state_), b = slope(plus(state_, a, h / 2));
    const State c = slope(plus(state_, b, h / 2)), d = slope(plus(state_, c, h));
    for (std::size_t i = 0; i < state_.size(); ++i)
      state_[i] += h / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i]);
  }

  Rates rates_;
  State state_;
};

/// What the curves of a run say of one day, over all regions.
std::array<double, 5> stages_on(const std::vector<Simulation::Line>& curves, double day) {
  std::array<double, 5> stages{};
  for (const Simulation::Line& row : curves) {
    if (std::fabs(row.at("day") - day) > 1e-9) continue;
    stages[0] += row.at("susceptible");
    stages[1] += row.at("latent");
    stages[2] += row.at("mild") + row.at("ill") + row.at("homebound");
    stages[3] += row.at("recovered");
    stages[4] += row.at("protected");
  }
  return stages;
}

struct MeanFieldCase {
  std::string name;
  Settings settings;
  std::size_t latent_shape = 1, infectious_shape = 1;
  double dose = 0, efficacy = 0.9;
};

void PrintTo(const MeanFieldCase& c, std::ostream* out) {
  *out << c.name;
}

class EpidemicMeanField : public ::testing::TestWithParam<MeanFieldCase> {};

/// Well mixed, since there is one location. The means of 20 runs have t distributions with 19
/// degrees of freedom about the equations' solution, but for a bias of some people (the equations
/// are exact for infinitely many only). Level 99.9 %: t = 3.883.
TEST_P(EpidemicMeanField, LiesInTheConfidenceIntervals) {
  constexpr double kStudent19At999 = 3.883;
  constexpr int kRuns = 20;
  constexpr double kPeople = 10'000, kBias = 5;
  const MeanFieldCase& c = GetParam();
  const std::vector<double> days = {4, 8, 16, 24, 40};
  const Settings settings = with({{"regions", "1"},
                                  {"locations", "1"},
                                  {"people", "10000"},
                                  {"infected", "500"},
                                  {"latent_time", "3d"},
                                  {"infectious_time", "4d"},
                                  {"beta", "1"},
                                  {"mild_share", "0.6"},
                                  {"mild_infectivity", "0.5"},
                                  {"interval", "2d"}},
                                 c.settings);
  std::vector<std::array<Summary, 5>> means(days.size());
  for (int seed = 1; seed <= kRuns; ++seed) {
    const Simulation run("epidemic", settings, 41 * kDay, static_cast<std::uint64_t>(seed));
    const auto curves = run.table("curves");
    for (std::size_t i = 0; i < days.size(); ++i) {
      const auto stages = stages_on(curves, days[i]);
      double all = 0;
      for (std::size_t k = 0; k < stages.size(); ++k) {
        means[i][k].add(stages[k]);
        all += stages[k];
      }
      ASSERT_EQ(all, kPeople);
    }
  }
  MeanField equations(
      {kPeople, 500, 0.7, 3, 4, c.latent_shape, c.infectious_shape, c.dose, c.efficacy});
  double day = 0;
  for (std::size_t i = 0; i < days.size(); ++i) {
    equations.advance(days[i] - day);
    day = days[i];
    const std::array<double, 5> expected = {equations.susceptible(), equations.latent(),
                                            equations.infectious(), equations.recovered(),
                                            equations.protected_people()};
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const double width = kStudent19At999 * means[i][k].deviation() / std::sqrt(double{kRuns});
      EXPECT_NEAR(means[i][k].mean(), expected[k], width + kBias) << "day " << day << ", " << k;
      EXPECT_LT(width, 0.02 * kPeople);  // the interval says something
    }
  }
  EXPECT_LT(equations.susceptible(), 0.75 * kPeople);  // and so does the course
}

INSTANTIATE_TEST_SUITE_P(
    Courses, EpidemicMeanField,
    ::testing::Values(
        MeanFieldCase{.name = "exponential", .settings = {}},
        // What a location computes between events does not depend on how often it is asked.
        MeanFieldCase{.name = "asked_often", .settings = {{"interval", "2h"}}},
        MeanFieldCase{.name = "erlang",
                      .settings = {{"latent_shape", "3"}, {"infectious_shape", "2"}},
                      .latent_shape = 3,
                      .infectious_shape = 2},
        MeanFieldCase{.name = "vaccine",
                      .settings = {{"vaccination_rate", "0.05"}, {"vaccine_efficacy", "0.6"}},
                      .dose = 0.05,
                      .efficacy = 0.6}),
    [](const auto& test) { return test.param.name; });

/// People who travel so much that locations do not matter. Each has some 100 people, of whom a
/// hundredth is the infectious person and cannot be infected, and a trip takes time without
/// contacts: the equations are exact to a few per cent only.
TEST(EpidemicMeanFieldOfTravellers, IsCloseToTheEquations) {
  constexpr double kPeople = 2000;
  Summary recovered;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Simulation run("epidemic",
                         {{"regions", "1"},
                          {"locations", "10"},
                          {"people", "200"},
                          {"infected", "100"},
                          {"latent_time", "6h"},
                          {"infectious_time", "12h"},
                          {"beta", "4"},
                          {"mild_share", "0"},
                          {"home_share", "0"},
                          {"home_stay", "1h"},
                          {"away_stay", "1h"},
                          {"trip_minimum", "10s"},
                          {"trip_mean", "30s"},
                          {"interval", "0s"}},
                         3 * kDay, seed);
    recovered.add(run["recovered"]);
    EXPECT_NEAR(run["trips_per_day"], 24.0 * 3600 / 3630, 0.5);
  }
  MeanField equations({kPeople, 100, 4, 0.25, 0.5, 1, 1, 0, 0});
  equations.advance(3);
  EXPECT_NEAR(recovered.mean(), equations.recovered(), 0.03 * kPeople);
  EXPECT_GT(equations.recovered(), 0.3 * kPeople);
}

// ---- nothing gets lost --------------------------------------------------------------------------

const Settings kSmall = {{"regions", "4"},   {"locations", "6"},         {"people", "40"},
                         {"infected", "60"}, {"infected_region", "all"}, {"beta", "2"}};

TEST(EpidemicConservation, EverybodyIsInOneStageInEachStep) {
  for (const Settings& more : {Settings{}, Settings{{"schedule", "daily"}, {"near_share", "0.3"}},
                               Settings{{"vaccination_rate", "0.2"}, {"vaccinate_from", "30h"}}}) {
    const Simulation run("epidemic", with(kSmall, more), 10 * kDay);
    std::map<double, double> infected;
    for (const auto& row : run.table("curves")) {
      double all = 0;
      for (const char* stage :
           {"susceptible", "latent", "mild", "ill", "homebound", "recovered", "protected"}) {
        EXPECT_GE(row.at(stage), 0) << stage;
        all += row.at(stage);
      }
      EXPECT_EQ(all, 240);
      infected[row.at("day")] += row.at("infected");
    }
    ASSERT_EQ(infected.size(), 40u);  // the step at 10 d comes too late
    EXPECT_EQ(infected[0], 60);
    double sum = 0;
    for (const auto& [day, count] : infected) sum += count;
    double by_region = 0;
    for (const auto& row : run.table("arrivals")) by_region += row.at("infected");
    EXPECT_EQ(by_region, sum);
    EXPECT_LE(sum, run["infected"]);  // the last hours are in the metrics only
    EXPECT_GE(sum, 0.9 * run["infected"]);
    EXPECT_EQ(run["infected"], run["latent"] + run["infectious"] + run["recovered"]);
    EXPECT_GE(run["on_the_way"], 0);
  }
}

TEST(EpidemicConservation, PeopleArePresentOrOnTheWay) {
  // 10 h at home, 3 h 20 min elsewhere, two trips of 20 min: one in 21 is on the way.
  const Simulation run(
      "epidemic", {{"regions", "1"}, {"locations", "20"}, {"people", "200"}, {"infected", "0"}},
      3 * kDay);
  EXPECT_NEAR(run["on_the_way"] / 4000, 1.0 / 21, 0.014);
  EXPECT_NEAR(run["trips_per_day"], 2 * 24.0 / 14, 0.1);
  EXPECT_EQ(run["far_share"], 0);
  EXPECT_EQ(run["infected"], 0);
  EXPECT_EQ(run["regions_reached"], 0);
}

TEST(EpidemicFirstCases, AreWhereTheyAreWanted) {
  const Settings base = with(kSmall, {{"infected", "37"}, {"beta", "0"}});
  const Simulation one("epidemic", with(base, {{"infected_region", "2"}}), kHour);
  EXPECT_EQ(one["infected"], 37);
  for (const auto& row : one.table("arrivals"))
    EXPECT_EQ(row.at("first_case"), row.at("region") == 2 ? 0 : -1);
  const Simulation all("epidemic", base, kHour);
  EXPECT_EQ(all["infected"], 37);
  EXPECT_LE(all.metric("infections").maximum, 2);  // 37 cases, 24 locations
  EXPECT_EQ(all["regions_reached"], 4);
  const Simulation everybody("epidemic", with(base, {{"infected", "960"}}), kHour);
  EXPECT_EQ(everybody["infected"], 960);
}

// ---- travel and interventions -------------------------------------------------------------------

TEST(EpidemicTravel, NearShareIsThatOfTrips) {
  for (const char* share : {"0.9", "0.5", "1", "0"}) {
    const Simulation run(
        "epidemic", {{"regions", "4"}, {"locations", "8"}, {"people", "50"}, {"near_share", share}},
        5 * kDay);
    const double trips = run.metric("trips").sum;
    const double far = 1 - std::stod(share);
    EXPECT_NEAR(run["far_share"], far, 4 * std::sqrt(far * (1 - far) / trips * 2) + 0.01) << share;
  }
}

/// With an infectious time far beyond the run, who is homebound goes home once and stays there.
TEST(EpidemicTravel, TheHomeboundStayAtHome) {
  const Settings base = with(kSmall, {{"infected", "960"},
                                      {"mild_share", "0"},
                                      {"infectious_time", "1000d"},
                                      {"infectious_shape", "64"}});
  const Simulation homebound("epidemic", with(base, {{"home_share", "1"}}), 3 * kDay);
  EXPECT_EQ(homebound.metric("trips").sum, 0);
  const Simulation ill("epidemic", with(base, {{"home_share", "0"}}), 3 * kDay);
  EXPECT_GT(ill.metric("trips").sum, 3000);
}

TEST(EpidemicInterventions, ClosedLocationsTakeNoVisitors) {
  const Settings base = with(kSmall, {{"close_share", "1"}, {"interval", "12h"}});
  const Simulation run("epidemic", base, 3 * kDay);
  EXPECT_EQ(run.metric("trips").sum, 0);
  EXPECT_GT(run.metric("closed_to").sum, 1000);
  const Simulation later("epidemic", with(base, {{"close_from", "1d"}}), 4 * kDay);
  const Simulation open("epidemic", with(base, {{"close_share", "0"}}), 4 * kDay);
  EXPECT_GT(later.metric("trips").sum, 0.1 * open.metric("trips").sum);
  EXPECT_LT(later.metric("trips").sum, 0.5 * open.metric("trips").sum);
  const Simulation half("epidemic", with(base, {{"close_share", "0.5"}}), 4 * kDay);
  const double chosen = half.metric("closed_to").sum + half.metric("trips").sum / 2;
  EXPECT_NEAR(half.metric("closed_to").sum / chosen, 0.5, 0.05);
}

TEST(EpidemicInterventions, RestrictionsReduceTravelBetweenRegionsFromTheirDate) {
  const Settings base = with(kSmall, {{"near_share", "0.5"}, {"interval", "0s"}});
  const Simulation none("epidemic", base, 6 * kDay);
  const Simulation all("epidemic", with(base, {{"travel_reduction", "1"}}), 6 * kDay);
  const Simulation half("epidemic", with(base, {{"travel_reduction", "0.5"}}), 6 * kDay);
  const Simulation late("epidemic",
                        with(base, {{"travel_reduction", "1"}, {"restrict_from", "3d"}}), 6 * kDay);
  EXPECT_EQ(all.metric("far_trips").sum, 0);
  EXPECT_GT(all.metric("forbidden").sum, 1000);
  const double usual = none.metric("far_trips").sum;
  EXPECT_GT(half.metric("far_trips").sum, 0.4 * usual);
  EXPECT_LT(half.metric("far_trips").sum, 0.7 * usual);
  EXPECT_GT(late.metric("far_trips").sum, 0.4 * usual);
  EXPECT_LT(late.metric("far_trips").sum, 0.65 * usual);
}

/// Without a disease, people without a dose become fewer at the rate of doses.
TEST(EpidemicInterventions, VaccinationBeginsAtItsDate) {
  const Simulation run("epidemic",
                       {{"regions", "1"},
                        {"locations", "1"},
                        {"people", "20000"},
                        {"infected", "0"},
                        {"vaccination_rate", "0.1"},
                        {"vaccine_efficacy", "0.8"},
                        {"vaccinate_from", "47h"},
                        {"interval", "1d"}},
                       12 * kDay + kHour);
  const auto curves = run.table("curves");
  EXPECT_EQ(stages_on(curves, 1)[4], 0);
  for (const double day : {2.0, 5.0, 11.0}) {
    const double expected = 20'000 * 0.8 * (1 - std::exp(-0.1 * (day - 47.0 / 24)));
    EXPECT_NEAR(stages_on(curves, day)[4], expected, 4 * std::sqrt(expected)) << day;
  }
  EXPECT_EQ(run["protected"], run.metric("protected").sum);
}

TEST(EpidemicInterventions, VaccinationStopsAnEpidemic) {
  const Simulation none("epidemic", kSmall, 40 * kDay);
  const Simulation early(
      "epidemic", with(kSmall, {{"vaccination_rate", "1"}, {"vaccine_efficacy", "1"}}), 40 * kDay);
  EXPECT_LT(early["infected"], 0.5 * none["infected"]);
}

// ---- promises -----------------------------------------------------------------------------------

TEST(EpidemicPromises, NoTripIsShorterThanTheLookahead) {
  struct Case {
    Settings settings;
    Duration lookahead;
  };
  const Case cases[] = {
      {kSmall, Duration::seconds(600)},
      {with(kSmall, {{"trip_minimum", "5min"}}), Duration::seconds(300)},
      {with(kSmall, {{"near_share", "0"}}), Duration::seconds(1800 + 4500)},
      {with(kSmall, {{"near_share", "1"}, {"overhead", "1s"}, {"spacing", "1"}}),
       Duration::seconds(600)},
      {{{"regions", "9"}, {"locations", "1"}, {"people", "200"}}, Duration::seconds(1800 + 4500)},
      {{{"regions", "9"},
        {"locations", "3"},
        {"overhead", "1s"},
        {"speed", "3000"},
        {"spacing", "1"}},
       Duration::from_seconds(2.2)}};
  for (const Case& c : cases) {
    for (const char* interval : {"0s", "6h"}) {
      const auto model = prepared_model("epidemic", with(c.settings, {{"interval", interval}}));
      EXPECT_EQ(model->lookahead(), c.lookahead);
      const EventRecorder recorder(*model, Time::zero() + 3 * kDay);
      EXPECT_GE(recorder.shortest_delay_to_others(), model->lookahead());
      EXPECT_LT(recorder.shortest_delay_to_others(), model->lookahead() + Duration::seconds(60));
    }
  }
}

/// One event for each arrival and one for each end of a stay: nothing is ever out of date.
TEST(EpidemicPromises, NoEventIsWasted) {
  const auto model = prepared_model("epidemic", with(kSmall, {{"interval", "0s"}}));
  const EventRecorder recorder(*model, Time::zero() + 5 * kDay);
  std::map<std::string, double> events;
  for (const auto& event : recorder.handled()) ++events[event.type];
  EXPECT_LE(events["Sighting"], 2 * 24);  // two a location
  EXPECT_EQ(events.size(), 3u);
  EXPECT_GT(events["Arrival"], 1000);
  EXPECT_LT(std::fabs(events["Departure"] - events["Arrival"]), 240);
}

TEST(EpidemicPromises, GraphConnectsLocationsWithTheirOffice) {
  const auto model = prepared_model("epidemic", kSmall);
  CommunicationGraph graph;
  model->communication(graph);
  EXPECT_EQ(graph.edges().size(), 24u);
  for (const auto& edge : graph.edges()) {
    EXPECT_EQ(edge.from / 7, edge.to / 7);
    EXPECT_EQ(edge.to % 7, 6u);
    EXPECT_GE(edge.weight, 1u);
  }
}

class EpidemicEngines : public ::testing::TestWithParam<Settings> {};

TEST_P(EpidemicEngines, CommitTheSame) {
  expect_same_on_all_engines("epidemic", with(kSmall, GetParam()), 2 * kDay);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EpidemicEngines,
                         ::testing::Values(Settings{},
                                           Settings{{"interval", "0s"}, {"near_share", "0.5"}},
                                           Settings{{"schedule", "daily"},
                                                    {"close_share", "0.3"},
                                                    {"close_from", "1d"},
                                                    {"vaccination_rate", "0.3"},
                                                    {"vaccinate_from", "12h"},
                                                    {"travel_reduction", "0.5"}}));

TEST(EpidemicSeed, DecidesTheRun) {
  const Simulation a("epidemic", kSmall, kDay, 5), b("epidemic", kSmall, kDay, 5),
      c("epidemic", kSmall, kDay, 6);
  EXPECT_EQ(a.outcome().result.fingerprint, b.outcome().result.fingerprint);
  EXPECT_NE(a.outcome().result.fingerprint, c.outcome().result.fingerprint);
}

// ---- bad input ----------------------------------------------------------------------------------

TEST(EpidemicParameters, OutOfRangeAreRefused) {
  const Settings wrong = {{"regions", "0"},
                          {"regions", "2049"},
                          {"locations", "0"},
                          {"people", "0"},
                          {"spacing", "0"},
                          {"scale", "0"},
                          {"scale", "1.5"},
                          {"schedule", "weekly"},
                          {"near_share", "1.1"},
                          {"home_stay", "0s"},
                          {"away_stay", "-1h"},
                          {"far_stay", "x"},
                          {"trip_minimum", "0s"},
                          {"trip_mean", "0s"},
                          {"speed", "0"},
                          {"overhead", "0s"},
                          {"far_delay", "-1s"},
                          {"gravity_distance", "-1"},
                          {"change_factor", "0"},
                          {"beta", "-1"},
                          {"latent_time", "0s"},
                          {"infectious_time", "0s"},
                          {"latent_shape", "0"},
                          {"infectious_shape", "65"},
                          {"mild_share", "-0.1"},
                          {"mild_infectivity", "2"},
                          {"home_share", "nan"},
                          {"infected", "-1"},
                          {"close_share", "1.01"},
                          {"close_from", "-1d"},
                          {"vaccination_rate", "-1"},
                          {"vaccine_efficacy", "2"},
                          {"travel_reduction", "1.5"},
                          {"interval", "-1h"}};
  for (const auto& [name, value] : wrong) {
    const auto model = make_model("epidemic");
    EXPECT_THROW(set_parameter(*model, name, value), UsageError) << name << "=" << value;
  }
}

TEST(EpidemicParameters, ThatDoNotBelongTogetherAreRefusedWithASentence) {
  const std::vector<std::pair<Settings, std::string>> wrong = {
      {{{"trip_minimum", "1h"}}, "trip_mean must not be less than trip_minimum"},
      {{{"interval", "10min"}}, "interval must be longer than the shortest trip, 600 s"},
      {{{"airports", "a.csv"}}, "airports='a.csv' needs the other file as well: give routes"},
      {{{"routes", "r.csv"}}, "routes='r.csv' needs the other file as well: give airports"},
      {{{"regions", "2000"}, {"locations", "10000"}}, "at most 1e+09 are possible"},
      {{{"infected_region", "100"}}, "a number from 0 to 99 or all is expected"},
      {{{"infected_region", "Ohio"}}, "'infected_region' cannot be 'Ohio'"},
      {{{"infected", "10001"}}, "infected=10001 is more than the 10000 people"},
      {{{"infected", "1000001"}, {"infected_region", "all"}}, "more than the 1000000 people"}};
  for (const auto& [settings, sentence] : wrong) {
    try {
      prepared_model("epidemic", settings);
      FAIL() << "accepted: " << sentence;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(sentence), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace orrery::testing
