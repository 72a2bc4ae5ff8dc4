// SPDX-License-Identifier: Apache-2.0
#include "director/net/network.h"

#include <algorithm>
#include <utility>

#include "orrery/random.h"

namespace orrery::director {

void Network::Queue::push(Frame frame) {
  bytes += frame.bytes.size();
  frames.push(std::move(frame));
}

Network::Frame Network::Queue::pop() {
  // The queue's order does not depend on the bytes that are moved away.
  Frame first = std::move(const_cast<Frame&>(frames.top()));
  frames.pop();
  bytes -= first.bytes.size();
  return first;
}

Network::Network(const lab::Topology& topology, std::uint64_t seed, const std::string& folder)
    : topology_(topology), tables_(topology.switches.size()), counts_(topology.hosts.size()) {
  Random keys(seed, 0);
  for (lab::NodeId id = 0; id < topology.nodes(); ++id) {
    const lab::Node& node = topology.node(id);
    first_port_.push_back(sides_.size());
    for (std::size_t i = 0; i < node.ports.size(); ++i) {
      const lab::Port& port = node.ports[i];
      least_delay_ = std::min(least_delay_, port.wire.least_delay_ns());
      sides_.push_back({.outgoing = lab::Outgoing(port.wire, keys.next())});
      if (topology.is_host(id) && port.capture && !folder.empty())
        sides_.back().capture = std::make_unique<lab::Capture>(folder + "/" + node.name + "-eth" +
                                                               std::to_string(i) + ".pcap");
    }
  }
}

bool Network::leave(lab::NodeId node, unsigned port, Nanoseconds time,
                    std::vector<std::byte> frame) {
  Side& from = side(node, port);
  from.last = time = std::max(time, from.last);
  const lab::Outgoing::Passage passage = from.outgoing.send(time, frame.size());
  if (!passage.arrives()) return false;
  if (passage.fate == lab::Outgoing::Fate::corrupted)
    frame[passage.flipped_bit / 8] ^= std::byte{1} << (passage.flipped_bit % 8);
  const lab::Wire& wire = from.outgoing.wire();
  Queue& queue = topology_.is_host(wire.node) ? side(wire.node, wire.port).arriving : at_switches_;
  if (queue.bytes + frame.size() > kMostBytes) return false;
  queue.push({.time = passage.arrival_ns,
              .number = next_number_++,
              .node = wire.node,
              .port = wire.port,
              .bytes = std::move(frame)});
  return true;
}

void Network::sent(lab::NodeId host, unsigned port, Nanoseconds time,
                   std::vector<std::byte> frame) {
  Side& from = side(host, port);
  time = std::max(time, from.last);
  if (from.capture) from.capture->sent(time, frame);
  ++counts_[host].sent;
  const bool is_frame = frame.size() >= lab::ethernet::kHeaderBytes;
  if (!is_frame || !leave(host, port, time, std::move(frame))) ++counts_[host].lost;
}

void Network::pass_switch(Frame frame) {
  const lab::Switch& one = topology_.switch_of(frame.node);
  tables_[frame.node - topology_.hosts.size()].pass(
      frame.bytes, frame.port, one.ports.size(), frame.time, [&](std::uint32_t port) {
        leave(frame.node, port, frame.time + one.latency_ns, frame.bytes);
      });
}

void Network::advance(Nanoseconds system) {
  while (!at_switches_.frames.empty() && at_switches_.frames.top().time <= system + least_delay_)
    pass_switch(at_switches_.pop());
}

const Network::Frame* Network::next_for(lab::NodeId host, unsigned port) const {
  const auto& frames = side(host, port).arriving.frames;
  return frames.empty() ? nullptr : &frames.top();
}

Network::Frame Network::take(lab::NodeId host, unsigned port) {
  Side& card = side(host, port);
  Frame frame = card.arriving.pop();
  if (card.capture) card.capture->received(frame.time, frame.bytes);
  ++counts_[host].arrived;
  return frame;
}

Nanoseconds Network::next() const {
  Nanoseconds first = INT64_MAX;
  if (!at_switches_.frames.empty()) first = at_switches_.frames.top().time;
  for (const Side& one : sides_)
    if (!one.arriving.frames.empty()) first = std::min(first, one.arriving.frames.top().time);
  return first;
}

}  // namespace orrery::director
