// SPDX-License-Identifier: Apache-2.0
//
// The router of the laboratory's hosts against the rules of RFC 3626 (sections of it are meant
// below): single rules with packets made by hand, and whole networks in memory on a virtual clock,
// whose routes must be the shortest.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "../../models/lab/olsr/mpr.h"
#include "../../models/lab/olsr/packet.h"
#include "../../models/lab/olsr/router.h"

namespace orrery::lab::olsr::testing {
namespace {

constexpr Time kMs = kSecond / 1'000;

Address address(std::size_t node, std::size_t interface = 0) {
  return {static_cast<std::uint32_t>(10U << 24 | interface << 16 | (node + 1))};
}

Network host(Address address) {
  return {address, 32};
}

// ---- Networks in memory

/// Routers, and who hears whom. A packet takes a millisecond.
class Net {
 public:
  struct Sent {
    Time at;
    std::size_t node;
    MessageType type;
    Address originator;
    unsigned time_to_live, hop_count;
    std::uint16_t sequence;
    Bytes body;
  };

  /// `interfaces` of each.
  explicit Net(std::size_t count, std::size_t interfaces = 1) : settings_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < interfaces; ++j) settings_[i].interfaces.push_back(address(i, j));
      settings_[i].main = address(i);
    }
  }
  /// Before the first run().
  Settings& settings(std::size_t node) { return settings_[node]; }
  void join(std::size_t one, std::size_t other, std::size_t at_one = 0, std::size_t at_other = 0) {
    heard_by_[{one, at_one}].insert({other, at_other});
    heard_by_[{other, at_other}].insert({one, at_one});
    near_[one].insert(other);
    near_[other].insert(one);
  }
  void part(std::size_t one, std::size_t other) {
    for (auto& [from, to] : heard_by_)
      std::erase_if(to, [&, node = from.first](const Place& place) {
        return (node == one && place.first == other) || (node == other && place.first == one);
      });
    near_[one].erase(other);
    near_[other].erase(one);
  }

  void run(Time until) {
    if (routers_.empty())
      for (std::size_t i = 0; i < settings_.size(); ++i)
        routers_.push_back(std::make_unique<Router>(settings_[i], i + 1, now_));
    for (;;) {
      Time next = under_way_.empty() ? kNever : under_way_.begin()->first;
      for (const auto& router : routers_) {
        ASSERT_LE(router->next(), router->known().next_expiry());
        next = std::min(next, router->next());
      }
      if (next > until) break;
      ASSERT_GE(next, now_) << "a router has left something undone";
      now_ = next;
      deliver();
      for (std::size_t i = 0; i < routers_.size(); ++i)
        for (const Router::Packet& packet : routers_[i]->advance(now_)) send(i, packet);
    }
    now_ = until;
    for (const auto& router : routers_) router->receive(0, {}, {}, now_);
  }

  Time now() const { return now_; }
  std::size_t size() const { return settings_.size(); }
  const Router& operator[](std::size_t node) const { return *routers_[node]; }
  const std::vector<Sent>& sent() const { return sent_; }
  /// From now on.
  void forget_sent() { sent_.clear(); }
  const std::set<std::size_t>& near(std::size_t node) { return near_[node]; }

  /// Hops to each node that can be reached, by a search in breadth.
  std::map<std::size_t, unsigned> distances(std::size_t from) {
    std::map<std::size_t, unsigned> hops = {{from, 0}};
    std::queue<std::size_t> edge({from});
    for (; !edge.empty(); edge.pop())
      for (const std::size_t next : near_[edge.front()])
        if (hops.emplace(next, hops.at(edge.front()) + 1).second) edge.push(next);
    return hops;
  }

 private:
  using Place = std::pair<std::size_t, std::size_t>;  ///< a node and its interface
  struct UnderWay {
    Place to;
    Address sender;
    Bytes bytes;
  };

  void deliver() {
    while (!under_way_.empty() && under_way_.begin()->first <= now_) {
      const UnderWay one = under_way_.extract(under_way_.begin()).mapped();
      routers_[one.to.first]->receive(one.to.second, one.sender, one.bytes, now_);
    }
  }
  void send(std::size_t node, const Router::Packet& packet) {
    if (packet.interface == 0)
      for (const Message& one : read_packet(packet.bytes))
        sent_.push_back({now_, node, static_cast<MessageType>(one.type), one.originator,
                         one.time_to_live, one.hop_count, one.sequence,
                         Bytes(one.body.begin(), one.body.end())});
    for (const Place& to : heard_by_[{node, packet.interface}])
      under_way_.emplace(now_ + kMs, UnderWay{to, address(node, packet.interface), packet.bytes});
  }

  std::vector<Settings> settings_;
  std::map<Place, std::set<Place>> heard_by_;
  std::map<std::size_t, std::set<std::size_t>> near_;
  std::vector<std::unique_ptr<Router>> routers_;
  std::multimap<Time, UnderWay> under_way_;
  std::vector<Sent> sent_;
  Time now_ = kSecond;
};

Net line(std::size_t count) {
  Net net(count);
  for (std::size_t i = 0; i + 1 < count; ++i) net.join(i, i + 1);
  return net;
}
Net ring(std::size_t count) {
  Net net = line(count);
  net.join(count - 1, 0);
  return net;
}
Net star(std::size_t count) {
  Net net(count);
  for (std::size_t i = 1; i < count; ++i) net.join(0, i);
  return net;
}
Net grid(std::size_t side) {
  Net net(side * side);
  for (std::size_t i = 0; i < side * side; ++i) {
    if (i % side + 1 < side) net.join(i, i + 1);
    if (i + side < side * side) net.join(i, i + side);
  }
  return net;
}
/// 0 to 3 and 5 to 8; 4 hears 3 and 5.
Net cliques() {
  Net net(9);
  for (const std::size_t first : {std::size_t{0}, std::size_t{5}})
    for (std::size_t i = first; i < first + 4; ++i)
      for (std::size_t j = i + 1; j < first + 4; ++j) net.join(i, j);
  net.join(3, 4);
  net.join(4, 5);
  return net;
}

/// To each node there is, by neighbours who are one hop nearer, and to none else.
void expect_shortest_routes(Net& net) {
  for (std::size_t from = 0; from < net.size(); ++from) {
    const auto hops = net.distances(from);
    const auto to_hosts = std::count_if(net[from].routes().begin(), net[from].routes().end(),
                                        [](const auto& one) { return one.first.length == 32; });
    EXPECT_EQ(static_cast<std::size_t>(to_hosts), hops.size() - 1) << from;
    for (const auto& [to, distance] : hops) {
      if (to == from) continue;
      const auto route = net[from].routes().find(host(address(to)));
      ASSERT_NE(route, net[from].routes().end()) << from << " to " << to;
      EXPECT_EQ(route->second.hops, distance) << from << " to " << to;
      const std::size_t next = route->second.next.bits - address(0).bits;
      EXPECT_TRUE(net.near(from).contains(next));
      EXPECT_EQ(net.distances(next).at(to), distance - 1) << from << " to " << to;
    }
  }
}

void expect_covering_mprs(Net& net) {
  for (std::size_t node = 0; node < net.size(); ++node) {
    std::set<Address> covered;
    for (const Address mpr : net[node].known().mprs)
      for (const std::size_t far : net.near(mpr.bits - address(0).bits))
        covered.insert(address(far));
    for (const auto& [far, distance] : net.distances(node))
      EXPECT_TRUE(distance != 2 || covered.contains(address(far))) << node << " to " << far;
  }
}

/// Who is an MPR of anyone, and so who advertises.
std::set<std::size_t> relays(const Net& net) {
  std::set<std::size_t> relays;
  for (std::size_t node = 0; node < net.size(); ++node)
    for (const Address mpr : net[node].known().mprs) relays.insert(mpr.bits - address(0).bits);
  return relays;
}

std::set<std::size_t> senders_of_own(const Net& net, MessageType type) {
  std::set<std::size_t> nodes;
  for (const Net::Sent& one : net.sent())
    if (one.type == type && one.originator == address(one.node)) nodes.insert(one.node);
  return nodes;
}

class LabOlsrNetwork : public ::testing::TestWithParam<std::size_t> {
 protected:
  Net net() const {
    const std::array<Net (*)(), 6> all = {[] { return line(6); },
                                          [] { return ring(7); },
                                          [] { return star(6); },
                                          [] { return grid(4); },
                                          cliques,
                                          [] { return ring(4); }};
    return all[GetParam()]();
  }
};

TEST_P(LabOlsrNetwork, HasShortestRoutesAndTheMessagesThatTheRfcAllows) {
  Net net = this->net();
  net.run(40 * kSecond);
  net.forget_sent();  // while they find each other, others are MPRs for a while
  net.run(60 * kSecond);
  expect_shortest_routes(net);
  expect_covering_mprs(net);
  EXPECT_EQ(senders_of_own(net, MessageType::tc), relays(net));
  EXPECT_EQ(senders_of_own(net, MessageType::mid), std::set<std::size_t>{});
  std::set<std::tuple<std::size_t, Address, std::uint16_t>> once;
  for (const Net::Sent& one : net.sent()) {
    EXPECT_TRUE(once.emplace(one.node, one.originator, one.sequence).second) << "sent twice";
    const bool is_own = one.originator == address(one.node);
    if (one.type == MessageType::hello) {
      EXPECT_TRUE(is_own) << "a HELLO goes no further";
      EXPECT_EQ(one.time_to_live, 1U);
    } else {
      EXPECT_EQ(one.time_to_live + one.hop_count, 255U);
      EXPECT_EQ(one.hop_count == 0, is_own);
      EXPECT_TRUE(is_own || relays(net).contains(one.node)) << "only MPRs pass messages on";
    }
  }
}

/// Three HELLOs after the first are heard at most: one each way, and one that tells what was heard.
TEST_P(LabOlsrNetwork, HasSymmetricLinksAfterThreeHellos) {
  Net net = this->net();
  net.run(kSecond + 3 * 2 * kSecond);
  for (std::size_t node = 0; node < net.size(); ++node) {
    std::set<Address> near;
    for (const std::size_t one : net.near(node)) near.insert(address(one));
    EXPECT_EQ(net[node].known().symmetric_neighbours(), near) << node;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LabOlsrNetwork, ::testing::Range<std::size_t>(0, 6));

TEST(LabOlsr, RelaysAreThoseThatOneFindsByHand) {
  Net in_line = line(5), joined = cliques(), hub = star(5);
  for (Net* const net : {&in_line, &joined, &hub}) net->run(30 * kSecond);
  EXPECT_EQ(relays(in_line), (std::set<std::size_t>{1, 2, 3}));
  EXPECT_EQ(relays(joined), (std::set<std::size_t>{3, 4, 5}));
  EXPECT_EQ(relays(hub), (std::set<std::size_t>{0}));
}

TEST(LabOlsr, WhoIsNeverWillingIsNoRelayAndWhoAlwaysIsIsOne) {
  const auto diamond = [](std::uint8_t one, std::uint8_t two) {
    Net net = ring(4);  // from 0 to 2 by 1 or 3
    net.settings(1).willingness = one;
    net.settings(3).willingness = two;
    net.run(30 * kSecond);
    return net;
  };
  const Net unlike = diamond(kWillNever, kWillDefault);
  EXPECT_EQ(unlike[0].known().mprs, std::set{address(3)});
  EXPECT_EQ(unlike[0].routes().at(host(address(2))).next, address(3));
  const Net neither = diamond(kWillNever, kWillNever);
  EXPECT_EQ(neither[0].known().mprs, std::set<Address>{});
  EXPECT_FALSE(neither[0].routes().contains(host(address(2))));
  EXPECT_EQ(diamond(kWillAlways, kWillAlways)[0].known().mprs, (std::set{address(1), address(3)}));
  EXPECT_EQ(diamond(5, 6)[0].known().mprs, std::set{address(3)}) << "the more willing";
}

TEST(LabOlsr, ALinkThatGoesIsNoticedWhenItsTimeIsOver) {
  Net net = line(2);
  net.run(20 * kSecond);
  net.part(0, 1);
  net.run(20 * kSecond + 3 * kSecond);
  EXPECT_EQ(net[0].routes().size(), 1U) << "the last HELLO is at most 2 s older";
  net.run(20 * kSecond + 6 * kSecond + kMs);
  EXPECT_EQ(net[0].routes().size(), 0U);
  EXPECT_EQ(net[0].known().links.size(), 1U) << "told as lost for a while";
  net.run(net.now() + 2 * kSecond);
  EXPECT_EQ(read_hello(net.sent().back().body)->entries.at(0).link, LinkType::lost);
  net.run(net.now() + 5 * kSecond);
  EXPECT_TRUE(net[0].known().links.empty());
  EXPECT_TRUE(net[0].known().willingness.empty());
}

TEST(LabOlsr, ARingRoutesAroundAGapAndBack) {
  Net net = ring(6);
  net.run(40 * kSecond);
  net.part(0, 1);
  net.run(80 * kSecond);
  expect_shortest_routes(net);
  EXPECT_EQ(net[0].routes().at(host(address(1))).hops, 5U);
  net.join(0, 1);
  net.run(120 * kSecond);
  expect_shortest_routes(net);
}

TEST(LabOlsr, ForgetsEverythingWhenNothingComesAnyMore) {
  Net net = grid(3);
  net.settings(8).networks = {{{192U << 24}, 8}};
  net.run(40 * kSecond);
  EXPECT_FALSE(net[0].known().topology.empty());
  EXPECT_FALSE(net[0].known().networks.empty());
  net.part(0, 1);
  net.part(0, 3);
  net.run(40 * kSecond + 6 * kSecond + kMs);
  EXPECT_TRUE(net[0].routes().empty());
  EXPECT_TRUE(net[0].known().two_hop.empty());
  EXPECT_TRUE(net[0].known().selectors.empty());
  EXPECT_TRUE(net[0].known().mprs.empty());
  EXPECT_FALSE(net[0].known().topology.empty());
  net.run(40 * kSecond + 15 * kSecond + kMs);
  EXPECT_TRUE(net[0].known().topology.empty());
  EXPECT_TRUE(net[0].known().networks.empty());
  net.run(40 * kSecond + 30 * kSecond + kMs);
  EXPECT_TRUE(net[0].known().duplicates.empty());
  net.run(100 * kSecond);
  expect_shortest_routes(net);
}

TEST(LabOlsr, KnowsADuplicateUntilTheLastTimeForWhichItWasHeld) {
  Information known;
  const Information::MessageKey twice{address(1), 7}, once{address(2), 7};
  known.hold(twice, 10).interfaces.insert(0);
  known.hold(once, 10);
  known.hold(twice, 10);
  known.hold(twice, 12).interfaces.insert(1);
  known.expire(9);
  EXPECT_EQ(known.duplicates.size(), 2U);
  EXPECT_EQ(known.next_expiry(), 10);
  known.expire(10);
  EXPECT_FALSE(known.duplicates.contains(once));
  ASSERT_TRUE(known.duplicates.contains(twice));
  EXPECT_EQ(known.duplicates.at(twice).interfaces, (std::set<std::size_t>{0, 1}));
  EXPECT_EQ(known.next_expiry(), 12);
  known.expire(12);
  EXPECT_TRUE(known.duplicates.empty());
  EXPECT_TRUE(known.duplicate_ends.empty());
  EXPECT_EQ(known.next_expiry(), kNever);
}

/// 9.3: others are told that there is nothing any more, for as long as they believe otherwise.
void expect_empty_tcs_until_all_know(Time interval, Time announced) {
  Net net = line(3);
  for (std::size_t i = 0; i < 3; ++i) {
    net.settings(i).hello_interval = interval;
    net.settings(i).tc_interval = interval;
  }
  net.run(net.now() + 20 * interval);
  const std::uint16_t before = net[1].advertised_sequence();
  net.part(0, 1);
  net.part(1, 2);
  net.run(net.now() + 4 * announced);
  EXPECT_TRUE(is_later(net[1].advertised_sequence(), before));
  Time last_full = 0, last_empty = 0;
  for (const Net::Sent& one : net.sent())
    if (one.type == MessageType::tc && one.node == 1) {
      const auto tc = read_tc(one.body);
      ASSERT_TRUE(tc);
      (tc->neighbours.empty() ? last_empty : last_full) = one.at;
      if (tc->neighbours.empty()) {
        EXPECT_EQ(tc->sequence, net[1].advertised_sequence());
      }
    }
  EXPECT_GT(last_empty, last_full + announced - interval);
  EXPECT_LE(last_empty, last_full + announced);
}
TEST(LabOlsr, TellsThatThereIsNothingToAdvertiseAsLongAsOthersBelieveIt) {
  expect_empty_tcs_until_all_know(2 * kSecond, 6 * kSecond);
  // The shortest time that can be announced is a sixteenth of a second (18.3).
  expect_empty_tcs_until_all_know(10 * kMs, kSecond / 16);
}

TEST(LabOlsr, KeepsQuickNeighboursOfIntervalsThatNoMessageCanTell) {
  Net net = line(4);
  for (std::size_t i = 0; i < 4; ++i)
    net.settings(i).hello_interval = net.settings(i).tc_interval = 10 * kMs;
  net.run(2 * kSecond);
  for (int i = 0; i < 300; ++i) {
    net.run(net.now() + kMs);
    ASSERT_EQ(net[0].routes().size(), 3U) << "at no time is anything taken for lost";
  }
  net.part(0, 1);
  net.run(net.now() + kSecond / 16 + kMs);
  EXPECT_TRUE(net[0].routes().empty());
}

TEST(LabOlsr, ReachesAllInterfacesOfAll) {
  Net net(5, 2);  // a line: from the second interface of one to the first of the next
  for (std::size_t i = 0; i + 1 < 5; ++i) net.join(i, i + 1, 1, 0);
  net.run(40 * kSecond);
  EXPECT_EQ(senders_of_own(net, MessageType::mid).size(), 5U);
  for (std::size_t from = 0; from < 5; ++from) {
    EXPECT_EQ(net[from].routes().size(), 8U);
    for (std::size_t to = 0; to < 5; ++to)
      for (const std::size_t interface : {0, 1}) {
        if (to == from) continue;
        const auto route = net[from].routes().find(host(address(to, interface)));
        ASSERT_NE(route, net[from].routes().end()) << from << " to " << to;
        EXPECT_EQ(route->second.hops, to > from ? to - from : from - to);
        EXPECT_EQ(route->second.interface, to > from ? 1U : 0U);
        EXPECT_EQ(route->second.next, to > from ? address(from + 1, 0) : address(from - 1, 1));
      }
  }
  EXPECT_EQ(net[0].known().main_address(address(4, 1)), address(4));
}

TEST(LabOlsr, NetworksAreReachedByTheNearestGateway) {
  Net net = line(6);
  const Network network{{192U << 24 | 168U << 16}, 16}, all{{}, 0};
  net.settings(0).networks = {network};
  net.settings(5).networks = {network, all};
  net.run(40 * kSecond);
  EXPECT_FALSE(net[0].routes().contains(network)) << "it is its own";
  EXPECT_EQ(net[1].routes().at(network).next, address(0));
  EXPECT_EQ(net[4].routes().at(network).next, address(5));
  EXPECT_EQ(net[1].routes().at(all).next, address(2));
  EXPECT_EQ(net[1].routes().at(all).hops, 4U);
  net.part(0, 1);
  net.run(80 * kSecond);
  EXPECT_EQ(net[1].routes().at(network).next, address(2));
}

// ---- Single rules

TEST(LabOlsrMpr, TakesTheOnlyWayThenTheWidestThenTheHighestDegree) {
  const auto far = [](std::initializer_list<std::size_t> nodes) {
    std::set<Address> all;
    for (const std::size_t node : nodes) all.insert(address(node));
    return all;
  };
  const Address a = address(1), b = address(2), c = address(3), d = address(4);
  using Candidates = std::map<Address, MprCandidate>;
  EXPECT_EQ(
      choose_mprs(Candidates{
          {a, {3, 2, far({11, 12})}}, {b, {3, 3, far({12, 13, 14})}}, {c, {3, 9, far({14})}}}),
      (std::set{a, b}))
      << "the only ways";
  const auto by_degree = [&](std::size_t of_c, std::size_t of_d) {
    return choose_mprs(Candidates{{a, {3, 3, far({11, 12, 13})}},
                                  {b, {3, 9, far({11, 12})}},
                                  {c, {3, of_c, far({13, 14})}},
                                  {d, {3, of_d, far({14})}}});
  };
  EXPECT_EQ(by_degree(2, 5), (std::set{a, d})) << "b is narrower, c of lower degree";
  EXPECT_EQ(by_degree(2, 2), (std::set{a, c})) << "the lower address";
  EXPECT_EQ(choose_mprs(Candidates{
                {a, {3, 2, far({11, 12})}}, {b, {6, 1, far({11})}}, {c, {6, 1, far({12})}}}),
            (std::set{b, c}))
      << "the more willing";
  EXPECT_EQ(choose_mprs(Candidates{
                {a, {6, 1, far({11})}}, {b, {3, 2, far({11, 12})}}, {c, {2, 1, far({12})}}}),
            std::set{b})
      << "a has become superfluous";
  EXPECT_EQ(choose_mprs(Candidates{{a, {kWillAlways, 0, {}}}, {b, {3, 1, far({11})}}}),
            (std::set{a, b}));
}

TEST(LabOlsrPacket, TimesAreThoseOf18_3) {
  const std::vector<std::pair<Time, unsigned>> codes = {
      {2 * kSecond, 0x05},  {3 * kSecond, 0x85},  {5 * kSecond, 0x46},  {6 * kSecond, 0x86},
      {15 * kSecond, 0xe7}, {30 * kSecond, 0xe8}, {kSecond / 16, 0x00}, {3968 * kSecond, 0xff}};
  for (const auto& [time, code] : codes) {
    EXPECT_EQ(time_code(time), code) << time;
    EXPECT_EQ(time_of_code(static_cast<std::uint8_t>(code)), time);
  }
  EXPECT_EQ(time_code(6 * kSecond + 1), 0x96) << "rounded up";
  EXPECT_EQ(time_code(4 * kSecond - 1), 0x06) << "rounded up to the next power";
  EXPECT_EQ(time_code(1), 0x00);
  EXPECT_EQ(time_code(10'000 * kSecond), 0xff);
  for (unsigned code = 0; code < 256; ++code)
    EXPECT_EQ(time_code(time_of_code(static_cast<std::uint8_t>(code))), code);
  for (Time time = 10 * kMs; time < 3'900 * kSecond; time += time / 7) {
    EXPECT_GE(time_of_code(time_code(time)), time) << "announced is no less than what is true";
    EXPECT_LE(time_of_code(time_code(time)), std::max(time + time / 16, kSecond / 16));
  }
}

TEST(LabOlsrPacket, NumbersWrapAround) {
  EXPECT_TRUE(is_later(1, 0));
  EXPECT_TRUE(is_later(0, 65'535));
  EXPECT_FALSE(is_later(65'535, 0));
  EXPECT_TRUE(is_later(32'767, 0));
  EXPECT_FALSE(is_later(7, 7));
  std::mt19937 random(1);
  for (unsigned i = 0; i < 65'536; ++i) {
    const auto one = static_cast<std::uint16_t>(random()), other = static_cast<std::uint16_t>(i);
    EXPECT_EQ(is_later(one, other), one != other && !is_later(other, one));
  }
  // Half the range apart: S2 > S1 and S2 - S1 > MAXVALUE / 2 (19).
  EXPECT_TRUE(is_later(0, 32'768));
  EXPECT_FALSE(is_later(32'768, 0));
}

TEST(LabOlsrPacket, BytesAreThoseOfTheRfc) {
  const Hello hello{2 * kSecond,
                    3,
                    {{address(1), LinkType::symmetric, NeighbourType::mpr},
                     {address(2), LinkType::asymmetric, NeighbourType::none},
                     {address(3), LinkType::symmetric, NeighbourType::mpr}}};
  const Bytes body = write_hello(hello);
  EXPECT_EQ(body, (Bytes{0,  0, 5, 3,                //
                         1,  0, 0, 8,  10, 0, 0, 3,  //
                         10, 0, 0, 12, 10, 0, 0, 2, 10, 0, 0, 4}));
  const Bytes message = write_message({1, 6 * kSecond, address(0), 1, 0, 0x1234, body});
  const Bytes packet = write_packet(0xabcd, std::vector<Bytes>{message, message});
  EXPECT_EQ(Bytes(packet.begin(), packet.begin() + 16),
            (Bytes{0, 76, 0xab, 0xcd, 1, 0x86, 0, 36, 10, 0, 0, 1, 1, 0, 0x12, 0x34}));
  ASSERT_EQ(read_packet(packet).size(), 2U);
  EXPECT_EQ(read_packet(packet)[1].sequence, 0x1234);
  EXPECT_EQ(read_hello(body)->entries.size(), 3U);
  for (std::size_t length = 0; length < packet.size(); ++length)
    EXPECT_TRUE(read_packet(std::span(packet).first(length)).empty()) << "a packet that is cut off";
  for (std::size_t length = 0; length < body.size(); ++length)
    EXPECT_EQ(read_hello(std::span(body).first(length)).has_value(), length == 4 || length == 12)
        << length;
  EXPECT_EQ(write_hna(std::vector<Network>{{{10U << 24}, 8}}), (Bytes{10, 0, 0, 0, 255, 0, 0, 0}));
  EXPECT_TRUE(read_hna(Bytes{10, 0, 0, 0, 255, 0, 255, 0})->empty()) << "a mask with a gap";
  EXPECT_FALSE(read_hna(Bytes{10, 0, 0, 0}));
  EXPECT_EQ(read_hello(Bytes{0, 0, 5, 200})->willingness, kWillAlways) << "none is more willing";
  EXPECT_TRUE(read_hello(Bytes{0, 0, 5, 3, 2, 0, 0, 8, 10, 0, 0, 3})->entries.empty())
      << "a symmetric link to no neighbour (6.1.1)";
}

/// A router with two interfaces, and neighbours whose messages are made here.
class LabOlsrRules : public ::testing::Test {
 protected:
  static constexpr std::size_t kRelayed = 1,
                               kOther = 2;  ///< nodes; the first has chosen the router

  static Settings two_interfaces() {
    Settings settings;
    settings.interfaces = {address(0, 0), address(0, 1)};
    settings.main = address(0);
    return settings;
  }

  void take(std::size_t interface, std::size_t from, MessageType type, Address originator,
            const Bytes& body, std::uint16_t number, std::uint8_t time_to_live = 255,
            Time validity = 6 * kSecond, std::uint8_t hops = 4) {
    const Message message{
        static_cast<std::uint8_t>(type), validity, originator, time_to_live, hops, number, body};
    router_.receive(interface, address(from, interface),
                    write_packet(0, std::vector<Bytes>{write_message(message)}), now_);
  }
  void hello(std::size_t interface, std::size_t from, LinkType link,
             NeighbourType neighbour = NeighbourType::none, Time validity = 6 * kSecond,
             std::vector<Hello::Entry> more = {}) {
    more.push_back({address(0, interface), link, neighbour});
    take(interface, from, MessageType::hello, address(from),
         write_hello({2 * kSecond, kWillDefault, more}), number_++, 1, validity, 0);
  }
  void meet_neighbours() {
    for (const std::size_t interface : {0, 1}) {
      hello(interface, kRelayed, LinkType::symmetric, NeighbourType::mpr);
      hello(interface, kOther, LinkType::symmetric, NeighbourType::symmetric);
    }
  }
  void tc(std::size_t from, std::uint16_t number, std::uint16_t advertised,
          const std::vector<Address>& neighbours, std::size_t interface = 0,
          std::uint8_t time_to_live = 255) {
    take(interface, from, MessageType::tc, kFarAway, write_tc({advertised, neighbours}), number,
         time_to_live);
  }
  /// Messages of others in what leaves within MAXJITTER, at one interface.
  std::vector<Message> forwarded(std::size_t interface = 0) {
    std::vector<Message> messages;
    now_ += kSecond / 2;
    packets_ = router_.advance(now_);
    for (const Router::Packet& packet : packets_)
      for (const Message& one : read_packet(packet.bytes))
        if (packet.interface == interface && one.originator != address(0)) messages.push_back(one);
    return messages;
  }
  std::set<Address> destinations() const {
    std::set<Address> all;
    for (const auto& [pair, entry] : router_.known().topology) all.insert(pair.second);
    return all;
  }

  const Address kFarAway = address(50);
  Time now_ = 100 * kSecond;
  std::uint16_t number_ = 0;
  Router router_{two_interfaces(), 1, now_};
  std::vector<Router::Packet> packets_;
};

TEST_F(LabOlsrRules, LinksAreHeardThenSymmetricThenLost) {
  const Information& known = router_.known();
  const Information::LinkKey key{0, address(1)};
  hello(1, 1, LinkType::unspecified);
  EXPECT_TRUE(known.symmetric_neighbours().empty());
  hello(0, 1, LinkType::asymmetric);
  EXPECT_TRUE(known.links.at(key).is_symmetric()) << "it hears us";
  EXPECT_EQ(known.links.at(key).symmetric_until, now_ + 6 * kSecond);
  EXPECT_EQ(known.links.at(key).until, now_ + 12 * kSecond);
  EXPECT_FALSE(known.hears_symmetrically(1, address(1, 1))) << "of each interface its own";
  now_ += kSecond;
  hello(0, 1, LinkType::lost);
  EXPECT_FALSE(known.links.at(key).is_symmetric());
  EXPECT_TRUE(router_.routes().empty());
  EXPECT_EQ(known.links.at(key).heard_until, now_ + 6 * kSecond);
}

TEST_F(LabOlsrRules, TwoHopNeighboursComeAndGoByWhatNeighboursTell) {
  hello(0, 1, LinkType::asymmetric, NeighbourType::none, 6 * kSecond,
        {{address(7), LinkType::symmetric, NeighbourType::symmetric},
         {address(8), LinkType::asymmetric, NeighbourType::none}});
  EXPECT_EQ(router_.known().mprs, std::set{address(1)});
  EXPECT_EQ(router_.routes().at(host(address(7))), (Route{address(1), 0, 2}));
  EXPECT_FALSE(router_.routes().contains(host(address(8))));
  hello(0, 1, LinkType::symmetric, NeighbourType::symmetric, 6 * kSecond,
        {{address(7), LinkType::lost, NeighbourType::none}});
  EXPECT_TRUE(router_.known().two_hop.empty());
  EXPECT_TRUE(router_.known().mprs.empty());
  EXPECT_FALSE(router_.routes().contains(host(address(7))));
}

TEST_F(LabOlsrRules, PassesOnOnceWhatComesFromThoseThatHaveChosenIt) {
  meet_neighbours();
  forwarded();
  tc(kOther, 1, 1, {address(60)});
  EXPECT_EQ(destinations(), std::set{address(60)}) << "it is processed all the same";
  tc(kRelayed, 1, 1, {address(60)});
  EXPECT_TRUE(forwarded().empty()) << "it has come by that interface before (3.4, 4.1)";
  tc(kRelayed, 1, 1, {address(60)}, 1);
  EXPECT_EQ(forwarded().size(), 1U) << "by the other, and was not passed on yet (3.4.1, 2)";
  tc(kRelayed, 2, 1, {address(60)});
  tc(kRelayed, 2, 1, {address(60)});
  tc(kRelayed, 2, 1, {address(60)}, 1);
  const std::vector<Message> at_other = forwarded(1);
  ASSERT_EQ(at_other.size(), 1U) << "once, at all interfaces";
  EXPECT_EQ(at_other[0].time_to_live, 254);
  EXPECT_EQ(at_other[0].hop_count, 5);
  EXPECT_EQ(at_other[0].sequence, 2);
  EXPECT_EQ(at_other[0].validity, 6 * kSecond);
}

TEST_F(LabOlsrRules, PassesOnWhatItDoesNotKnowButNotWhatEndsHere) {
  meet_neighbours();
  forwarded();
  const auto unknown = static_cast<MessageType>(200);
  take(0, kRelayed, unknown, kFarAway, Bytes{1, 2, 3, 4}, 1);
  const std::vector<Message> passed = forwarded();
  ASSERT_EQ(passed.size(), 1U);
  EXPECT_TRUE(std::ranges::equal(passed[0].body, Bytes{1, 2, 3, 4}));
  take(0, kRelayed, unknown, kFarAway, {}, 2, 1);
  take(0, kRelayed, unknown, kFarAway, {}, 3, 0);
  take(0, kRelayed, unknown, address(0, 1), {}, 4);
  take(0, 9, unknown, kFarAway, {}, 5);
  EXPECT_TRUE(forwarded().empty()) << "no time to live; its own; of nobody that hears it";
  take(0, kRelayed, unknown, kFarAway, {}, 1);
  EXPECT_TRUE(forwarded().empty());
  now_ += 31 * kSecond;
  meet_neighbours();
  take(0, kRelayed, unknown, kFarAway, {}, 1);
  EXPECT_EQ(forwarded().size(), 1U) << "what it was is forgotten after 30 s";
}

TEST_F(LabOlsrRules, TopologyIsThatOfTheLatestNumber) {
  meet_neighbours();
  tc(kOther, 1, 65'535, {address(60), address(61)});
  tc(kOther, 2, 65'535, {address(62)});
  EXPECT_EQ(destinations(), (std::set{address(60), address(61), address(62)})) << "more of it";
  tc(kOther, 3, 65'534, {address(63)});
  EXPECT_EQ(destinations().size(), 3U) << "older";
  tc(kOther, 4, 0, {address(61)});
  EXPECT_EQ(destinations(), std::set{address(61)}) << "newer, although the number has wrapped";
  tc(kOther, 4, 1, {address(64)});
  EXPECT_EQ(destinations(), std::set{address(61)}) << "a message that was here";
  tc(9, 5, 1, {address(64)});
  EXPECT_EQ(destinations(), std::set{address(61)}) << "of nobody that hears it (9.5)";
  tc(kOther, 6, 1, {});
  EXPECT_TRUE(destinations().empty());
}

TEST_F(LabOlsrRules, WhatIsKnownHoldsOnAlthoughOthersFillItsTables) {
  const std::vector<Address> known = {address(60)};
  meet_neighbours();
  tc(kOther, 1, 1, known);
  std::vector<Address> many;
  for (std::size_t i = 0; i < 15'000; ++i) many.push_back(address(1'000 + i));
  for (std::uint16_t i = 0; i < 6; ++i)
    take(0, kOther, MessageType::tc, address(100U + i), write_tc({1, many}), 1, 255, 2 * kSecond);
  EXPECT_EQ(router_.known().topology.size(), Information::kMostEntries);
  now_ += kSecond;
  tc(kOther, 2, 1, known);
  now_ += 5 * kSecond + kMs;  // what the first told is over, the second's not
  router_.advance(now_);
  EXPECT_EQ(destinations(), std::set{address(60)});
}

TEST_F(LabOlsrRules, HostilePacketsDoNoHarm) {
  meet_neighbours();
  std::vector<Bytes> good;
  const Hello told{2 * kSecond,
                   kWillDefault,
                   {{address(0), LinkType::symmetric, NeighbourType::mpr},
                    {address(7), LinkType::symmetric, NeighbourType::symmetric}}};
  const std::vector<Bytes> bodies = {write_hello(told), write_tc({1, {address(7), address(8)}}),
                                     write_mid(std::vector{address(7, 1), address(7, 2)}),
                                     write_hna(std::vector<Network>{{{192U << 24}, 8}, {{}, 0}})};
  for (std::uint8_t i = 0; i < 4; ++i)
    good.push_back(write_message(
        {static_cast<std::uint8_t>(i + 1), 6 * kSecond, address(1 + i), 9, 0, i, bodies[i]}));
  const Bytes packet = write_packet(1, good);
  std::mt19937 random(3626);
  std::size_t read = 0;
  for (int i = 0; i < 100'000; ++i) {
    Bytes bad = packet;
    for (std::size_t changes = random() % 8; changes > 0; --changes)
      bad[random() % bad.size()] = static_cast<std::uint8_t>(random());
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    // A copy of exactly its size, so that a sanitizer sees what is read beyond it.
    const Bytes exact(bad.begin(), bad.end());
    read += read_packet(exact).size();
    now_ += kSecond;
    if (i % 3 == 0) hello(0, 1, LinkType::symmetric, NeighbourType::mpr);
    router_.receive(random() % 2, address(1 + random() % 3), exact, now_);
    for (const Router::Packet& out : router_.advance(now_))
      EXPECT_FALSE(read_packet(out.bytes).empty());
    ASSERT_GT(router_.next(), now_);
  }
  EXPECT_GT(read, 100'000U) << "much of it could be read";
  now_ += 2 * 4'000 * kSecond;
  router_.advance(now_);
  EXPECT_TRUE(router_.routes().empty());
  EXPECT_TRUE(router_.known().links.empty());
  EXPECT_TRUE(router_.known().topology.empty());
}

}  // namespace
}  // namespace orrery::lab::olsr::testing
