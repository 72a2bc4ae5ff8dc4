// SPDX-License-Identifier: Apache-2.0
//
// The handlers of a station, in this order: host, MAC, receiver, results.
#include "station.h"

#include <algorithm>

#include "../common/busy_work.h"

namespace wireless {

using orrery::FinalContext;
namespace math = orrery::math;

Station::Station(const Wireless& model, LpId id)
    : model_(model), ports_(model.network().ports_of(id)) {}

void Station::start(Context& context) {
  const bool silent = model_.to_gateways() && model_.network().is_gateway(context.self());
  if (model_.seconds_between_packets() > 0 && !silent) schedule_next_packet(context, context.now());
}

void Station::work(std::int64_t steps) const {
  orrery::models::busy_work(attempt_, steps);
}

// ---- host ---------------------------------------------------------------------------------------

/// Packets are due at the times of a Poisson process. The host makes one packet at a time. A packet
/// that is due while the host is busy waits; its creation time is the time at which it was due.
void Station::schedule_next_packet(Context& context, Time not_before) {
  const Duration gap =
      Duration::from_seconds(context.random().exponential(model_.seconds_between_packets()));
  if (gap >= Time::max() - next_packet_) return;  // beyond the end of the clock
  next_packet_ = next_packet_ + gap;
  const Time start = std::max(next_packet_, not_before);
  if (model_.processing.value() >= Time::max() - start) return;
  context.schedule_expanded(context.self(), start - context.now(), model_.processing, Generate{});
}

Packet Station::make_packet(Context& context) const {
  const Network& network = model_.network();
  Packet packet{.created_ticks = next_packet_.ticks(),
                .origin = context.self(),
                .destination = network.gateway_of(context.self()),
                .bytes = static_cast<std::uint32_t>(model_.payload.value()),
                .hops = 0};
  if (model_.small_share > 0 && context.random().bernoulli(model_.small_share))
    packet.bytes = static_cast<std::uint32_t>(model_.small_payload.value());
  if (!model_.to_gateways()) {  // uniform over all other stations
    const auto other = static_cast<LpId>(context.random().below(context.lp_count() - 1));
    packet.destination = other + (other >= context.self() ? 1 : 0);
  }
  return packet;
}

void Station::handle(Context& context, const Generate&) {
  work(model_.work);
  const Packet packet = make_packet(context);
  const bool counts = counts_from(next_packet_);
  if (counts) ++counts_.generated;
  if (packet.destination != kNoRoute &&
      model_.network().next_link(context.self(), packet.destination) != kNoRoute) {
    context.schedule_expanded(context.self(), context.duration(), kMacProcessing,
                              FrameReady{packet});
  } else if (counts) {
    ++counts_.unreachable;
  }
  schedule_next_packet(context, context.end());
}

void Station::handle(Context& context, const Relay& relay) {
  work(model_.work);
  context.schedule_expanded(context.self(), context.duration(), kMacProcessing,
                            FrameReady{relay.packet});
}

void Station::deliver(Context& context, const Packet& packet) {
  if (counts_now(context)) counts_.delivered_bits += 8 * std::uint64_t{packet.bytes};
  if (!counts_from(Time::from_ticks(packet.created_ticks))) return;
  ++counts_.delivered;
  // The packet is delivered when it has been decoded.
  context.record(model_.delay,
                 (context.end() - Time::from_ticks(packet.created_ticks)).to_seconds());
  context.record(model_.hops, packet.hops);
}

// ---- MAC ----------------------------------------------------------------------------------------

void Station::handle(Context& context, const FrameReady& ready) {
  if (queue_.size() >= static_cast<std::size_t>(model_.queue.value())) {
    if (counts_from(Time::from_ticks(ready.packet.created_ticks))) ++counts_.queue_drops;
    return;
  }
  queue_.push_back(ready.packet);
  if (mac_ == Mac::idle) {
    ++frame_number_;
    begin_contention(context);
  }
}

/// Starts the contention for the first frame of the queue, at its first or a later try. With
/// carrier sense each try waits a random number of slots. With ALOHA a first try does not wait, as
/// in the textbook, and a later try waits a random number of exchanges.
void Station::begin_contention(Context& context) {
  mac_ = Mac::contending;
  const bool waits = model_.mode() == AccessMode::csma || tries_ > 0;
  countdown_.set(waits ? static_cast<std::uint32_t>(context.random().below(contention_window_ + 1))
                       : 0);
  resume(context);
}

/// Schedules the decision to transmit, if the station waits for one and the medium permits.
void Station::resume(Context& context) {
  if (mac_ != Mac::contending || countdown_.running()) return;
  if (model_.mode() == AccessMode::csma)
    resume_by_carrier_sense(context);
  else
    resume_by_time(context);
}

void Station::resume_by_carrier_sense(Context& context) {
  if (senses_busy()) return;  // the end of the signal calls resume() again
  const Time idle_from = std::max({idle_since_, transmits_until_, defers_until_});
  const Time due = countdown_.run(idle_from, context.end());
  context.schedule_expanded(context.self(), due - context.now(), kTurnaround,
                            Access{++access_number_});
}

/// The medium becomes busy: postpones the decision to transmit unless it is due before CCA.
void Station::pause(Time busy_from) {
  if (countdown_.stop(busy_from)) ++access_number_;  // the scheduled Access event is outdated
}

/// Both kinds of ALOHA. In slotted ALOHA, energy goes on the air at the beginning of a slot.
void Station::resume_by_time(Context& context) {
  const std::int64_t slot = model_.exchange_slot().ticks();
  const std::int64_t wait = std::int64_t{countdown_.slots()} * slot;
  Time due = std::max(context.end(), transmits_until_) + Duration::from_ticks(wait);
  if (model_.mode() == AccessMode::slotted_aloha) {
    const std::int64_t energy = (due + kTurnaround).ticks();
    due = Time::from_ticks((energy + slot - 1) / slot * slot) - kTurnaround;
  }
  context.schedule_expanded(context.self(), due - context.now(), kTurnaround,
                            Access{++access_number_});
}

void Station::handle(Context& context, const Access& access) {
  if (access.number != access_number_ || mac_ != Mac::contending) return;
  countdown_.finish();
  if (transmits_until_ > context.now())
    resume(context);  // the station's own acknowledgement came between
  else
    transmit(context);
}

void Station::transmit(Context& context) {
  const Network& network = model_.network();
  const Packet& packet = queue_.front();
  const Link& link = network.link(network.next_link(context.self(), packet.destination));
  const Duration airtime = model_.data_airtime(packet.bytes);
  if (receiver_.locked()) {  // half duplex: the frame being received is lost
    const bool mine = incoming_.to == context.self() && incoming_.kind == FrameKind::data;
    if (mine && counts_now(context)) ++counts_.missed;
    receiver_.abandon();
  }
  mac_ = Mac::transmitting;
  ++tries_;
  transmits_until_ = context.end() + airtime;
  if (counts_now(context)) {
    ++counts_.attempts;
    ++ports_[link.port].attempts;
  }
  transmit_ticks_ += counted_ticks(context.end(), transmits_until_);
  announce(context, kTurnaround,
           {.packet = packet,
            .link = 0,
            .to = link.to,
            .number = frame_number_,
            .kind = FrameKind::data});
  const Duration wait = model_.acknowledge ? model_.ack_wait() : Duration::zero();
  context.schedule_expanded(context.self(), kTurnaround + airtime + wait, kMacProcessing,
                            TransmissionOver{++attempt_});
}

/// Sends the signal to all stations with a link from here. It leaves the antenna after `lead`.
void Station::announce(Context& context, Duration lead, const SignalStart& signal) {
  const Network& network = model_.network();
  SignalStart copy = signal;
  copy.link = network.first_link(context.self());
  for (const Link& link : network.links_of(context.self())) {
    context.schedule_expanded(link.to, lead + link.delay, kCcaTime, copy);
    ++copy.link;
  }
}

void Station::handle(Context& context, const TransmissionOver& over) {
  if (over.attempt != attempt_ || mac_ != Mac::transmitting) return;
  if (model_.acknowledge)
    frame_failed(context);
  else
    frame_done(context);
}

void Station::acknowledged(Context& context, const Incoming& frame) {
  if (mac_ != Mac::transmitting || frame.number != frame_number_) return;
  const Network& network = model_.network();
  const Link& link = network.link(network.next_link(context.self(), queue_.front().destination));
  if (network.link(receiver_.locked_link()).from != link.to) return;
  if (counts_now(context)) ++ports_[link.port].acknowledged;
  ++attempt_;  // the timer is outdated
  frame_done(context);
}

/// The first frame of the queue has been sent or given up: starts with the next frame.
void Station::frame_done(Context& context) {
  queue_.erase(queue_.begin());
  contention_window_ = kContentionMinimum;
  tries_ = 0;
  mac_ = Mac::idle;
  if (queue_.empty()) return;
  ++frame_number_;
  begin_contention(context);
}

void Station::frame_failed(Context& context) {
  if (counts_now(context)) ++counts_.failed;
  if (tries_ >= model_.retries) {
    if (counts_from(Time::from_ticks(queue_.front().created_ticks))) ++counts_.retry_drops;
    frame_done(context);
    return;
  }
  contention_window_ = std::min(2 * contention_window_ + 1, kContentionMaximum);
  begin_contention(context);
}

// ---- receiver -----------------------------------------------------------------------------------

void Station::handle(Context& context, const SignalStart& signal) {
  work(model_.channel_work);
  const Link& link = model_.network().link(signal.link);
  const bool data = signal.kind == FrameKind::data;
  const Duration airtime = data ? model_.data_airtime(signal.packet.bytes) : model_.ack_airtime();
  const Time now = context.now();
  double power_w = link.power_w;
  if (model_.has_fading()) power_w *= context.random().exponential(1.0);

  receiver_.begin({power_w, (now + airtime).ticks(), signal.link}, now.ticks(), model_.receiver());
  const Demand& demand = data ? model_.data_demand() : model_.ack_demand();
  const bool transmits = transmits_until_ > now;  // or will transmit before the frame ends
  if (!transmits && receiver_.try_lock(now.ticks(), demand, model_.receiver()))
    incoming_ = {signal.packet, signal.to, signal.number, signal.kind};
  else if (data && signal.to == context.self() && counts_now(context))
    ++counts_.missed;
  sense(now);
  context.schedule_expanded(context.self(), airtime, kSifs, SignalEnd{signal.link});
}

/// Updates whether the medium is busy.
void Station::sense(Time now) {
  const bool busy = receiver_.total_w() >= model_.busy_from_w();
  if (busy == busy_) return;
  busy_ = busy;
  if (busy) {
    busy_since_ = now;
    pause(now);
  } else {
    idle_since_ = now;
    busy_ticks_ += counted_ticks(busy_since_, now);
  }
}

void Station::handle(Context& context, const SignalEnd& signal) {
  const auto link = static_cast<std::uint32_t>(signal.link);
  const Time now = context.now();
  const bool was_locked = receiver_.locked() && receiver_.locked_link() == link;
  if (!receiver_.end(link, now.ticks(), model_.receiver()))
    context.fail("a signal ends at this station that has not begun");
  sense(now);
  if (was_locked) frame_ended(context);
  if (model_.mode() == AccessMode::csma) resume(context);  // ALOHA does not sense the medium
}

/// Decodes the frame that has just ended and acts on it. If the frame was for another station or
/// could not be decoded, the station defers until the other stations' acknowledgement is over: the
/// network allocation vector, and the extended interframe space (EIFS), of IEEE 802.11.
void Station::frame_ended(Context& context) {
  work(model_.work);
  const Verdict verdict = receiver_.judge(model_.receiver(), context.random());
  const bool mine = incoming_.to == context.self(), data = incoming_.kind == FrameKind::data;
  const Time now = context.now();
  if (!verdict.received) {
    if (mine && data && counts_now(context))
      ++(verdict.overlapped ? counts_.collisions : counts_.noise_losses);
    defers_until_ = std::max(defers_until_, now + kSifs + airtime(kBasicRate, kAckBytes));
  } else if (!mine) {
    if (data && model_.acknowledge)
      defers_until_ = std::max(defers_until_, now + kSifs + model_.ack_airtime());
  } else if (data) {
    data_received(context, model_.network().link(receiver_.locked_link()).from);
  } else {
    acknowledged(context, incoming_);
  }
  // A countdown still runs only if the frame was too weak to be sensed. It stops here and resumes
  // after `defers_until_`.
  if (defers_until_ > now) pause(now);
}

void Station::data_received(Context& context, LpId from) {
  if (counts_now(context)) {
    ++counts_.received;
    good_ticks_ += model_.data_airtime(incoming_.packet.bytes).ticks();
  }
  if (model_.acknowledge) {
    pause(context.now());
    const Time begins = context.now() + kSifs;
    transmits_until_ = begins + model_.ack_airtime();
    transmit_ticks_ += counted_ticks(begins, transmits_until_);
    announce(context, kSifs,
             {.packet = {},
              .link = 0,
              .to = from,
              .number = incoming_.number,
              .kind = FrameKind::acknowledgement});
    if (is_repetition(from, incoming_.number)) return;
  }
  Packet packet = incoming_.packet;
  ++packet.hops;
  if (packet.destination == context.self())
    deliver(context, packet);
  else
    context.schedule_expanded(context.self(), context.duration(), model_.processing, Relay{packet});
}

/// Whether a frame came before (its acknowledgement got lost). Stores the frame's number.
bool Station::is_repetition(LpId from, std::uint32_t number) {
  for (LastFrame& last : last_frames_) {
    if (last.from != from) continue;
    const bool same = last.number == number;
    last.number = number;
    return same;
  }
  last_frames_.push_back({from, number});
  return false;
}

// ---- results ------------------------------------------------------------------------------------

/// The part of an interval that lies after the warm-up.
std::int64_t Station::counted_ticks(Time from, Time until) const {
  const Time counted = std::max(from, Time::zero() + model_.warm_up);
  return until > counted ? (until - counted).ticks() : 0;
}

void Station::finish(FinalContext& context) {
  const Time end = context.now();
  if (busy_) busy_ticks_ += counted_ticks(busy_since_, end);
  if (transmits_until_ > end) transmit_ticks_ -= counted_ticks(end, transmits_until_);
  const Time since = Time::zero() + model_.warm_up;
  const auto record = [&](const Metric& metric, std::uint64_t count) {
    context.record(metric, static_cast<double>(count), since);
  };
  record(model_.generated, counts_.generated);
  record(model_.unreachable, counts_.unreachable);
  record(model_.delivered, counts_.delivered);
  record(model_.delivered_bits, counts_.delivered_bits);
  record(model_.queue_drops, counts_.queue_drops);
  record(model_.retry_drops, counts_.retry_drops);
  record(model_.attempts, counts_.attempts);
  record(model_.failed, counts_.failed);
  record(model_.received, counts_.received);
  record(model_.collisions, counts_.collisions);
  record(model_.noise_losses, counts_.noise_losses);
  record(model_.missed, counts_.missed);
  const std::int64_t counted = counted_ticks(Time::zero(), end);
  const auto share = [&](std::int64_t ticks) {
    return counted > 0 ? static_cast<double>(ticks) / static_cast<double>(counted) : 0.0;
  };
  context.record(model_.airtime_share, share(transmit_ticks_), since);
  context.record(model_.busy_share, share(busy_ticks_), since);
  context.record(model_.good_airtime, Duration::from_ticks(good_ticks_).to_seconds(), since);
  emit_rows(context, share(transmit_ticks_), share(busy_ticks_));
  add_state(context);
}

void Station::emit_rows(FinalContext& context, double airtime, double busy) const {
  const Network& network = model_.network();
  const LpId self = context.self();
  const Position at = network.position(self);
  const int gateway = model_.to_gateways() && network.is_gateway(self) ? 1 : 0;
  context.emit(model_.station_table, self, at.x, at.y, gateway, network.hops_to_gateway(self),
               counts_.generated, counts_.delivered, counts_.queue_drops, counts_.retry_drops,
               counts_.attempts, counts_.failed, counts_.received, counts_.collisions,
               counts_.missed, airtime, busy);
  for (const Link& link : network.links_of(self)) {
    if (link.port == kNoPort || ports_[link.port].attempts == 0) continue;
    const double dbm = 30.0 + math::product(10.0, math::log10(link.power_w));
    context.emit(model_.link_table, link.from, link.to, dbm, ports_[link.port].attempts,
                 ports_[link.port].acknowledged);
  }
}

void Station::add_state(FinalContext& context) const {
  context.state(counts_);
  context.state(busy_ticks_);
  context.state(transmit_ticks_);
  context.state(good_ticks_);
  context.state(frame_number_);
  context.state(attempt_);
  context.state(access_number_);
  context.state(contention_window_);
  context.state(static_cast<std::uint32_t>(mac_));
  for (const Packet& packet : queue_) context.state(packet);
  for (const PortCounts& port : ports_) context.state(port);
  for (const LastFrame& last : last_frames_) context.state(last);
  for (const Signal& signal : receiver_.signals()) {
    context.state(signal.power_w);
    context.state(signal.end_ticks);
    context.state(signal.link);
  }
}

}  // namespace wireless
