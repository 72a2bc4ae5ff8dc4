// SPDX-License-Identifier: Apache-2.0
//
// Stations that pass packets on and capture what they receive: packets of every length and any
// bytes, at an interface of each kind of link, between rows of a table. Delays are short, so that
// Time Warp rolls captures back. A station captures too much where it is told to.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "orrery/orrery.h"

namespace {

using orrery::Capture;
using orrery::Context;
using orrery::Duration;
using orrery::LpId;

struct Packet {
  std::uint64_t hops;
};

class Wire final : public orrery::Model {
 public:
  orrery::Parameter<std::int64_t> stations{*this, "stations", 12, {.help = "LPs", .minimum = 2}};
  orrery::Parameter<double> tick{*this, "tick", 1e-9, {.help = "length of a tick", .unit = "s"}};
  orrery::Parameter<std::int64_t> excess{
      *this, "excess", 0, {.help = "bytes that station 1 captures at its 5th packet; 0: none"}};
  orrery::Parameter<bool> captured{*this, "captured", true, {.help = "packets are captured"}};
  orrery::Parameter<std::string> second{
      *this, "second", "radio \"2\"", {.help = "name of the second interface"}};

  void prepare() override {
    radio_ = std::make_unique<Capture>(*this, second.value(), orrery::LinkType(147), "");
  }
  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(stations.value()); }
  std::unique_ptr<orrery::LogicalProcessBase> create(LpId) const override;
  Duration lookahead() const override { return kCable; }
  orrery::Time default_horizon() const override { return orrery::Time::from_ticks(12'000'000); }
  double tick_seconds() const override { return tick.value(); }

  static constexpr Duration kCable = Duration::from_ticks(20'000);
  Capture eth0{*this, "eth0", orrery::LinkType::ethernet, "what stations receive"};
  orrery::Table lengths{*this, "lengths", {{"bytes", orrery::ColumnType::integer}}, "of packets"};
  const Capture& radio() const { return *radio_; }

 private:
  std::unique_ptr<Capture> radio_;
};

class Station final : public orrery::LogicalProcess<Station, Packet> {
 public:
  explicit Station(const Wire& wire) : wire_(wire) {}
  void start(Context& context) override { send(context, 0); }
  void handle(Context& context, const Packet& packet, std::span<const std::byte> bytes) {
    ++received_;
    if (wire_.captured.value()) capture(context, bytes);
    if (wire_.excess.value() > 0 && context.self() == 1 && received_ == 5)
      context.capture(wire_.eth0,
                      std::vector<std::byte>(static_cast<std::size_t>(wire_.excess.value())));
    send(context, packet.hops + 1);
  }
  void finish(orrery::FinalContext& context) override {
    context.state(received_);
    context.capture(wire_.radio(), std::as_bytes(std::span(&received_, 1)));
  }

 private:
  void capture(Context& context, std::span<const std::byte> bytes) {
    context.capture(wire_.eth0, bytes);
    context.emit(wire_.lengths, bytes.size());
    if (bytes.size() % 3 == 0) context.capture(wire_.radio(), bytes.first(bytes.size() / 3));
  }
  /// One packet in fifty is as long as a capture can be, and one in fifty empty.
  void send(Context& context, std::uint64_t hops) {
    orrery::Random& random = context.random();
    const std::uint64_t draw = random.below(50);
    const std::uint64_t length = draw == 0   ? Capture::kMaxBytes
                                 : draw == 1 ? 0
                                             : random.below(1600);
    std::vector<std::byte> bytes(length);
    std::uint64_t byte = random.next();
    for (std::byte& one : bytes) one = static_cast<std::byte>(byte++ >> 3);
    const auto to = static_cast<LpId>(random.below(context.lp_count()));
    const Duration delay = random.exponential(Duration::from_ticks(100'000));
    context.schedule(to, Wire::kCable + delay, Packet{hops}, bytes);
  }

  const Wire& wire_;
  std::uint64_t received_ = 0;
};

std::unique_ptr<orrery::LogicalProcessBase> Wire::create(LpId) const {
  return std::make_unique<Station>(*this);
}

}  // namespace

ORRERY_MODEL(Wire, "wire", "stations that capture packets");
