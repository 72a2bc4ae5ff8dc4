// SPDX-License-Identifier: Apache-2.0
#include "radio_lp.h"

#include <algorithm>

#include "device_address.h"

namespace orrery::lab {

RadioLp::RadioLp(const Lab& lab, NodeId id)
    : lab_(lab),
      id_(id),
      ports_(lab.outgoing_of(id)),
      channel_(node().radio, station_addresses(lab.topology(), node()),
               lab.random_keys_of_ports(id, "station"), *this) {}

void RadioLp::handle(Context& context, const Wake&) {
  context_ = &context;
  wake_.rang();
  const std::int64_t until = context.now().ticks() + lab_.window_ns(id_);
  channel_.advance(std::min(until, context.horizon().ticks()));
  wake_.set(context, channel_.next());
}

void RadioLp::handle(Context& context, const Arrival& arrival, std::span<const std::byte> frame) {
  const std::int64_t at = context.now().ticks() + arrival.wait_ns;
  if (at >= context.horizon().ticks()) return;
  channel_.arrive(arrival.port, at, frame);
  wake_.set(context, channel_.next());
}

void RadioLp::finish(FinalContext& context) {
  const std::int64_t end = context.now().ticks();
  channel_.finish(end);
  for (std::uint32_t i = 0; i < node().ports.size(); ++i) {
    const RadioChannel::Counts& counts = channel_.counts(i);
    const Place place = node().radio.tracks[i].at(end);
    const auto seconds = [](std::int64_t ns) { return Duration::from_ticks(ns).to_seconds(); };
    context.emit(lab_.stations, id_, host_of(i), place.x, place.y, counts.attempts, counts.failed,
                 counts.given_up, counts.queue_drops, counts.received, seconds(counts.airtime_ns),
                 seconds(counts.busy_ns));
  }
}

std::int64_t RadioLp::host_of(std::uint32_t station) const {
  return station < node().ports.size() ? std::int64_t{node().ports[station].wire.node} : -1;
}

void RadioLp::received(unsigned station, std::int64_t time, std::span<const std::byte> frame) {
  lab_.send(*context_, ports_[station], time, frame);
}

void RadioLp::transmitted(const RadioChannel::Transmission& one) {
  context_->emit(lab_.air, one.begin_ns, one.begin_ns + one.airtime_ns, id_, host_of(one.from),
                 host_of(one.to), one.bytes, one.tries, one.heard);
}

void RadioLp::dropped(unsigned, RadioChannel::Drop why, std::size_t bytes) {
  context_->record(why == RadioChannel::Drop::queue_full ? lab_.dropped : lab_.lost,
                   static_cast<double>(bytes));
}

}  // namespace orrery::lab
