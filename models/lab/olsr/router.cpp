// SPDX-License-Identifier: Apache-2.0
#include "router.h"

#include <algorithm>
#include <utility>

#include "mpr.h"

namespace orrery::lab::olsr {
namespace {

constexpr Time kDuplicateHolds = 30 * kSecond;  // 18.3
constexpr int kHolds = 3;                       ///< validity of a message in intervals (18.3)
constexpr std::uint8_t kFar = 255;              ///< time to live of messages for the whole network
constexpr std::size_t kMostWaiting = 1'024;     ///< forwarded messages waiting at an interface

/// Whether an entry may be added or renewed. Entries can be renewed even if the map is full.
template <class Map>
bool has_room(const Map& map, const typename Map::key_type& key) {
  return map.size() < Information::kMostEntries || map.contains(key);
}

}  // namespace

Router::Router(const Settings& settings, std::uint64_t random_seed, Time now)
    : settings_(settings), random_(random_seed), ports_(settings.interfaces.size()) {
  known_.own.insert(settings.interfaces.begin(), settings.interfaces.end());
  // Other routers may still remember the numbers of an earlier router with this address.
  message_sequence_ = static_cast<std::uint16_t>(random_());
  for (Port& port : ports_) port.next_hello = now + jitter();
  next_tc_ = now + jitter();
  if (ports_.size() > 1) next_mid_ = now + jitter();
  if (!settings.networks.empty()) next_hna_ = now + jitter();
}

/// A random time up to MAXJITTER, a quarter of the HELLO interval (18.2).
Time Router::jitter() {
  return static_cast<Time>(random_() %
                           static_cast<std::uint64_t>(settings_.hello_interval / 4 + 1));
}

void Router::receive(std::size_t interface, Address sender, std::span<const std::uint8_t> packet,
                     Time now) {
  refresh(now);
  if (known_.own.contains(sender) || !is_unicast(sender)) return;
  for (const Message& message : read_packet(packet)) take(interface, sender, message, now);
  next_expiry_ = 0;
  refresh(now);
}

/// 3.4
void Router::take(std::size_t interface, Address sender, const Message& message, Time now) {
  if (message.time_to_live == 0 || known_.own.contains(message.originator) ||
      !is_unicast(message.originator))
    return;
  const auto type = static_cast<MessageType>(message.type);
  if (type == MessageType::hello) return take_hello(interface, sender, message, now);
  if (!known_.hears_symmetrically(interface, sender)) return;
  if (!known_.duplicates.contains({message.originator, message.sequence})) {
    if (type == MessageType::tc) take_tc(message, now);
    if (type == MessageType::mid) take_mid(message, now);
    if (type == MessageType::hna) take_hna(message, now);
  }
  consider_forwarding(interface, sender, message, now);
}

void Router::take_hello(std::size_t interface, Address sender, const Message& message, Time now) {
  const std::optional<Hello> hello = read_hello(message.body);
  if (!hello) return;
  sense_link(interface, sender, message, *hello, now);
  if (!known_.hears_symmetrically(interface, sender)) return;
  learn_two_hop(message, *hello, now);
  for (const Hello::Entry& entry : hello->entries)
    if (entry.neighbour == NeighbourType::mpr && known_.own.contains(entry.address))
      known_.selectors[message.originator] = now + message.validity;
}

/// 7.1.1 and 8.1
void Router::sense_link(std::size_t interface, Address sender, const Message& message,
                        const Hello& hello, Time now) {
  const Information::LinkKey key{interface, sender};
  if (!known_.links.contains(key) && known_.links.size() >= Information::kMostLinks) return;
  Information::Link& link = known_.links[key];
  const Information::Link before = link;
  if (link.neighbour != message.originator) link = {message.originator};
  link.heard_until = now + message.validity;
  for (const Hello::Entry& entry : hello.entries) {
    if (entry.address != settings_.interfaces[interface]) continue;
    if (entry.link == LinkType::lost) {
      link.symmetric_until = 0;
    } else if (entry.link != LinkType::unspecified) {
      link.symmetric_until = now + message.validity;
      link.until = link.symmetric_until + kHolds * settings_.hello_interval;
    }
  }
  link.until = std::max(link.until, link.heard_until);
  const auto [place, is_new] = known_.willingness.emplace(link.neighbour, hello.willingness);
  if (link.is_symmetric() != before.is_symmetric() || link.neighbour != before.neighbour ||
      place->second != hello.willingness)
    changes_.neighbourhood = true;
  place->second = hello.willingness;
  if (before.is_symmetric() || link.neighbour != before.neighbour) known_.forget_lost_neighbours();
}

/// 8.2.1
void Router::learn_two_hop(const Message& message, const Hello& hello, Time now) {
  for (const Hello::Entry& entry : hello.entries) {
    if (known_.own.contains(entry.address)) continue;
    if (entry.neighbour == NeighbourType::none) {
      forget_two_hop(message.originator, known_.main_address(entry.address));
      continue;
    }
    const std::pair pair(message.originator, entry.address);
    if (!has_room(known_.two_hop, pair)) continue;
    Time& until = known_.two_hop[pair];
    changes_.neighbourhood |= until == 0;
    until = now + message.validity;
  }
}

void Router::forget_two_hop(Address neighbour, Address far) {
  for (auto one = known_.two_hop.lower_bound({neighbour, Address{}});
       one != known_.two_hop.end() && one->first.first == neighbour;) {
    if (known_.main_address(one->first.second) == far) {
      one = known_.two_hop.erase(one);
      changes_.neighbourhood = true;
    } else {
      ++one;
    }
  }
}

/// 9.5
void Router::take_tc(const Message& message, Time now) {
  const std::optional<TopologyControl> tc = read_tc(message.body);
  if (!tc) return;
  const auto end = [&](auto one) {
    return one == known_.topology.end() || one->first.first != message.originator;
  };
  const auto first = known_.topology.lower_bound({message.originator, Address{}});
  for (auto one = first; !end(one); ++one)
    if (is_later(one->second.sequence, tc->sequence)) return;
  for (auto one = first; !end(one);) {
    if (is_later(tc->sequence, one->second.sequence)) {
      one = known_.topology.erase(one);
      changes_.routes = true;
    } else {
      ++one;
    }
  }
  for (const Address neighbour : tc->neighbours) {
    const std::pair pair(message.originator, neighbour);
    if (!has_room(known_.topology, pair)) continue;
    const auto [place, is_new] = known_.topology.try_emplace(pair);
    place->second = {tc->sequence, now + message.validity};
    changes_.routes |= is_new;
  }
}

/// 5.4
void Router::take_mid(const Message& message, Time now) {
  const std::optional<std::vector<Address>> interfaces = read_mid(message.body);
  if (!interfaces) return;
  for (const Address interface : *interfaces) {
    if (known_.own.contains(interface) || interface == message.originator) continue;
    if (!has_room(known_.interfaces, interface)) continue;
    Information::MainAddress& main = known_.interfaces[interface];
    changes_.neighbourhood |= main.address != message.originator;
    main = {message.originator, now + message.validity};
  }
}

/// 12.5
void Router::take_hna(const Message& message, Time now) {
  const std::optional<std::vector<Network>> networks = read_hna(message.body);
  if (!networks) return;
  for (const Network& network : *networks) {
    const auto& own = settings_.networks;
    if (std::find(own.begin(), own.end(), network) != own.end()) continue;
    const std::pair pair(message.originator, network);
    if (!has_room(known_.networks, pair)) continue;
    Time& until = known_.networks[pair];
    changes_.routes |= until == 0;
    until = now + message.validity;
  }
}

/// 3.4.1
void Router::consider_forwarding(std::size_t interface, Address sender, const Message& message,
                                 Time now) {
  const Information::MessageKey key{message.originator, message.sequence};
  const auto found = known_.duplicates.find(key);
  if (!has_room(known_.duplicates, key)) return;
  if (found != known_.duplicates.end() &&
      (found->second.is_forwarded || found->second.interfaces.contains(interface)))
    return;
  const Address neighbour = known_.links.at({interface, sender}).neighbour;
  Information::Duplicate& duplicate = known_.hold(key, now + kDuplicateHolds);
  duplicate.interfaces.insert(interface);
  duplicate.is_forwarded = message.time_to_live > 1 && known_.selectors.contains(neighbour);
  if (!duplicate.is_forwarded || ports_.front().waiting.size() >= kMostWaiting) return;
  Message forwarded = message;
  --forwarded.time_to_live;
  ++forwarded.hop_count;
  send_to_all(write_message(forwarded), now + jitter());
}

/// Removes expired entries, and recomputes MPRs and routes if needed.
void Router::refresh(Time now) {
  if (now >= next_expiry_) {
    const Information::Changes expired = known_.expire(now);
    changes_.neighbourhood |= expired.neighbourhood;
    changes_.routes |= expired.routes;
    next_expiry_ = known_.next_expiry();
  }
  std::set<Address> selectors;
  for (const auto& [address, until] : known_.selectors) selectors.insert(address);
  if (selectors != advertised_) {
    advertised_ = std::move(selectors);
    ++advertised_sequence_;
    changes_.routes = true;  // add_two_hop() prefers MPR selectors
  }
  if (changes_.neighbourhood) known_.mprs = choose_mprs(known_);
  if (changes_.neighbourhood || changes_.routes) routes_ = compute_routes(known_);
  changes_ = {};
}

std::vector<Router::Packet> Router::advance(Time now) {
  refresh(now);
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    if (!is_due(ports_[i].next_hello, settings_.hello_interval, now)) continue;
    ports_[i].waiting.push_back(
        own_message(MessageType::hello, settings_.hello_interval, 1, write_hello(hello_of(i))));
    ports_[i].leaves = now;
  }
  advertise(now);
  std::vector<Packet> packets;
  for (std::size_t i = 0; i < ports_.size(); ++i)
    if (ports_[i].leaves <= now)
      for (Packet& packet : packets_of(i)) packets.push_back(std::move(packet));
  return packets;
}

/// Sends the messages for the whole network: TC, MID and HNA.
void Router::advertise(Time now) {
  const Time interval = settings_.tc_interval;
  if (is_due(next_tc_, interval, now)) {
    if (!advertised_.empty()) advertises_until_ = now + time_of_code(time_code(kHolds * interval));
    if (now < advertises_until_)
      send_to_all(
          own_message(MessageType::tc, interval, kFar,
                      write_tc({advertised_sequence_, {advertised_.begin(), advertised_.end()}})),
          now);
  }
  if (is_due(next_mid_, interval, now)) {
    std::vector<Address> others = settings_.interfaces;
    std::erase(others, settings_.main);
    send_to_all(own_message(MessageType::mid, interval, kFar, write_mid(others)), now);
  }
  if (is_due(next_hna_, interval, now))
    send_to_all(own_message(MessageType::hna, interval, kFar, write_hna(settings_.networks)), now);
}

/// Whether a periodic message is due; if so, sets its next time (3.5.1).
bool Router::is_due(Time& next, Time interval, Time now) {
  if (next > now) return false;
  next = now + interval - jitter();
  return true;
}

/// 6.2
Hello Router::hello_of(std::size_t interface) const {
  Hello hello{settings_.hello_interval, settings_.willingness, {}};
  const std::set<Address> symmetric = known_.symmetric_neighbours();
  const auto type_of = [&](Address main) {
    return known_.mprs.contains(main) ? NeighbourType::mpr
           : symmetric.contains(main) ? NeighbourType::symmetric
                                      : NeighbourType::none;
  };
  std::set<Address> told;
  for (const auto& [key, link] : known_.links) {
    if (key.first != interface) continue;
    const LinkType type = link.is_symmetric()     ? LinkType::symmetric
                          : link.heard_until != 0 ? LinkType::asymmetric
                                                  : LinkType::lost;
    hello.entries.push_back({key.second, type, type_of(link.neighbour)});
    told.insert(link.neighbour);
  }
  for (const auto& [main, willingness] : known_.willingness)
    if (!told.contains(main)) hello.entries.push_back({main, LinkType::unspecified, type_of(main)});
  return hello;
}

Bytes Router::own_message(MessageType type, Time interval, std::uint8_t time_to_live,
                          std::span<const std::uint8_t> body) {
  return write_message({static_cast<std::uint8_t>(type), kHolds * interval, settings_.main,
                        time_to_live, 0, message_sequence_++, body});
}

void Router::send_to_all(const Bytes& message, Time at) {
  for (Port& port : ports_) {
    port.waiting.push_back(message);
    port.leaves = std::min(port.leaves, at);
  }
}

/// Takes the waiting messages of an interface, in as few packets as fit into frames.
std::vector<Router::Packet> Router::packets_of(std::size_t interface) {
  Port& port = ports_[interface];
  std::vector<Packet> packets;
  const std::span<const Bytes> waiting = port.waiting;
  for (std::size_t first = 0; first < waiting.size();) {
    std::size_t end = first, bytes = 4;
    while (end < waiting.size() && (end == first || bytes + waiting[end].size() <= kPacketBytes))
      bytes += waiting[end++].size();
    packets.push_back(
        {interface, write_packet(port.sequence++, waiting.subspan(first, end - first))});
    first = end;
  }
  port.waiting.clear();
  port.leaves = kNever;
  return packets;
}

Time Router::next() const {
  Time next = std::min({next_expiry_, next_tc_, next_mid_, next_hna_});
  for (const Port& port : ports_) next = std::min({next, port.next_hello, port.leaves});
  return next;
}

}  // namespace orrery::lab::olsr
