// SPDX-License-Identifier: Apache-2.0
//
// The same hosts, links, switches and radio channels as `orrery run lab`, without virtual time: the
// machine's scheduler shares its cores among the hosts, and this program delays frames on the
// machine's clock. What Yoginath's thesis calls the fair-share case, and what any emulator does. It
// is the baseline of the laboratory's experiments, and shows what is wrong with it when hosts
// outnumber cores.
//
//   lab_fair TOPOLOGY FOLDER KERNEL SECONDS [SEED]
//
// Prints one line of JSON: frames, seconds until all hosts were connected, and by how much frames
// came later than they should, at most and on average: the baseline's own error.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <queue>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/channel.h"
#include "lab/device_address.h"
#include "lab/guest_error.h"
#include "lab/guest_process.h"
#include "lab/outgoing.h"
#include "lab/radio_channel.h"
#include "lab/switch_table.h"
#include "lab/topology.h"
#include "lab/uml/network_device.h"
#include "lab/uml/uml_folders.h"
#include "lab/uml/uml_settings.h"

namespace {

using namespace orrery::lab;

std::int64_t clock_ns() {
  static const auto begin = std::chrono::steady_clock::now();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              begin)
      .count();
}

/// A frame at a port of a node, at a time.
struct Arrival {
  std::int64_t time;
  std::uint64_t order;
  NodeId node;
  unsigned port;
  std::vector<std::byte> frame;
  bool operator>(const Arrival& other) const {
    return time != other.time ? time > other.time : order > other.order;
  }
};

class Emulation {
 public:
  Emulation(const Topology& topology, const std::string& folder, const std::string& kernel,
            std::uint64_t seed)
      : topology_(topology) {
    for (NodeId id = 0; id < topology.nodes(); ++id) {
      out_.emplace_back();
      for (const Port& port : topology.node(id).ports) out_[id].emplace_back(port.wire, ++seed);
    }
    tables_.resize(topology.switches.size());
    for (NodeId id = 0; id < topology.nodes(); ++id)
      if (topology.is_radio(id)) {
        std::vector<std::uint64_t> keys;
        for (std::size_t i = 0; i < topology.node(id).ports.size(); ++i) keys.push_back(++seed);
        radios_.push_back(std::make_unique<Radio>(*this, id, keys));
      }
    std::vector<UmlSettings> settings;
    for (NodeId id = 0; id < topology.hosts.size(); ++id) {
      if (topology.hosts[id].has_own_clock())
        throw std::runtime_error("all hosts have the machine's clock here: leave out 'clock'");
      settings.push_back(uml_settings(topology.hosts[id], id, folder, kernel));
      settings.back().seed = seed + id;
      settings.back().virtual_time = false;
    }
    prepare_uml_folders(topology, settings);
    for (NodeId id = 0; id < topology.hosts.size(); ++id) add_host(id, settings[id]);
  }

  void run_until(std::int64_t end) {
    while (clock_ns() < end) {
      for (const auto& radio : radios_) radio->advance(clock_ns());
      deliver_what_is_due();
      wait(end);
    }
  }
  void print() const {
    std::printf(
        "{\"frames\": %llu, \"connected_s\": %.3f, \"late_most_ms\": %.3f, "
        "\"late_mean_ms\": %.3f}\n",
        static_cast<unsigned long long>(delivered_), static_cast<double>(connected_ns_) / 1e9,
        static_cast<double>(late_most_ns_) / 1e6,
        delivered_ == 0 ? 0.0 : late_sum_ns_ / static_cast<double>(delivered_) / 1e6);
  }

 private:
  struct Device final : NetworkDevice::Port {
    Device(Emulation& owner, NodeId host, unsigned number, const UmlSettings::Device& made,
           const std::string& socket)
        : emulation(owner),
          id(host),
          port(number),
          listener(socket),
          device(made.address, made.mtu, *this) {}
    void sent(std::span<const std::byte> frame, std::uint32_t token) override {
      emulation.send(id, port, frame);
      device.done(token);
      emulation.interrupt(*this, 1);
    }
    Emulation& emulation;
    const NodeId id;
    const unsigned port;
    const Listener listener;
    NetworkDevice device;
    bool gone = false;
  };

  /// A channel whose time is the machine's clock.
  struct Radio final : RadioChannel::Listener {
    Radio(Emulation& owner, NodeId number, std::span<const std::uint64_t> random_keys)
        : emulation(owner),
          id(number),
          channel(owner.topology_.radio(id).radio,
                  station_addresses(owner.topology_, owner.topology_.node(id)), random_keys,
                  *this) {}
    void advance(std::int64_t until) {
      reached_ns = until;
      channel.advance(until);
    }
    /// What comes too late is there now.
    void arrive(const Arrival& arrival) {
      channel.arrive(arrival.port, std::max(arrival.time, reached_ns), arrival.frame);
    }
    void received(unsigned station, std::int64_t time, std::span<const std::byte> frame) override {
      emulation.send_at(time, id, station, frame);
    }
    void transmitted(const RadioChannel::Transmission&) override {}
    void dropped(unsigned, RadioChannel::Drop, std::size_t) override {}

    Emulation& emulation;
    const NodeId id;
    RadioChannel channel;
    std::int64_t reached_ns = 0;
  };

  void add_host(NodeId id, const UmlSettings& settings) {
    first_device_.push_back(devices_.size());
    for (unsigned i = 0; i < settings.devices.size(); ++i) {
      devices_.push_back(
          std::make_unique<Device>(*this, id, i, settings.devices[i], settings.device_socket(i)));
      watched_.push_back({devices_.back()->listener.descriptor(), POLLIN, 0});
      watched_.push_back({-1, POLLIN, 0});  // its answers to interrupts
    }
    processes_.push_back(std::make_unique<GuestProcess>(uml_command(settings)));
  }

  void send(NodeId node, unsigned port, std::span<const std::byte> frame) {
    send_at(clock_ns(), node, port, frame);
  }
  void send_at(std::int64_t time, NodeId node, unsigned port, std::span<const std::byte> frame) {
    Outgoing& out = out_[node][port];
    const Outgoing::Passage passage = out.send(time, frame.size());
    if (passage.arrives())
      arrivals_.push({passage.arrival_ns,
                      order_++,
                      out.wire().node,
                      out.wire().port,
                      {frame.begin(), frame.end()}});
  }

  void deliver_what_is_due() {
    while (!arrivals_.empty() && arrivals_.top().time <= clock_ns()) {
      const Arrival arrival = std::move(const_cast<Arrival&>(arrivals_.top()));
      arrivals_.pop();
      const std::int64_t late = clock_ns() - arrival.time;
      late_most_ns_ = std::max(late_most_ns_, late);
      late_sum_ns_ += static_cast<double>(late);
      ++delivered_;
      if (topology_.is_radio(arrival.node)) {
        radio(arrival.node).arrive(arrival);
        continue;
      }
      if (!topology_.is_host(arrival.node)) {
        pass_on(arrival);
        continue;
      }
      Device& to = *devices_[first_device_[arrival.node] + arrival.port];
      if (!to.gone && to.device.deliver(arrival.frame)) interrupt(to, 0);
    }
  }

  void pass_on(const Arrival& arrival) {
    const std::size_t number = arrival.node - topology_.hosts.size();
    tables_[number].pass(arrival.frame, arrival.port, out_[arrival.node].size(), clock_ns(),
                         [&](unsigned port) { send(arrival.node, port, arrival.frame); });
  }

  Radio& radio(NodeId id) { return *radios_[topology_.radio_number(id)]; }

  static void interrupt(Device& to, std::uint16_t queue) try {
    if (to.device.wants_interrupt(queue)) to.device.interrupt(queue);
  } catch (const GuestGone&) {
    to.gone = true;
  }

  void wait(std::int64_t end) {
    std::int64_t next = arrivals_.empty() ? end : std::min(end, arrivals_.top().time);
    for (const auto& radio : radios_) next = std::min(next, radio->channel.next());
    const std::int64_t left = std::max<std::int64_t>(next - clock_ns(), 0);
    const timespec patience{left / 1'000'000'000, left % 1'000'000'000};
    if (ppoll(watched_.data(), watched_.size(), &patience, nullptr) <= 0) return;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      try {
        if (watched_[2 * i + 1].revents != 0) devices_[i]->device.receive_answer();
        if (watched_[2 * i].revents != 0) receive(i);
      } catch (const GuestGone&) {  // it has switched itself off
        watched_[2 * i].fd = watched_[2 * i + 1].fd = -1;
        devices_[i]->gone = true;
      }
    }
  }

  void receive(std::size_t i) {
    Device& from = *devices_[i];
    if (from.device.is_attached()) {
      from.device.receive();
      watched_[2 * i + 1].fd = from.device.interrupt_descriptor();
      return;
    }
    from.device.attach(from.listener.accept());
    watched_[2 * i].fd = from.device.descriptor();
    if (++connected_ == devices_.size()) connected_ns_ = clock_ns();
  }

  const Topology& topology_;
  std::vector<std::vector<Outgoing>> out_;  ///< by node and port
  std::vector<SwitchTable> tables_;         ///< by switch
  std::vector<std::unique_ptr<Radio>> radios_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::size_t> first_device_;  ///< by host
  std::vector<std::unique_ptr<GuestProcess>> processes_;
  std::vector<pollfd> watched_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  std::uint64_t order_ = 0, delivered_ = 0;
  std::int64_t late_most_ns_ = 0, connected_ns_ = 0;
  double late_sum_ns_ = 0;
  std::size_t connected_ = 0;
};

}  // namespace

int main(int count, char** words) {
  if (count != 5 && count != 6) {
    std::fputs("usage: lab_fair TOPOLOGY FOLDER KERNEL SECONDS [SEED]\n", stderr);
    return 2;
  }
  try {
    clock_ns();
    const Topology topology = read_topology(words[1]);
    Emulation emulation(topology, words[2], words[3],
                        count == 6 ? std::strtoull(words[5], nullptr, 10) : 1);
    emulation.run_until(static_cast<std::int64_t>(std::strtod(words[4], nullptr) * 1e9));
    emulation.print();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lab_fair: %s\n", error.what());
    return 1;
  }
}
