// SPDX-License-Identifier: Apache-2.0
//
// The wireless model: its parts one by one (durations, path loss, pieces of interference, back-off,
// network) against hand calculation, its throughput and loss against closed forms (ALOHA, a
// saturated link, Bianchi's analysis of carrier sense), conservation of packets, and equality of
// all engines.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../../models/common/countdown.h"
#include "../../models/common/phy.h"
#include "../../models/common/reception.h"
#include "../../models/wireless/model.h"
#include "../../models/wireless/network.h"
#include "models/event_recorder.h"
#include "models/saturated_wireless.h"
#include "models/simulation.h"

namespace orrery::testing {
namespace {

using wireless::airtime;
using wireless::Countdown;
using wireless::Judgement;
using wireless::Link;
using wireless::Network;
using wireless::PathLoss;
using wireless::Receiver;
using wireless::ReceiverSettings;

constexpr double kStudent9At999 = 4.781;  // two-sided 99.9 %, 9 degrees of freedom

// ---- durations and powers -----------------------------------------------------------------------

/// From the standard's examples and by hand: 20 us + 4 us for each symbol.
TEST(WirelessPhy, AirtimeCountsWholeSymbols) {
  EXPECT_EQ(airtime(wireless::rate_of(6), 14), Duration::microseconds(44));
  EXPECT_EQ(airtime(wireless::rate_of(24), 14), Duration::microseconds(28));
  EXPECT_EQ(airtime(wireless::rate_of(54), 1536), Duration::microseconds(248));
  EXPECT_EQ(airtime(wireless::rate_of(12), 1036), Duration::microseconds(716));
  EXPECT_EQ(wireless::kDifs, Duration::microseconds(34));
}

TEST(WirelessPhy, AcknowledgementsUseTheMandatoryRateBelow) {
  const std::vector<std::pair<int, int>> expected = {{6, 6},   {9, 6},   {12, 12}, {18, 12},
                                                     {24, 24}, {36, 24}, {48, 24}, {54, 24}};
  for (const auto& [data, ack] : expected)
    EXPECT_EQ(wireless::acknowledgement_rate(wireless::rate_of(data)).megabits_per_second, ack);
}

TEST(WirelessPhy, FreeSpaceLossIsThatOfFriis) {
  const PathLoss free_space = PathLoss::at(5.18e9, 2.0);
  for (const double metres : {1.0, 10.0, 100.0, 2345.0}) {
    const double wavelength = wireless::kLightMetresPerSecond / 5.18e9;
    const double friis = 20 * std::log10(4 * std::acos(-1.0) * metres / wavelength);
    EXPECT_NEAR(free_space.db(metres), friis, 1e-9);
    EXPECT_NEAR(free_space.metres(friis), metres, 1e-6 * metres);
  }
  EXPECT_NEAR(free_space.db(1.0), 46.735, 1e-3);  // by hand
  EXPECT_NEAR(PathLoss::at(5.18e9, 3.0).db(100.0), 46.735 + 60.0, 1e-3);
  EXPECT_NEAR(wireless::watts_of_dbm(20.0), 0.1, 1e-15);
  EXPECT_EQ(wireless::propagation(30.0), Duration::nanoseconds(100));
  EXPECT_EQ(wireless::propagation(0.01), Duration::nanoseconds(1));
}

/// How the standard defines sensitivity, and the parameter that was derived from it.
TEST(WirelessPhy, ATenthOfFramesIsLostAtTheSensitivity) {
  for (const auto& rate : wireless::kRates) {
    const double required = wireless::required_ratio(rate);
    EXPECT_NEAR(10 * std::log10(required), rate.sensitivity_dbm + 91.0, 1e-9);
    EXPECT_NEAR(std::pow(1 - wireless::bit_error(required, required), 8000), 0.9, 1e-5);
  }
}

// ---- pieces of interference ---------------------------------------------------------------------

wireless::Demand demand_of(int megabits_per_second) {
  return wireless::Demand::of(wireless::rate_of(megabits_per_second));
}

ReceiverSettings settings_of(Judgement judgement) {
  return {.judgement = judgement,
          .noise_w = 1e-12,
          .sensitivity_w = 1e-11,
          .preamble_ratio = wireless::ratio_of_db(4.0),
          .preamble = demand_of(6)};
}

/// A frame of 100 us at 12 Mb/s and 40 pW, noise 1 pW, and two other signals: 2 pW from 10 us to
/// 60 us, 5 pW from 50 us to 90 us. Pieces: SINR 40, 40/3 (preamble to 20 us), 40/3, 40/8, 40/6,
/// 40.
TEST(WirelessReception, EachPieceIsJudgedByItsOwnInterference) {
  const ReceiverSettings settings = settings_of(Judgement::error_rate);
  Receiver receiver;
  receiver.begin({40e-12, 100'000, 1}, 0, settings);
  ASSERT_TRUE(receiver.try_lock(0, demand_of(12), settings));
  receiver.begin({2e-12, 60'000, 2}, 10'000, settings);
  EXPECT_FALSE(receiver.try_lock(10'000, demand_of(12), settings));
  receiver.begin({5e-12, 90'000, 3}, 50'000, settings);
  EXPECT_DOUBLE_EQ(receiver.total_w(), 47e-12);
  ASSERT_TRUE(receiver.end(2, 60'000, settings));
  ASSERT_TRUE(receiver.end(3, 90'000, settings));
  ASSERT_TRUE(receiver.end(1, 100'000, settings));

  const auto piece = [](double bits, double sinr, double required) {
    return std::pow(1 - 0.5 * std::exp(-wireless::kErrorSlope * sinr / required), bits);
  };
  const double basic = std::pow(10.0, 0.9), data = std::pow(10.0, 1.2);
  const double expected = piece(60, 40, basic) * piece(60, 40.0 / 3, basic) *
                          piece(360, 40.0 / 3, data) * piece(120, 40.0 / 8, data) *
                          piece(360, 40.0 / 6, data) * piece(120, 40, data);
  EXPECT_NEAR(receiver.success_probability() / expected, 1.0, 1e-9);
  EXPECT_NEAR(receiver.worst_ratio(), 5 / data, 1e-12);
  Random random(1, 0);
  EXPECT_TRUE(receiver.judge(settings, random).overlapped);
  EXPECT_FALSE(receiver.locked());
  EXPECT_TRUE(receiver.signals().empty());
}

/// The same signals, one as wanted frame, with an interferer on either side of the threshold.
TEST(WirelessReception, ThresholdIsTheRequiredRatio) {
  const ReceiverSettings settings = settings_of(Judgement::threshold);
  const double required = wireless::required_ratio(wireless::rate_of(24));
  for (const double margin : {0.99, 1.01}) {
    Receiver receiver;
    Random random(1, 0);
    receiver.begin({100e-12, 90'000, 1}, 0, settings);
    ASSERT_TRUE(receiver.try_lock(0, demand_of(24), settings));
    receiver.begin({100e-12 / (required * margin) - 1e-12, 60'000, 2}, 59'999, settings);
    ASSERT_TRUE(receiver.end(2, 60'000, settings));
    ASSERT_TRUE(receiver.end(1, 90'000, settings));
    EXPECT_EQ(receiver.judge(settings, random).received, margin > 1) << margin;
  }
}

TEST(WirelessReception, CollisionIsAnyOverlapAndTouchingIsNone) {
  const ReceiverSettings settings = settings_of(Judgement::collision);
  for (const std::int64_t second : {99, 100}) {
    Receiver receiver;
    Random random(1, 0);
    receiver.begin({1e-10, 100, 1}, 0, settings);
    ASSERT_TRUE(receiver.try_lock(0, demand_of(6), settings));
    if (second < 100) receiver.begin({1e-20, 200, 2}, second, settings);
    ASSERT_TRUE(receiver.end(1, 100, settings));
    EXPECT_EQ(receiver.judge(settings, random).received, second == 100);
  }
}

TEST(WirelessReception, LockingTakesPowerAndAClearPreamble) {
  const ReceiverSettings settings = settings_of(Judgement::error_rate);
  Receiver receiver;
  receiver.begin({0.9e-11, 100, 1}, 0, settings);  // below the sensitivity
  EXPECT_FALSE(receiver.try_lock(0, demand_of(6), settings));
  receiver.begin({2e-11, 100, 2}, 0, settings);  // 3 dB above noise and the first one
  EXPECT_FALSE(receiver.try_lock(0, demand_of(6), settings));
  receiver.begin({9e-11, 100, 3}, 0, settings);
  EXPECT_TRUE(receiver.try_lock(0, demand_of(6), settings));
  EXPECT_FALSE(receiver.end(4, 100, settings));
  EXPECT_FALSE(receiver.end(3, 99, settings));
}

// ---- back-off -----------------------------------------------------------------------------------

/// Against counting slot by slot: a decision falls due at each boundary less the turnaround; if the
/// medium was noticed to be busy by then, the countdown keeps what it has.
TEST(WirelessCountdown, AgreesWithCountingSlotBySlot) {
  const Time idle = Time::zero() + Duration::microseconds(1000);
  for (const std::uint32_t slots : {0u, 1u, 2u, 7u}) {
    for (std::int64_t busy_ns = 900'000; busy_ns < 1'150'000; busy_ns += 500) {
      Countdown countdown;
      countdown.set(slots);
      const Time due = countdown.run(idle, idle);
      const Time busy = Time::from_ticks(busy_ns);
      std::uint32_t left = slots;
      Time decision = idle + wireless::kDifs - wireless::kTurnaround;
      bool decided = false;
      while (decision < busy + wireless::kCcaTime && !decided) {
        if (left == 0) {
          decided = true;
          break;
        }
        decision = decision + wireless::kSlot;
        if (decision < busy + wireless::kCcaTime) --left;
      }
      EXPECT_EQ(countdown.stop(busy), !decided) << slots << ' ' << busy_ns;
      EXPECT_EQ(countdown.running(), decided);
      if (decided)
        EXPECT_EQ(decision, due);
      else
        EXPECT_EQ(countdown.slots(), left) << slots << ' ' << busy_ns;
    }
  }
}

TEST(WirelessCountdown, NeverDecidesBeforeItMay) {
  Countdown countdown;
  countdown.set(0);
  const Time earliest = Time::zero() + Duration::microseconds(500);
  EXPECT_EQ(countdown.run(Time::zero(), earliest), earliest);
}

// ---- the network --------------------------------------------------------------------------------

wireless::Plan plan_of(const std::string& layout, std::uint32_t stations) {
  wireless::Plan plan;
  plan.layout = layout;
  plan.stations = stations;
  plan.loss = PathLoss::at(5.18e9, 3.0);
  plan.gateways = 3;
  return plan;
}
double usable_from_73_dbm(double power_w) {
  return power_w >= wireless::watts_of_dbm(-73.0) ? 1.0 : 0.0;
}

/// Every pair above the floor has its two links and no other pair has any.
TEST(WirelessNetwork, LinksAreThePairsAboveTheFloor) {
  for (const std::string layout : {"scatter", "grid", "random", "disc", "line"}) {
    const wireless::Plan plan = plan_of(layout, 90);
    const Network network(plan, usable_from_73_dbm);
    std::size_t pairs = 0;
    for (LpId a = 0; a < 90; ++a) {
      std::set<LpId> heard;
      for (const Link& link : network.links_of(a)) {
        EXPECT_EQ(link.from, a);
        EXPECT_TRUE(heard.insert(link.to).second);
        const auto from = network.position(a), to = network.position(link.to);
        const double metres = std::hypot(from.x - to.x, from.y - to.y);
        EXPECT_NEAR(10 * std::log10(link.power_w) + 30, 20 - plan.loss.db(metres), 1e-6);
        EXPECT_NEAR(static_cast<double>(link.delay.ticks()), metres / 0.299792458, 1.0);
      }
      for (LpId b = 0; b < 90; ++b) {
        const auto from = network.position(a), to = network.position(b);
        const double metres = std::hypot(from.x - to.x, from.y - to.y);
        EXPECT_EQ(heard.contains(b), a != b && 20 - plan.loss.db(metres) >= -95.0) << layout;
        pairs += heard.contains(b) ? 1 : 0;
      }
    }
    EXPECT_EQ(pairs, network.link_count());
  }
}

TEST(WirelessNetwork, RoutesLeadToTheDestinationOverUsableLinks) {
  wireless::Plan plan = plan_of("scatter", 120);
  plan.all_destinations = true;
  plan.shadowing_db = 4.0;
  const Network network(plan, usable_from_73_dbm);
  std::size_t found = 0;
  for (LpId from = 0; from < 120; ++from) {
    for (LpId to = 0; to < 120; ++to) {
      LpId at = from;
      int hops = 0;
      while (at != to && network.next_link(at, to) != wireless::kNoRoute) {
        const Link& link = network.link(network.next_link(at, to));
        ASSERT_EQ(link.from, at);
        ASSERT_GE(link.power_w, wireless::watts_of_dbm(-73.0));
        ASSERT_NE(link.port, wireless::kNoPort);
        ASSERT_LT(++hops, 120);
        at = link.to;
      }
      EXPECT_EQ(network.next_link(to, to), wireless::kNoRoute);
      if (at == to) ++found;
    }
  }
  EXPECT_GT(found, 120u * 100u);
}

/// On a line with one hop between neighbours the way is as long as the distance.
TEST(WirelessNetwork, PathsToTheGatewayAreShortest) {
  wireless::Plan plan = plan_of("line", 21);
  plan.gateways = 1;
  plan.spacing_m = 30;
  const Network network(plan, usable_from_73_dbm);
  ASSERT_TRUE(network.is_gateway(10));
  for (LpId id = 0; id < 21; ++id) {
    EXPECT_EQ(network.gateway_of(id), 10u);
    EXPECT_EQ(network.hops_to_gateway(id), static_cast<std::uint32_t>(std::abs(int(id) - 10)));
  }
}

TEST(WirelessNetwork, GatewaysAreAsManyAsAskedForAndTheDiscHasItsInTheMiddle) {
  for (const std::uint32_t gateways : {1u, 2u, 3u, 7u, 60u}) {
    wireless::Plan plan = plan_of("disc", 60);
    plan.gateways = gateways;
    const Network network(plan, usable_from_73_dbm);
    std::uint32_t count = 0;
    for (LpId id = 0; id < 60; ++id) count += network.is_gateway(id) ? 1 : 0;
    EXPECT_EQ(count, gateways);
    if (gateways == 1) {
      EXPECT_TRUE(network.is_gateway(0));
    }
  }
}

TEST(WirelessNetwork, TooManyPairsAreRefusedWithASentence) {
  wireless::Plan plan = plan_of("disc", 40);
  plan.spacing_m = 1;
  plan.maximum_links = 40 * 39;
  EXPECT_EQ(Network(plan, usable_from_73_dbm).link_count(), 40u * 39u);
  plan.maximum_links = 40 * 39 - 1;
  EXPECT_THROW(Network(plan, usable_from_73_dbm), UsageError);
}

// ---- ALOHA --------------------------------------------------------------------------------------

/// Stations round one gateway that all hear each other; an overlap destroys both frames, nothing is
/// acknowledged or repeated.
Settings aloha(const std::string& access, int senders) {
  return {{"access", access},  {"acknowledge", "no"}, {"reception", "collision"},
          {"layout", "disc"},  {"spacing", "2"},      {"stations", std::to_string(senders + 1)},
          {"gateways", "1"},   {"queue", "10000"},    {"processing", "1us"},
          {"warm_up", "100ms"}};
}

const wireless::Wireless& as_wireless(const Model& model) {
  return static_cast<const wireless::Wireless&>(model);
}

struct AlohaCase {
  bool slotted;
  int senders;
  double attempts;  // G: frames per slot or per airtime of a frame
};
void PrintTo(const AlohaCase& c, std::ostream* out) {
  *out << (c.slotted ? "slotted, " : "pure, ") << c.senders << " senders, G " << c.attempts;
}
class WirelessAloha : public ::testing::TestWithParam<AlohaCase> {};

/// With n independent senders that each transmit a share g = G / n of the time:
///   slotted   S = G (1 - g)^(n-1)              -> G exp(-G)
///   pure      S = G ((1 - g) exp(-g))^(n-1)    -> G exp(-2 G)
/// since another sender spares a frame if it sends nothing in its slot; or if it does not transmit
/// when the frame begins, and (Poisson) does not begin to during the frame. Ten seeds; the mean
/// must lie in the confidence interval of level 99.9 % around the formula for n.
TEST_P(WirelessAloha, ThroughputIsThatOfTheClosedForm) {
  const AlohaCase& c = GetParam();
  Settings settings = aloha(c.slotted ? "slotted_aloha" : "aloha", c.senders);
  const auto probe = prepared_model("wireless", settings);
  const Duration unit =
      c.slotted ? as_wireless(*probe).exchange_slot() : as_wireless(*probe).data_airtime(1000);
  const double share = c.attempts / c.senders;
  settings.emplace_back("load", std::to_string(8.0 * share / unit.to_seconds()));
  const double units = 3000.0;
  const Duration until = Duration::milliseconds(100) + 3000 * unit;
  Summary offered, carried;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Simulation run("wireless", settings, until, seed);
    offered.add(run.metric("attempts").sum / units);
    carried.add(run.metric("received").sum / units);
  }
  const double spared = c.slotted ? 1 - share : (1 - share) * std::exp(-share);
  const double expected = c.attempts * std::pow(spared, c.senders - 1);
  const double width = kStudent9At999 / std::sqrt(10.0);
  EXPECT_NEAR(offered.mean(), c.attempts, width * offered.deviation());
  EXPECT_NEAR(carried.mean(), expected, width * carried.deviation());
  EXPECT_LT(width * carried.deviation(), 0.12 * expected);  // an interval that says something
  const double limit = c.attempts * std::exp(c.slotted ? -c.attempts : -2 * c.attempts);
  EXPECT_NEAR(expected, limit, 0.06 * limit);  // and few senders are nearly as good as many
}

INSTANTIATE_TEST_SUITE_P(Loads, WirelessAloha,
                         ::testing::Values(AlohaCase{true, 24, 0.3}, AlohaCase{true, 24, 1.0},
                                           AlohaCase{true, 30, 1.6}, AlohaCase{false, 24, 0.25},
                                           AlohaCase{false, 24, 0.5}, AlohaCase{false, 30, 1.0}));

/// The textbook's number: at one frame a slot, 1/e of the slots carry one.
TEST(WirelessAlohaLimit, SlottedAlohaCarriesAtMostOneOverE) {
  Settings settings = aloha("slotted_aloha", 60);
  const auto probe = prepared_model("wireless", settings);
  const Duration slot = as_wireless(*probe).exchange_slot();
  const auto carried = [&](double attempts) {
    Settings loaded = settings;
    loaded.emplace_back("load", std::to_string(8.0 * attempts / 60 / slot.to_seconds()));
    const Simulation run("wireless", loaded, Duration::milliseconds(100) + 4000 * slot);
    return run.metric("received").sum / 4000;
  };
  const double best = carried(1.0);
  EXPECT_NEAR(best, std::exp(-1.0), 4 * std::sqrt(0.37 * 0.63 / 4000));
  EXPECT_GT(best, carried(0.4) + 0.05);
  EXPECT_GT(best, carried(2.0) + 0.05);
}

// ---- carrier sense ------------------------------------------------------------------------------

class WirelessLink : public ::testing::TestWithParam<int> {};

/// One sender, always with a packet: DIFS, 7.5 slots on average, frame, SIFS, acknowledgement, and
/// twice the propagation (Xiao and Rosdahl, "Throughput and delay limits of IEEE 802.11", IEEE
/// Communications Letters 6(8), 2002).
TEST_P(WirelessLink, SaturationThroughputIsTheComputedOne) {
  const Settings settings = {{"stations", "2"},
                             {"gateways", "1"},
                             {"layout", "line"},
                             {"spacing", "6"},
                             {"load", "60000"},
                             {"warm_up", "50ms"},
                             {"rate", std::to_string(GetParam())},
                             {"processing", "1us"}};
  const Simulation run("wireless", settings, Duration::milliseconds(3050));
  const wireless::Rate& rate = wireless::rate_of(GetParam());
  const Duration exchange = wireless::kDifs + airtime(rate, 1036) + wireless::kSifs +
                            airtime(wireless::acknowledgement_rate(rate), 14) +
                            Duration::nanoseconds(2 * 20);
  const double cycle_us = static_cast<double>(exchange.ticks()) / 1e3 + 7.5 * 9;
  // The only chance is in the back-off: uniform over 0 to 15 slots, deviation 4.61 of them.
  const double cycles = 3e6 / cycle_us;
  const double tolerance = 4 * 4.61 * 9 / cycle_us / std::sqrt(cycles) + 1 / cycles;
  EXPECT_NEAR(run["throughput"] / (8000 / cycle_us), 1.0, tolerance);
  EXPECT_LT(tolerance, 0.01);
  EXPECT_EQ(run.metric("failed").sum, 0);
  EXPECT_EQ(run.metric("hops").mean(), 1.0);
}

INSTANTIATE_TEST_SUITE_P(Rates, WirelessLink, ::testing::Values(6, 12, 24, 54));

/// Bianchi, "Performance analysis of the IEEE 802.11 distributed coordination function", IEEE J.
/// Selected Areas in Communications 18(3), 2000: n saturated stations in range of each other. A
/// collision lasts as long as a success, since stations that cannot decode wait for EIFS.
double bianchi_throughput_mbps(int n, Duration frame, Duration ack, double bits) {
  constexpr double kWindow = 16, kStages = 6;
  double low = 0,
         high = 1;  // of the collision probability: what is assumed rises, what results falls
  double attempt = 0;
  for (int i = 0; i < 100; ++i) {
    const double p = (low + high) / 2;
    double sum = 0;  // 1 + p W sum of (2p)^i: the form without division by 1 - 2p
    for (int stage = 0; stage < kStages; ++stage) sum += std::pow(2 * p, stage);
    attempt = 2 / (1 + kWindow + p * kWindow * sum);
    (1 - std::pow(1 - attempt, n - 1) > p ? low : high) = p;
  }
  const double idle = std::pow(1 - attempt, n);
  const double success = n * attempt * std::pow(1 - attempt, n - 1);
  const double busy_us =
      static_cast<double>((frame + wireless::kSifs + ack + wireless::kDifs).ticks()) / 1e3;
  return success * bits / (idle * 9 + (1 - idle) * busy_us);
}

class WirelessContention : public ::testing::TestWithParam<int> {};

TEST_P(WirelessContention, SaturationThroughputIsThatOfBianchi) {
  const int senders = GetParam();
  const double throughput = saturated_wireless_mbps(static_cast<unsigned>(senders));
  const double expected = bianchi_throughput_mbps(senders, airtime(wireless::rate_of(12), 1036),
                                                  airtime(wireless::rate_of(12), 14), 8000);
  EXPECT_NEAR(throughput / expected, 1.0, 0.03) << throughput << ' ' << expected;
}

INSTANTIATE_TEST_SUITE_P(Senders, WirelessContention, ::testing::Values(3, 10, 25));

/// Two stations on either side of a gateway: while they sense each other few frames collide; if
/// they are deaf to each other, many do.
TEST(WirelessContention, HiddenStationsCollide) {
  const Settings base = {{"stations", "3"}, {"gateways", "1"},         {"layout", "line"},
                         {"spacing", "30"}, {"link_margin", "3"},      {"load", "2000"},
                         {"rate", "12"},    {"reception", "threshold"}};
  const Simulation sensing("wireless", with(base, {{"carrier_sense", "-85"}}),
                           Duration::seconds(2));
  const Simulation deaf("wireless", with(base, {{"carrier_sense", "-75"}}), Duration::seconds(2));
  EXPECT_LT(sensing["loss_ratio"], 0.1);
  EXPECT_GT(deaf["loss_ratio"], 0.3);
  EXPECT_GT(sensing["throughput"], deaf["throughput"]);
}

/// Without other stations, what is lost is lost to noise: the error rate of one link by hand.
TEST(WirelessLoss, AloneALinkLosesWhatItsSignalToNoiseRatioSays) {
  const double metres = 54.0;
  const Settings settings = {{"stations", "2"},     {"gateways", "1"},   {"layout", "line"},
                             {"spacing", "54"},     {"load", "2000"},    {"rate", "12"},
                             {"acknowledge", "no"}, {"link_margin", "0"}};
  const Simulation run("wireless", settings, Duration::seconds(8));
  const double snr = std::pow(10.0, (20 - PathLoss::at(5.18e9, 3.0).db(metres) + 91.0) / 10);
  const auto wrong = [&](double required_db) {
    return 0.5 * std::exp(-wireless::kErrorSlope * snr / std::pow(10.0, required_db / 10));
  };
  // 716 us: 20 us of preamble at 6 Mb/s, then 12 Mb/s.
  const double success = std::pow(1 - wrong(9.0), 120) * std::pow(1 - wrong(12.0), 8352);
  const double attempts = run.metric("attempts").sum;
  EXPECT_NEAR(run.metric("received").sum / attempts, success,
              4 * std::sqrt(success * (1 - success) / attempts));
  EXPECT_LT(success, 0.97);
  EXPECT_EQ(run.metric("collisions").sum + run.metric("missed").sum, 0);
  EXPECT_GT(run.metric("noise_losses").sum, 20);
}

// ---- nothing gets lost --------------------------------------------------------------------------

/// Every frame for a station is received, or lost in one of three ways, or still on the air.
TEST(WirelessConservation, EveryFrameHasExactlyOneFate) {
  for (const std::string access : {"csma", "aloha", "slotted_aloha"}) {
    for (const std::string acknowledge : {"yes", "no"}) {
      const Simulation run("wireless",
                           {{"stations", "60"},
                            {"load", "60"},
                            {"access", access},
                            {"acknowledge", acknowledge},
                            {"fading", "rayleigh"}},
                           Duration::seconds(1));
      const double fates = run.metric("received").sum + run.metric("collisions").sum +
                           run.metric("noise_losses").sum + run.metric("missed").sum;
      EXPECT_LE(fates, run.metric("attempts").sum) << access;
      EXPECT_GE(fates, run.metric("attempts").sum - 30) << access;
      EXPECT_GT(run.metric("received").sum, 50) << access;
    }
  }
}

/// Packets are delivered once, or given up, or still on their way. (One that is given up may have
/// been delivered: its acknowledgements got lost.)
TEST(WirelessConservation, EveryPacketComesOnceOrIsGivenUp) {
  for (const std::string traffic : {"gateway", "random"}) {
    const Simulation run("wireless",
                         {{"stations", "80"},
                          {"load", "20"},
                          {"traffic", traffic},
                          {"small_share", "0.5"},
                          {"shadowing", "4"}},
                         Duration::seconds(2));
    const double generated = run.metric("generated").sum, delivered = run.metric("delivered").sum;
    const double lost = run.metric("queue_drops").sum + run.metric("retry_drops").sum +
                        run.metric("unreachable").sum;
    EXPECT_LE(delivered, generated);
    EXPECT_GE(delivered + lost, generated - 200) << traffic;  // 80 queues and what is on the way
    EXPECT_GT(delivered, 0.5 * generated) << traffic;
    EXPECT_EQ(run.metric("delay").count, static_cast<std::uint64_t>(delivered));
    double rows = 0;
    for (const auto& line : run.table("stations")) rows += line.at("delivered");
    EXPECT_EQ(rows, delivered);
    for (const auto& line : run.table("links"))
      EXPECT_LE(line.at("acknowledged"), line.at("attempts"));
  }
}

TEST(WirelessTraffic, OfferedLoadIsTheOneAskedFor) {
  const Simulation run(
      "wireless", {{"stations", "50"}, {"load", "20"}, {"small_share", "0.5"}, {"gateways", "1"}},
      Duration::seconds(6));
  // 49 sources, 20 kb/s, 8 * 580 bits on average.
  const double expected = 49 * 20e3 * 6 / (8 * 580);
  EXPECT_NEAR(run.metric("generated").sum, expected, 4 * std::sqrt(expected));
}

// ---- what engines are promised ------------------------------------------------------------------

/// Every event has the duration that the protocol gives it, none is an ordinary one, and nobody
/// sends to another station sooner than the lookahead says.
TEST(WirelessPromises, DurationsAndLookaheadAreKept) {
  const std::map<std::string, Duration> durations = {
      {"Generate", Duration::microseconds(30)},       {"Relay", Duration::microseconds(30)},
      {"FrameReady", Duration::microseconds(2)},      {"Access", Duration::microseconds(2)},
      {"SignalStart", Duration::microseconds(4)},     {"SignalEnd", Duration::microseconds(16)},
      {"TransmissionOver", Duration::microseconds(2)}};
  for (const std::string access : {"csma", "aloha", "slotted_aloha"}) {
    const auto model =
        prepared_model("wireless", {{"access", access}, {"processing", "30us"}, {"load", "100"}});
    const EventRecorder recorder(*model, Time::zero() + Duration::milliseconds(100));
    std::set<std::string> seen;
    for (const auto& event : recorder.handled()) {
      ASSERT_EQ(event.end - event.start, durations.at(event.type)) << event.type;
      seen.insert(event.type);
    }
    EXPECT_EQ(seen.size(), durations.size()) << access;
    EXPECT_GE(recorder.shortest_delay_to_others(), model->lookahead()) << access;
  }
}

/// What the durations are for: many events are independent.
TEST(WirelessPromises, ManyEventsAreIndependent) {
  const auto model = prepared_model("wireless", {});
  const EventRecorder recorder(*model, Time::zero() + Duration::milliseconds(100));
  EXPECT_GT(recorder.mean_independent(), 20.0);
}

// ---- engines, refusals --------------------------------------------------------------------------

class WirelessEngines : public ::testing::TestWithParam<Settings> {};

TEST_P(WirelessEngines, CommitTheSame) {
  expect_same_on_all_engines(
      "wireless", with({{"stations", "36"}, {"load", "60"}, {"warm_up", "10ms"}}, GetParam()),
      Duration::milliseconds(120));
}

INSTANTIATE_TEST_SUITE_P(
    Variants, WirelessEngines,
    ::testing::Values(Settings{}, Settings{{"access", "aloha"}},
                      Settings{{"access", "slotted_aloha"}, {"acknowledge", "no"}},
                      Settings{{"traffic", "random"}, {"shadowing", "6"}, {"small_share", "0.5"}},
                      Settings{{"fading", "rayleigh"}, {"reception", "threshold"}},
                      Settings{{"reception", "collision"}, {"layout", "random"}, {"queue", "2"}},
                      Settings{{"work", "300"}, {"channel_work", "50"}, {"load", "20"}}));

/// Work takes time but changes nothing.
TEST(WirelessWork, LeavesTheResultAsItIs) {
  const Settings base = {{"stations", "25"}};
  const Simulation idle("wireless", base, Duration::milliseconds(200));
  const Simulation busy("wireless", with(base, {{"work", "500"}, {"channel_work", "100"}}),
                        Duration::milliseconds(200));
  EXPECT_EQ(idle.outcome().result.fingerprint, busy.outcome().result.fingerprint);
}

TEST(WirelessParameters, WrongOnesAreRefusedWithASentence) {
  EXPECT_NE(
      refusal("wireless", {{"stations", "9"}, {"gateways", "10"}}).find("a gateway is one of"),
      std::string::npos);
  EXPECT_NE(refusal("wireless", {{"stations", "5000"}, {"traffic", "random"}})
                .find("use traffic=gateway"),
            std::string::npos);
  EXPECT_NE(refusal("wireless", {{"floor", "-70"}}).find("choose a lower floor"),
            std::string::npos);
  for (const Settings& settings :
       {Settings{{"rate", "11"}}, Settings{{"access", "tdma"}}, Settings{{"load", "-1"}},
        Settings{{"payload", "0"}}, Settings{{"processing", "0s"}}, Settings{{"stations", "1"}}})
    EXPECT_NE(refusal("wireless", settings), "accepted");
}

/// Without load nothing happens, and no share of nothing is anything but 0.
TEST(WirelessParameters, NoLoadIsSilence) {
  const Simulation run("wireless", {{"load", "0"}, {"acknowledge", "no"}}, Duration::seconds(1));
  EXPECT_EQ(run.outcome().result.committed, 0u);
  EXPECT_EQ(run["throughput"], 0.0);
  EXPECT_EQ(run["loss_ratio"], 0.0);
}

}  // namespace
}  // namespace orrery::testing
