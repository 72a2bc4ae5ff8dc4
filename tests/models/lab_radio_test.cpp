// SPDX-License-Identifier: Apache-2.0
//
// The laboratory's radio channel: where stations are (tracks, files of ns-2), who hears whom, and
// that it carries what the model `wireless` and the formulas say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "../../models/lab/movement.h"
#include "../../models/lab/radio.h"
#include "../../models/lab/radio_channel.h"
#include "models/lab_times.h"
#include "models/saturated_wireless.h"
#include "orrery/error.h"

namespace orrery::lab::testing {
namespace {

// ---- Tracks

TEST(LabTrack, GoesStraightFromPointToPointAndJumps) {
  Track track;
  for (const char* const text : {"1s 0 0", "3s 10 20", "4s 10 20", "4s 0 5"})
    EXPECT_EQ(add_waypoint(track, text), "");
  EXPECT_DOUBLE_EQ(track.at(0).x, 0);
  EXPECT_DOUBLE_EQ(track.at(2 * kSecond).x, 5);
  EXPECT_DOUBLE_EQ(track.at(2 * kSecond).y, 10);
  EXPECT_DOUBLE_EQ(track.at(3 * kSecond + 1).y, 20);
  EXPECT_DOUBLE_EQ(track.at(4 * kSecond).y, 5);
  EXPECT_EQ(track.rests_until(0), kSecond);
  EXPECT_EQ(track.rests_until(2 * kSecond), 2 * kSecond) << "it moves";
  EXPECT_EQ(track.rests_until(3 * kSecond + 7), 4 * kSecond);
  EXPECT_EQ(track.rests_until(5 * kSecond), Track::kNever);
}

TEST(LabTrack, NamesWhatIsNoWaypoint) {
  Track track;
  EXPECT_NE(add_waypoint(track, "1s 5"), "");
  EXPECT_NE(add_waypoint(track, "1s 5 6 7"), "");
  EXPECT_NE(add_waypoint(track, "soon 5 6"), "");
  EXPECT_EQ(add_waypoint(track, "2s 5 6"), "");
  EXPECT_NE(add_waypoint(track, "1s 5 6"), "") << "before the last";
}

class LabRadioFile : public ::testing::Test {
 protected:
  LabRadioFile() { std::filesystem::create_directories(folder_); }
  ~LabRadioFile() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& text) {
    const auto path = folder_ / "file";
    std::ofstream(path) << text;
    return path.string();
  }
  template <class Read>
  std::string mistake(const std::string& text, Read&& read) {
    try {
      read(file(text));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      ("orrery-radio-" +
       std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(LabRadioFile, OfNs2SaysWhereNodesGo) {
  const auto tracks = read_ns2_movement(file(R"(# a scenario
set god_ [God instance]
$node_(0) set X_ 10.0
$node_(0) set Y_ 20.0
$node_(0) set Z_ 0.000000000000
$node_(1) set X_ 1e2
$node_(1) set Y_ 0
$god_ set-dist 0 1 2
$ns_ at 2.0 "$node_(0) setdest 30.0 20.0 10.0"
$ns_ at 3.0 "$node_(0) setdest 20.0 40.0 5.0"
$ns_ at 5.0 "$god_ set-dist 0 1 1"
)"),
                                        3);
  ASSERT_EQ(tracks.size(), 3U);
  EXPECT_TRUE(tracks[2].is_empty());
  EXPECT_DOUBLE_EQ(tracks[1].at(kSecond).x, 100);
  EXPECT_DOUBLE_EQ(tracks[0].at(kSecond).x, 10);
  EXPECT_DOUBLE_EQ(tracks[0].at(2 * kSecond + kSecond / 2).x, 15);
  EXPECT_DOUBLE_EQ(tracks[0].at(3 * kSecond).x, 20) << "half way, and then somewhere else";
  EXPECT_DOUBLE_EQ(tracks[0].at(5 * kSecond).x, 20);
  EXPECT_DOUBLE_EQ(tracks[0].at(5 * kSecond).y, 30);
  EXPECT_DOUBLE_EQ(tracks[0].at(9 * kSecond).y, 40);
}

TEST_F(LabRadioFile, OfNs2WalksExactlyStandsStillAndJumps) {
  const auto tracks = read_ns2_movement(file(R"($node_(0) set X_ 40
$node_(0) set Y_ 500
$node_(1) set X_ 0
$node_(1) set Y_ 10
$ns_ at 0 "$node_(0) setdest 500 200 0.62"
$ns_ at 1 "$node_(1) setdest 100 10 10"
$ns_ at 3 "$node_(1) setdest 100 10 0"
$ns_ at 5 "$node_(1) set X_ 100"
$ns_ at 6 "$node_(1) setdest 100 60 10"
$ns_ at 6.5 "$node_(1) set Z_ 5"
$ns_ at 7 "$node_(1) set Y_ 5";
$ns_ at 0.0 "$node_(2) set X_ 7"
$ns_ at 0.0 "$node_(2) set Y_ 8"
)"),
                                        3);
  EXPECT_NEAR(tracks[0].at(100 * kSecond).x, 91.9, 0.05);
  EXPECT_NEAR(tracks[0].at(100 * kSecond).y, 466.1, 0.05);
  const Track& one = tracks[1];
  EXPECT_DOUBLE_EQ(one.at(2 * kSecond).x, 10);
  EXPECT_DOUBLE_EQ(one.at(5 * kSecond - 1).x, 20) << "speed 0: it stands where it is";
  EXPECT_EQ(one.rests_until(4 * kSecond), 5 * kSecond);
  EXPECT_DOUBLE_EQ(one.at(5 * kSecond).x, 100) << "a jump";
  EXPECT_DOUBLE_EQ(one.at(5 * kSecond).y, 10) << "along one axis";
  EXPECT_NEAR(one.at(7 * kSecond - 1).y, 20, 1e-6);
  EXPECT_DOUBLE_EQ(one.at(7 * kSecond).y, 5) << "and a jump ends a walk";
  EXPECT_EQ(one.rests_until(7 * kSecond), Track::kNever);
  EXPECT_DOUBLE_EQ(tracks[2].at(0).x, 7) << "at 0 s a jump is where it begins";
  EXPECT_DOUBLE_EQ(tracks[2].at(0).y, 8);
}

TEST_F(LabRadioFile, OfNs2IsRefusedWithItsLine) {
  const auto read = [](const std::string& path) { read_ns2_movement(path, 2); };
  EXPECT_NE(mistake("\n$node_(5) set X_ 1\n", read).find(":2: there is a node 5"),
            std::string::npos);
  EXPECT_NE(mistake("$ns_ at 1 \"$node_(0) setdest 1 2 3\"\n", read).find(":1: node 0 goes"),
            std::string::npos);
  EXPECT_NE(mistake("$ns_ at 1 \"$node_(0) set X_ 2\"\n", read).find(":1: node 0 goes"),
            std::string::npos);
  EXPECT_NE(mistake("$node_(0) set X_ 1\n$ns_ at 1 \"$node_(0) setdest 1 2 -3\"\n", read)
                .find(":2: the speed -3 is negative"),
            std::string::npos);
  EXPECT_NE(mistake("$node_(0) setdest 1 2 3\n", read).find(":1: a line of"), std::string::npos);
  EXPECT_NE(mistake("hello\n", read).find(":1: a line of a movement file is"), std::string::npos);
  EXPECT_NE(mistake("$node_(0) set X_ 1.2.3\n", read).find("is no number"), std::string::npos);
}

TEST_F(LabRadioFile, OfConnectivityHasARowForEachStation) {
  const auto all = read_connectivity(file("at 0s  # first\n0 1\n0.5 0\n\nat 10ms\n0 0\n1 0\n"), 2);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].shares, (std::vector<double>{0, 1, 0.5, 0}));
  EXPECT_EQ(all[1].from_ns, 10 * kMs);
  const auto read = [](const std::string& path) { read_connectivity(path, 2); };
  EXPECT_NE(mistake("at 1s\n0 1\n1 0\n", read).find("begins with 'at 0s'"), std::string::npos);
  EXPECT_NE(mistake("at 0s\n0 1 1\n", read).find(":2: a row has a number for each of the 2"),
            std::string::npos);
  EXPECT_NE(mistake("at 0s\n0 2\n", read).find("from 0 to 1"), std::string::npos);
  EXPECT_NE(mistake("at 0s\n0 1\nat 1s\n", read).find(":3: the table before"), std::string::npos);
}

// ---- The channel

using Address = RadioChannel::Address;

Address address_of(unsigned station) {
  return {2, 0, 0, 0, 0, static_cast<std::uint8_t>(station)};
}
constexpr Address kBroadcast = {255, 255, 255, 255, 255, 255};

/// Stations whose hosts are this object: it notes what they get, and gives those that are saturated
/// a new frame for each that is gone.
class Air final : public RadioChannel::Listener {
 public:
  struct Got {
    unsigned station;
    std::int64_t time;
    unsigned from;
    std::size_t bytes;
    bool operator==(const Got&) const = default;
  };

  explicit Air(Radio radio, std::uint64_t seed = 1)
      : radio_(std::move(radio)),
        channel_(radio_, addresses(radio_.stations()), keys(radio_.stations(), seed), *this) {}

  void send(unsigned from, std::int64_t time, const Address& to, std::size_t payload) {
    std::vector<std::byte> frame;
    for (const std::uint8_t one : to) frame.push_back(std::byte{one});
    for (const std::uint8_t one : address_of(from)) frame.push_back(std::byte{one});
    frame.resize(14 + payload);
    channel_.arrive(from, time, frame);
  }
  void run(std::int64_t until, std::int64_t step = kSecond) {
    for (std::int64_t at = 0; at < until; at += step) channel_.advance(std::min(at + step, until));
  }
  const RadioChannel& channel() const { return channel_; }

  std::vector<Got> got;
  std::vector<RadioChannel::Transmission> sent;
  std::vector<std::pair<unsigned, RadioChannel::Drop>> drops;

 private:
  static std::vector<Address> addresses(std::size_t stations) {
    std::vector<Address> all;
    for (unsigned i = 0; i < stations; ++i) all.push_back(address_of(i));
    return all;
  }
  static std::vector<std::uint64_t> keys(std::size_t stations, std::uint64_t seed) {
    std::vector<std::uint64_t> all;
    for (std::uint64_t i = 0; i < stations; ++i) all.push_back(seed << 32 | i);
    return all;
  }
  void received(unsigned station, std::int64_t time, std::span<const std::byte> frame) override {
    got.push_back({station, time, std::to_integer<unsigned>(frame[11]), frame.size()});
  }
  void transmitted(const RadioChannel::Transmission& one) override { sent.push_back(one); }
  void dropped(unsigned station, RadioChannel::Drop why, std::size_t) override {
    drops.emplace_back(station, why);
  }

  const Radio radio_;
  RadioChannel channel_;
};

Radio stations_at(std::initializer_list<double> places) {
  Radio radio;
  for (const double x : places) radio.tracks.emplace_back(Place{x, 0});
  return radio;
}

/// A frame for one station by hand: 2 us of the MAC, the first slot boundary after DIFS, 12 Mbit/s.
TEST(LabRadio, AFrameTakesWhatTheStandardSays) {
  Air air(stations_at({0, 10}));
  air.send(0, kMs, address_of(1), 1000);
  air.run(kSecond);
  ASSERT_EQ(air.got.size(), 1U);
  ASSERT_EQ(air.sent.size(), 1U);
  EXPECT_EQ(air.sent[0].tries, 1U);
  EXPECT_EQ(air.sent[0].heard, 1U);
  EXPECT_EQ(air.sent[0].airtime_ns, 716 * kUs);  // 20 + 4 ceil((16 + 8 (1000 + 36) + 6) / 48)
  const std::int64_t since = air.sent[0].begin_ns - (kMs + 4 * kUs);
  EXPECT_EQ(since % (9 * kUs), 0) << "a slot boundary";
  EXPECT_LE(since, 15 * 9 * kUs);
  EXPECT_EQ(air.got[0].time, air.sent[0].begin_ns + 716 * kUs + 33 + 16 * kUs) << "10 m are 33 ns";
  EXPECT_EQ(air.channel().counts(0).failed, 0U);
  EXPECT_EQ(air.channel().next(), RadioChannel::kNever) << "and it is quiet again";
}

TEST(LabRadio, AFrameForAllIsSentOnceAtTheBroadcastRate) {
  Air air(stations_at({0, 10, 20, 5000}));
  air.send(1, kMs, kBroadcast, 100);
  air.run(kSecond);
  ASSERT_EQ(air.sent.size(), 1U);
  EXPECT_EQ(air.sent[0].to, RadioChannel::kAll);
  EXPECT_EQ(air.sent[0].heard, 2U) << "the last is far away";
  EXPECT_EQ(air.sent[0].airtime_ns, 208 * kUs);  // 20 + 4 ceil((16 + 8 * 136 + 6) / 24)
  ASSERT_EQ(air.got.size(), 2U);
}

TEST(LabRadio, AFrameForNobodyIsGivenUp) {
  Radio radio = stations_at({0, 10});
  radio.retries = 4;
  Air air(radio);
  air.send(0, kMs, address_of(9), 100);
  air.run(kSecond);
  EXPECT_EQ(air.sent.size(), 4U);
  EXPECT_EQ(air.got.size(), 0U);
  ASSERT_EQ(air.drops.size(), 1U);
  EXPECT_EQ(air.drops[0].second, RadioChannel::Drop::given_up);
}

TEST(LabRadio, AnAddressThatAHostSendsFromIsItsOwn) {
  Air air(stations_at({0, 10}));
  std::vector<std::byte> frame(60);
  frame[5] = std::byte{1};  // to station 1, which has no other address:
  frame[0] = std::byte{2};
  frame[6] = std::byte{2}, frame[7] = std::byte{0xaa};  // from an address of its own
  const_cast<RadioChannel&>(air.channel()).arrive(0, kMs, frame);
  air.run(10 * kMs);
  air.send(1, 11 * kMs, {2, 0xaa, 0, 0, 0, 0}, 50);
  air.run(kSecond);
  ASSERT_EQ(air.got.size(), 2U);
  EXPECT_EQ(air.got[1].station, 0U);
}

TEST(LabRadio, WhoMovesIsHeardWhereHeIs) {
  Radio radio = stations_at({0});
  Track track(Place{1000, 0});
  EXPECT_EQ(add_waypoint(track, "1s 1000 0"), "");
  EXPECT_EQ(add_waypoint(track, "1s 10 0"), "");
  EXPECT_EQ(add_waypoint(track, "3s 10 0"), "");
  EXPECT_EQ(add_waypoint(track, "4s 1000 0"), "");
  radio.tracks.push_back(track);
  Air air(radio);
  for (int i = 1; i <= 10; ++i) air.send(0, i * kSecond / 2, kBroadcast, 100);
  air.run(6 * kSecond);
  std::vector<std::int64_t> halves;
  for (const auto& one : air.got) halves.push_back(one.time * 2 / kSecond);
  EXPECT_EQ(halves, (std::vector<std::int64_t>{2, 3, 4, 5, 6}));
}

TEST(LabRadio, ATableSaysWhoHearsWhomAndWhatShare) {
  Radio radio = stations_at({0, 0, 0});
  radio.queue = 2'000;
  radio.connectivity = {{0, {0, 1, 0, 1, 0, 0.25, 0, 1, 0}},
                        {10 * kSecond, {0, 0, 1, 0, 0, 0, 1, 0, 0}}};
  Air air(radio);
  for (int i = 0; i < 1'000; ++i) air.send(1, i * 5 * kMs, kBroadcast, 100);
  air.send(0, 11 * kSecond, kBroadcast, 100);
  air.run(12 * kSecond);
  const auto count = [&](unsigned station, unsigned from) {
    return std::count_if(air.got.begin(), air.got.end(), [&](const Air::Got& one) {
      return one.station == station && one.from == from;
    });
  };
  EXPECT_EQ(count(0, 1), 1'000);
  EXPECT_NEAR(static_cast<double>(count(2, 1)), 250, 4 * std::sqrt(1000 * 0.25 * 0.75));
  EXPECT_EQ(count(2, 0), 1);
  EXPECT_EQ(count(1, 0), 0);
}

TEST(LabRadio, AStateThatChangesHoldsFromItsTimeOn) {
  Radio radio = stations_at({0, 60});
  radio.states.push_back(radio.states[0]);
  radio.states[1].from_ns = kSecond;
  radio.states[1].power_dbm = -10;
  radio.states.push_back(radio.states[0]);
  radio.states[2].from_ns = 2 * kSecond;
  radio.states[2].broadcast_rate = &wireless::rate_of(24);
  radio.states[2].power_dbm = 30;
  Air air(radio);
  for (int i = 0; i < 3; ++i) air.send(0, i * kSecond + kMs, kBroadcast, 100);
  air.run(3 * kSecond);
  ASSERT_EQ(air.sent.size(), 3U);
  EXPECT_EQ(air.sent[0].heard, 1U);
  EXPECT_EQ(air.sent[1].heard, 0U);
  EXPECT_EQ(air.sent[2].heard, 1U);
  EXPECT_LT(air.sent[2].airtime_ns, air.sent[0].airtime_ns);
}

/// What is done does not depend on how far the channel goes at once, nor on when it hears of what
/// arrives later.
TEST(LabRadio, IsTheSameInSteps) {
  const auto run = [](std::int64_t step, std::int64_t ahead) {
    Radio radio = stations_at({0, 20, 40, 60, 80});
    radio.fading = true;
    Air air(radio, 7);
    const auto due = [](int i) { return i * 150 * kUs; };
    int next = 0;
    for (std::int64_t at = 0; at < kSecond; at += step) {
      for (; next < 3'000 && due(next) < at + step + ahead; ++next)
        air.send(static_cast<unsigned>(next % 5), due(next),
                 next % 7 == 0 ? kBroadcast : address_of(static_cast<unsigned>((next + 1) % 5)),
                 200);
      const_cast<RadioChannel&>(air.channel()).advance(at + step);
    }
    EXPECT_GT(air.got.size(), 1'000U);
    EXPECT_LT(air.got.size(), 6'000U);
    return air.got;
  };
  const auto once = run(kSecond, 0);
  EXPECT_EQ(once, run(kUs, 0));
  EXPECT_EQ(once, run(17 * kUs, kMs));
}

double saturated_mbps(unsigned senders, std::size_t payload, std::int64_t seconds) {
  Radio radio;
  for (unsigned i = 0; i <= senders; ++i)
    radio.tracks.emplace_back(Place{std::cos(i), std::sin(i)});
  radio.reception = wireless::Judgement::collision;
  radio.retries = 255;
  radio.queue = 1'000'000;
  Air air(radio, 3);
  // More than it can carry, from the start.
  const auto frames = static_cast<std::size_t>(seconds) * 1'300;
  for (unsigned i = 1; i <= senders; ++i)
    for (std::size_t k = 0; k < frames; ++k) air.send(i, kMs, address_of(0), payload);
  air.run(seconds * kSecond);
  return static_cast<double>(air.got.size()) * static_cast<double>(payload) * 8 /
         static_cast<double>(seconds) / 1e6;
}

class LabRadioSaturated : public ::testing::TestWithParam<unsigned> {};

/// The model `wireless` with the same stations and frames.
TEST_P(LabRadioSaturated, CarriesWhatTheModelWirelessDoes) {
  const unsigned senders = GetParam();
  const double expected = orrery::testing::saturated_wireless_mbps(senders);
  EXPECT_NEAR(saturated_mbps(senders, 1000, 4) / expected, 1.0, 0.02);
}

INSTANTIATE_TEST_SUITE_P(Senders, LabRadioSaturated, ::testing::Values(1, 3, 10, 25));

/// Two that do not hear each other send to one between them at the same time. At the same distance
/// neither is understood; of two whose powers differ by 12 dB the stronger is, if it is not the
/// later (capture).
TEST(LabRadio, HiddenStationsCollideAndTheStrongerIsCaptured) {
  const auto heard = [](double left, double right) {
    Radio radio = stations_at({-left, 0, right});
    radio.reception = wireless::Judgement::threshold;
    radio.states[0].path_loss = 4;
    radio.states[0].carrier_sense_dbm = -60;
    int count = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      Air air(radio, seed);
      for (const unsigned from : {0U, 2U}) air.send(from, kMs, kBroadcast, 1000);
      air.run(kSecond);
      count += static_cast<int>(air.got.size());
    }
    return count;
  };
  EXPECT_LE(heard(18, 18), 4) << "out of 200";
  EXPECT_NEAR(heard(9, 18), 60, 25) << "the stronger, if it is the first";
}

}  // namespace
}  // namespace orrery::lab::testing
