// SPDX-License-Identifier: Apache-2.0
//
// The channel's agenda, then the actions of a card: sending, receiving.
#include "radio_channel.h"

#include <algorithm>
#include <utility>

#include "ethernet.h"

namespace orrery::lab {
namespace {

using wireless::airtime;
using wireless::kSifs;

/// Airtime of an Ethernet frame as a frame of IEEE 802.11, which has other headers.
Duration airtime_of(const wireless::Rate& rate, std::size_t bytes) {
  return airtime(
      rate, static_cast<std::uint32_t>(bytes - ethernet::kHeaderBytes) + wireless::kHeaderBytes);
}

Duration acknowledgement_airtime(const wireless::Rate& data) {
  return airtime(wireless::acknowledgement_rate(data), wireless::kAckBytes);
}

}  // namespace

RadioChannel::RadioChannel(const Radio& radio, std::span<const Address> addresses,
                           std::span<const std::uint64_t> random_keys, Listener& listener)
    : radio_(radio), listener_(listener), stations_(radio.stations()) {
  receiver_ = wireless::ReceiverSettings::of(radio.reception);
  for (std::uint32_t i = 0; i < stations_.size(); ++i) {
    stations_[i].random = Random(random_keys[i], 0);
    owners_[ethernet::number_of(addresses[i])] = i;
  }
}

// ---- The agenda

void RadioChannel::add(Time time, Kind kind, std::uint32_t station, std::uint64_t number,
                       double power_w, float share) {
  agenda_.push({time.ticks(), kind, station, share, power_w, number, order_++});
}

void RadioChannel::arrive(unsigned station, std::int64_t time, std::span<const std::byte> frame) {
  if (frame.size() < ethernet::kHeaderBytes) return;
  stations_[station].coming.push_back(
      std::make_shared<const std::vector<std::byte>>(frame.begin(), frame.end()));
  add(Time::from_ticks(time), Kind::arrival, station, 0);
}

void RadioChannel::advance(std::int64_t until) {
  while (next() < until) {
    const Doing doing = agenda_.top();
    agenda_.pop();
    now_ = Time::from_ticks(doing.time);
    if (doing.time >= state_until_) refresh();
    do_next(doing);
  }
}

void RadioChannel::refresh() {
  busy_from_w_ = wireless::watts_of_dbm(radio_.at(now_.ticks()).carrier_sense_dbm);
  state_until_ = radio_.changes_after(now_.ticks());
}

void RadioChannel::do_next(const Doing& doing) {
  switch (doing.kind) {
    case Kind::arrival:
      return frame_comes(doing.station);
    case Kind::signal_start:
      return signal_starts(doing);
    case Kind::signal_end:
      return signal_ends(doing);
    case Kind::over:
      return over(doing.station, doing.number);
    case Kind::access:
      return access(doing.station, doing.number);
  }
}

void RadioChannel::finish(std::int64_t end) {
  for (Station& station : stations_)
    if (station.busy) station.counts.busy_ns += end - station.busy_since.ticks();
}

// ---- Neighbours

const std::vector<RadioChannel::Neighbour>& RadioChannel::neighbours_of(std::uint32_t from) {
  if (now_.ticks() >= stations_[from].neighbours.valid_until) find_neighbours(from);
  return stations_[from].neighbours.all;
}

void RadioChannel::find_neighbours(std::uint32_t from) {
  const std::int64_t now = now_.ticks();
  Neighbours& found = stations_[from].neighbours;
  found.all.clear();
  found.valid_until = radio_.changes_after(now);
  if (!radio_.connectivity.empty()) {
    const auto& shares = radio_.connectivity_at(now).shares;
    const double power_w = wireless::watts_of_dbm(Radio::kConnectedDbm);
    for (std::uint32_t to = 0; to < stations_.size(); ++to)
      if (const double share = shares[from * stations_.size() + to]; to != from && share > 0)
        found.all.push_back(
            {to, static_cast<float>(share), power_w, wireless::propagation(0).ticks()});
    return;
  }
  const RadioState& state = radio_.at(now);
  const auto loss = wireless::PathLoss::at(radio_.frequency_hz, state.path_loss);
  const Place here = radio_.tracks[from].at(now);
  for (std::uint32_t to = 0; to < stations_.size(); ++to) {
    found.valid_until = std::min(found.valid_until, radio_.tracks[to].rests_until(now));
    if (to == from) continue;
    const double metres = distance_m(here, radio_.tracks[to].at(now));
    const double dbm = state.power_dbm - loss.db(metres);
    if (dbm < radio_.floor_dbm) continue;
    found.all.push_back(
        {to, 1, wireless::watts_of_dbm(dbm), wireless::propagation(metres).ticks()});
  }
}

/// The station with the frame's destination address.
std::uint32_t RadioChannel::owner_of(const Frame& frame) const {
  const std::uint64_t address = ethernet::destination(*frame);
  if (ethernet::is_group(address)) return kAll;
  const auto found = owners_.find(address);
  return found == owners_.end() ? kNobody : found->second;
}

// ---- Sending

void RadioChannel::frame_comes(std::uint32_t id) {
  Station& station = stations_[id];
  Frame frame = std::move(station.coming.front());
  station.coming.pop_front();
  if (const std::uint64_t source = ethernet::source(*frame); !ethernet::is_group(source))
    owners_[source] = id;
  if (station.queue.size() >= radio_.queue) {
    ++station.counts.queue_drops;
    listener_.dropped(id, Drop::queue_full, frame->size());
    return;
  }
  station.queue.push_back(std::move(frame));
  if (station.mac != Mac::idle) return;
  ++station.frame_number;
  begin_contention(id, now_ + wireless::kMacProcessing);
}

/// Starts the contention for the first frame of the queue, at its first or a later try.
void RadioChannel::begin_contention(std::uint32_t id, Time earliest) {
  Station& station = stations_[id];
  station.mac = Mac::contending;
  station.countdown.set(
      static_cast<std::uint32_t>(station.random.below(station.contention_window + 1)));
  resume(id, earliest);
}

/// Puts the decision to transmit on the agenda, if the station waits for one and the medium
/// permits.
void RadioChannel::resume(std::uint32_t id, Time earliest) {
  Station& station = stations_[id];
  if (station.mac != Mac::contending || station.countdown.running() || station.busy) return;
  const Time idle_from =
      std::max({station.idle_since, station.transmits_until, station.defers_until});
  add(station.countdown.run(idle_from, earliest), Kind::access, id, ++station.access_number);
}

/// The medium becomes busy: postpones the decision to transmit unless it is due before CCA.
void RadioChannel::pause(Station& station, Time busy_from) {
  if (station.countdown.stop(busy_from)) ++station.access_number;
}

void RadioChannel::access(std::uint32_t id, std::uint64_t number) {
  Station& station = stations_[id];
  if (number != station.access_number || station.mac != Mac::contending) return;
  station.countdown.finish();
  if (station.transmits_until > now_) {
    resume(id, now_ + wireless::kTurnaround);  // the station's own acknowledgement came between
  } else {
    transmit(id);
  }
}

void RadioChannel::transmit(std::uint32_t id) {
  Station& station = stations_[id];
  const Frame& frame = station.queue.front();
  const RadioState& state = radio_.at(now_.ticks());
  station.to = owner_of(frame);
  const wireless::Rate& rate = station.to == kAll ? *state.broadcast_rate : *state.rate;
  const Duration length = airtime_of(rate, frame->size());
  station.receiver.abandon();  // half duplex: a frame being received is lost
  station.mac = Mac::transmitting;
  ++station.tries;
  ++station.counts.attempts;
  const Time begins = now_ + wireless::kTurnaround;
  station.transmits_until = begins + length;
  const Duration wait = station.to == kAll
                            ? Duration::zero()
                            : kSifs + acknowledgement_airtime(rate) + wireless::kSlot;
  add(begins + length + wait, Kind::over, id, ++station.attempt);
  emit(id, wireless::kTurnaround,
       {{begins.ticks(), length.ticks(), id, station.to, static_cast<std::uint32_t>(frame->size()),
         station.tries, 0},
        true,
        station.frame_number,
        &rate,
        wireless::Demand::of(rate),
        frame,
        0});
}

/// The signal leaves the antenna after `lead`, and reaches each neighbour a propagation later.
void RadioChannel::emit(std::uint32_t id, Duration lead, Signal&& signal) {
  if (free_signals_.empty()) {
    free_signals_.push_back(signals_.size());
    signals_.emplace_back();
  }
  const std::uint64_t number = free_signals_.back();
  free_signals_.pop_back();
  stations_[id].counts.airtime_ns += signal.what.airtime_ns;
  const auto& neighbours = neighbours_of(id);
  signal.ends = static_cast<std::uint32_t>(neighbours.size()) + 1;
  signals_[number] = std::move(signal);
  for (const Neighbour& one : neighbours)
    add(now_ + lead + Duration::from_ticks(one.delay_ns), Kind::signal_start, one.station, number,
        one.power_w, one.share);
  release(number);
}

/// The signal has ended at one more station.
void RadioChannel::release(std::uint64_t number) {
  Signal& signal = signals_[number];
  if (--signal.ends > 0) return;
  if (signal.is_data) listener_.transmitted(signal.what);
  signal.frame.reset();
  free_signals_.push_back(number);
}

void RadioChannel::over(std::uint32_t id, std::uint64_t attempt) {
  Station& station = stations_[id];
  if (attempt != station.attempt || station.mac != Mac::transmitting) return;
  if (station.to == kAll) return frame_done(id, now_ + wireless::kMacProcessing);
  frame_failed(id);
}

/// The first frame of the queue has been sent or given up: starts with the next frame.
void RadioChannel::frame_done(std::uint32_t id, Time earliest) {
  Station& station = stations_[id];
  station.queue.pop_front();
  station.contention_window = wireless::kContentionMinimum;
  station.tries = 0;
  station.mac = Mac::idle;
  if (station.queue.empty()) return;
  ++station.frame_number;
  begin_contention(id, earliest);
}

void RadioChannel::frame_failed(std::uint32_t id) {
  Station& station = stations_[id];
  const Time earliest = now_ + wireless::kMacProcessing;
  ++station.counts.failed;
  if (station.tries >= radio_.retries) {
    ++station.counts.given_up;
    listener_.dropped(id, Drop::given_up, station.queue.front()->size());
    return frame_done(id, earliest);
  }
  station.contention_window =
      std::min(2 * station.contention_window + 1, wireless::kContentionMaximum);
  begin_contention(id, earliest);
}

// ---- Receiving

void RadioChannel::signal_starts(const Doing& doing) {
  Station& station = stations_[doing.station];
  const Signal& signal = signals_[doing.number];
  const std::int64_t end = doing.time + signal.what.airtime_ns;
  double power_w = doing.power_w;
  if (radio_.fading) power_w *= station.random.exponential(1.0);
  const auto link = static_cast<std::uint32_t>(doing.number);
  station.receiver.begin({power_w, end, link}, doing.time, receiver_);
  const bool transmits = station.transmits_until > now_;  // or will transmit before the frame ends
  if (!transmits && station.receiver.try_lock(doing.time, signal.demand, receiver_))
    station.incoming_share = doing.share;
  sense(station);
  add(Time::from_ticks(end), Kind::signal_end, doing.station, doing.number);
}

/// Updates whether the medium is busy.
void RadioChannel::sense(Station& station) {
  const bool busy = station.receiver.total_w() >= busy_from_w_;
  if (busy == station.busy) return;
  station.busy = busy;
  if (busy) {
    station.busy_since = now_;
    pause(station, now_);
  } else {
    station.idle_since = now_;
    station.counts.busy_ns += (now_ - station.busy_since).ticks();
  }
}

void RadioChannel::signal_ends(const Doing& doing) {
  Station& station = stations_[doing.station];
  const auto link = static_cast<std::uint32_t>(doing.number);
  const bool was_locked = station.receiver.locked() && station.receiver.locked_link() == link;
  station.receiver.end(link, doing.time, receiver_);
  sense(station);
  if (was_locked) frame_ends(doing.station, signals_[doing.number]);
  resume(doing.station, now_ + kSifs);
  release(doing.number);
}

/// The frame that the receiver was locked on ends. If the frame was for another station or could
/// not be decoded, the station defers until the other stations' acknowledgement is over: the
/// network allocation vector, and the extended interframe space, of IEEE 802.11.
void RadioChannel::frame_ends(std::uint32_t id, Signal& signal) {
  Station& station = stations_[id];
  bool received = station.receiver.judge(receiver_, station.random).received;
  if (received && station.incoming_share < 1)
    received = station.random.bernoulli(static_cast<double>(station.incoming_share));
  const bool mine = signal.what.to == id || signal.what.to == kAll;
  if (!received) {
    station.defers_until = std::max(
        station.defers_until, now_ + kSifs + airtime(wireless::kBasicRate, wireless::kAckBytes));
  } else if (!mine) {
    if (signal.is_data)
      station.defers_until =
          std::max(station.defers_until, now_ + kSifs + acknowledgement_airtime(*signal.rate));
  } else if (signal.is_data) {
    data_received(id, signal);
  } else {
    acknowledged(id, signal);
  }
  if (station.defers_until > now_) pause(station, now_);
}

void RadioChannel::data_received(std::uint32_t id, Signal& signal) {
  Station& station = stations_[id];
  ++signal.what.heard;
  ++station.counts.received;
  const std::uint32_t from = signal.what.from, number = signal.frame_number;
  const Frame frame = signal.frame;
  if (signal.what.to != kAll) {
    pause(station, now_);
    const wireless::Rate& rate = wireless::acknowledgement_rate(*signal.rate);
    const Duration length = airtime(rate, wireless::kAckBytes);
    const Time begins = now_ + kSifs;
    station.transmits_until = begins + length;
    // May move the elements of signals_, so `signal` must not be used after this.
    emit(id, kSifs,
         {{begins.ticks(), length.ticks(), id, from, wireless::kAckBytes, 1, 0},
          false,
          number,
          &rate,
          wireless::Demand::of(rate),
          nullptr,
          0});
  }
  const auto [last, is_new] = station.last_frames.try_emplace(from, number);
  if (!is_new && std::exchange(last->second, number) == number) return;  // a repetition
  listener_.received(id, (now_ + kSifs).ticks(), *frame);
}

void RadioChannel::acknowledged(std::uint32_t id, const Signal& signal) {
  Station& station = stations_[id];
  if (station.mac != Mac::transmitting || signal.frame_number != station.frame_number ||
      signal.what.from != station.to)
    return;
  ++station.attempt;  // the end of the wait is outdated
  frame_done(id, now_ + kSifs);
}

}  // namespace orrery::lab
