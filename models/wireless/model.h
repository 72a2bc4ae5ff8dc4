// SPDX-License-Identifier: Apache-2.0
//
// The wireless mesh as a model: parameters, results, and the data that all stations share (network,
// receiver settings, durations of frames). station.h has the stations.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "../common/phy.h"
#include "../common/reception.h"
#include "network.h"
#include "orrery/orrery.h"

namespace wireless {

using orrery::Column;
using orrery::ColumnType;
using orrery::Metric;
using orrery::Parameter;
using orrery::Time;

enum class AccessMode : std::uint8_t { csma, aloha, slotted_aloha };

class Wireless final : public orrery::Model {
 public:
  // Positions of stations.
  Parameter<std::int64_t> stations{
      *this, "stations", 100, {.help = "stations (LPs)", .minimum = 2, .maximum = 1 << 16}};
  Parameter<std::string> layout{
      *this,
      "layout",
      "scatter",
      {.help = "scatter: a square grid with each station moved at random; grid; random: evenly in "
               "the square; disc: evenly in a disc round station 0; line",
       .choices = {"scatter", "grid", "random", "disc", "line"}}};
  Parameter<double> spacing{*this,
                            "spacing",
                            25.0,
                            {.help = "distance of neighbours; a station has the square of it",
                             .unit = "m",
                             .minimum = 0.1,
                             .maximum = 1e5}};
  Parameter<std::int64_t> layout_seed{
      *this,
      "layout_seed",
      1,
      {.help = "places and shadowing; the same in runs of different --seed", .minimum = 0}};

  // Radio.
  Parameter<double> power{
      *this, "power", 20.0, {.help = "transmitted", .unit = "dBm", .minimum = -30, .maximum = 40}};
  Parameter<double> frequency{
      *this,
      "frequency",
      5.18,
      {.help = "of the carrier; channel 36", .unit = "GHz", .minimum = 0.1, .maximum = 100.0}};
  Parameter<double> path_loss{*this,
                              "path_loss",
                              3.0,
                              {.help = "exponent of the log-distance law; 2: free space (Friis)",
                               .minimum = 1.5,
                               .maximum = 6.0}};
  Parameter<double> shadowing{*this,
                              "shadowing",
                              0.0,
                              {.help = "standard deviation of log-normal shadowing of each pair",
                               .unit = "dB",
                               .minimum = 0.0,
                               .maximum = 12.0}};
  Parameter<std::string> fading{*this,
                                "fading",
                                "none",
                                {.help = "rayleigh: the power of each frame at each receiver is "
                                         "exponentially distributed",
                                 .choices = {"none", "rayleigh"}}};
  Parameter<double> floor{*this,
                          "floor",
                          -95.0,
                          {.help = "signals that are weaker on average are left out altogether",
                           .unit = "dBm",
                           .minimum = -150.0,
                           .maximum = 0.0}};
  Parameter<double> carrier_sense{*this,
                                  "carrier_sense",
                                  -82.0,
                                  {.help = "sum of signals from which on the medium is busy",
                                   .unit = "dBm",
                                   .minimum = -150.0,
                                   .maximum = 0.0}};
  Parameter<std::string> reception{
      *this,
      "reception",
      "error_rate",
      {.help = "what loses a frame; collision: any overlap; threshold: a SINR below what the rate "
               "requires; error_rate: bit errors by SINR",
       .choices = {"collision", "threshold", "error_rate"}}};
  Parameter<std::int64_t> rate{
      *this,
      "rate",
      12,
      {.help = "of data frames", .unit = "Mb/s", .choices = {6, 9, 12, 18, 24, 36, 48, 54}}};

  Parameter<double> link_margin{
      *this,
      "link_margin",
      6.0,
      {.help = "routes use links whose frames would get through with this much less power",
       .unit = "dB",
       .minimum = 0.0,
       .maximum = 60.0}};

  // Access.
  Parameter<std::string> access{
      *this,
      "access",
      "csma",
      {.help = "how a station comes to transmit", .choices = {"csma", "aloha", "slotted_aloha"}}};
  Parameter<bool> acknowledge{
      *this, "acknowledge", true, {.help = "frames are acknowledged and repeated when lost"}};
  Parameter<std::int64_t> retries{
      *this,
      "retries",
      7,
      {.help = "transmissions of a frame before it is given up", .minimum = 1, .maximum = 255}};
  Parameter<std::int64_t> queue{
      *this,
      "queue",
      50,
      {.help = "packets that a station holds, the one in transmission included",
       .minimum = 1,
       .maximum = 10'000}};

  // Traffic.
  Parameter<double> load{
      *this,
      "load",
      50.0,
      {.help = "offered by each station, Poisson", .unit = "kb/s", .minimum = 0.0, .maximum = 1e6}};
  Parameter<std::string> traffic{
      *this,
      "traffic",
      "gateway",
      {.help = "gateway: every other station sends to its nearest gateway; random: each packet to "
               "a station drawn at random",
       .choices = {"gateway", "random"}}};
  Parameter<std::int64_t> gateways{
      *this, "gateways", 4, {.help = "spread evenly", .minimum = 1, .maximum = 1 << 16}};
  Parameter<std::int64_t> payload{
      *this,
      "payload",
      1000,
      {.help = "of a packet", .unit = "B", .minimum = 1, .maximum = std::int64_t{kMaximumPayload}}};
  Parameter<double> small_share{
      *this,
      "small_share",
      0.0,
      {.help = "share of packets that are small (voice among data)", .minimum = 0, .maximum = 1}};
  Parameter<std::int64_t> small_payload{*this,
                                        "small_payload",
                                        160,
                                        {.help = "of a small packet; 20 ms of G.711",
                                         .unit = "B",
                                         .minimum = 1,
                                         .maximum = std::int64_t{kMaximumPayload}}};

  // Processing.
  Parameter<Duration> processing{
      *this,
      "processing",
      Duration::microseconds(20),
      {.help = "simulated time that a host takes to make or relay a packet",
       .minimum = Duration::nanoseconds(1),
       .maximum = Duration::seconds(1)}};
  Parameter<std::int64_t> work{
      *this,
      "work",
      0,
      {.help = "busy loop for making, relaying and decoding a frame, in steps of about a "
               "nanosecond",
       .minimum = 0,
       .maximum = 1'000'000'000}};
  Parameter<std::int64_t> channel_work{
      *this,
      "channel_work",
      0,
      {.help = "busy loop for the channel of each signal at each station that it reaches, in steps "
               "of about a nanosecond",
       .minimum = 0,
       .maximum = 1'000'000'000}};
  Parameter<Duration> warm_up{
      *this,
      "warm_up",
      Duration::zero(),
      {.help = "start of the run: what is created, transmitted or delivered then is not counted",
       .minimum = Duration::zero(),
       .maximum = Duration::seconds(86'400)}};

  Metric delay{*this, "delay", "s", "of a packet from its creation to its destination",
               orrery::Keep::histogram};
  Metric hops{*this, "hops", "", "links that a delivered packet has gone"};
  // Each station records its counts once, at the end.
  Metric generated{*this, "generated", "", "packets that a station made"};
  Metric unreachable{*this, "unreachable", "", "packets that had no way to their destination"};
  Metric delivered{*this, "delivered", "", "packets that reached their destination at a station"};
  Metric delivered_bits{*this, "delivered_bits", "bit",
                        "payload that reached its destination at a station"};
  Metric queue_drops{*this, "queue_drops", "", "packets that found a station's queue full"};
  Metric retry_drops{*this, "retry_drops", "", "packets given up after too many transmissions"};
  Metric attempts{*this, "attempts", "", "data frames that a station transmitted"};
  Metric failed{*this, "failed", "", "of these, not acknowledged (if they ought to be)"};
  Metric received{*this, "received", "", "data frames for a station that it received"};
  Metric collisions{*this, "collisions", "",
                    "data frames for a station that were lost while other signals were on the air"};
  Metric noise_losses{*this, "noise_losses", "", "data frames for a station lost to noise alone"};
  Metric missed{*this, "missed", "",
                "data frames for a station that it was not free or able to begin to receive"};
  Metric airtime_share{*this, "airtime", "", "share of the time that a station transmits"};
  Metric busy_share{*this, "busy", "", "share of the time that a station finds the medium busy"};
  Metric good_airtime{*this, "good_airtime", "s", "airtime of data frames received by a station"};

  orrery::Table station_table{*this,
                              "stations",
                              {{"station", ColumnType::integer},
                               {"x", ColumnType::real, "m"},
                               {"y", ColumnType::real, "m"},
                               {"gateway", ColumnType::integer},
                               {"hops", ColumnType::integer},
                               {"generated", ColumnType::integer},
                               {"delivered", ColumnType::integer},
                               {"queue_drops", ColumnType::integer},
                               {"retry_drops", ColumnType::integer},
                               {"attempts", ColumnType::integer},
                               {"failed", ColumnType::integer},
                               {"received", ColumnType::integer},
                               {"collisions", ColumnType::integer},
                               {"missed", ColumnType::integer},
                               {"airtime", ColumnType::real},
                               {"busy", ColumnType::real}},
                              "one row a station at the end of the run"};
  orrery::Table link_table{*this,
                           "links",
                           {{"from", ColumnType::integer},
                            {"to", ColumnType::integer},
                            {"power", ColumnType::real, "dBm"},
                            {"attempts", ColumnType::integer},
                            {"acknowledged", ColumnType::integer}},
                           "one row for each link that carried a frame, at the end of the run"};

  void prepare() override;
  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(stations.value()); }
  std::unique_ptr<orrery::LogicalProcessBase> create(LpId id) const override;
  /// A station switches its transmitter on before it sends to another station.
  Duration lookahead() const override { return kTurnaround + network_.shortest_delay(); }
  void communication(orrery::CommunicationGraph& graph) const override;
  Time default_horizon() const override { return Time::zero() + Duration::seconds(10); }
  void report(orrery::Report& report, Time end) const override;

  const Network& network() const { return network_; }
  const ReceiverSettings& receiver() const { return receiver_; }
  AccessMode mode() const { return mode_; }
  const Demand& data_demand() const { return data_demand_; }
  const Demand& ack_demand() const { return ack_demand_; }
  bool has_fading() const { return has_fading_; }
  bool to_gateways() const { return to_gateways_; }
  double busy_from_w() const { return busy_from_w_; }

  Duration data_airtime(std::uint32_t bytes) const {
    return airtime(*data_rate_, bytes + kHeaderBytes);
  }
  Duration ack_airtime() const { return ack_airtime_; }
  /// From the end of a transmission to the end of the wait for its acknowledgement.
  Duration ack_wait() const { return kSifs + ack_airtime_ + kSlot; }
  /// Slot of slotted ALOHA, and unit of the back-off of both ALOHAs: the longest exchange of
  /// frames, the longest propagation delay included, plus the time to get ready for the next.
  Duration exchange_slot() const { return exchange_slot_; }
  /// Mean time between packets of a station; 0: the station makes no packets.
  double seconds_between_packets() const { return seconds_between_packets_; }

 private:
  void check_relations() const;
  void set_receiver();
  Plan plan() const;
  double frame_cost(double power_w) const;
  void set_durations();

  Network network_;
  ReceiverSettings receiver_;
  AccessMode mode_ = AccessMode::csma;
  const Rate* data_rate_ = &kBasicRate;
  const Rate* ack_rate_ = &kBasicRate;
  Demand data_demand_, ack_demand_;
  bool has_fading_ = false, to_gateways_ = true;
  double busy_from_w_ = 0.0;
  Duration ack_airtime_, exchange_slot_;
  double seconds_between_packets_ = 0.0;
};

}  // namespace wireless
