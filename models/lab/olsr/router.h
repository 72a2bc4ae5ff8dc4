// SPDX-License-Identifier: Apache-2.0
//
// A router of OLSR (RFC 3626) without sockets, clock or kernel: it gets packets and the time, and
// returns packets and routes. So its rules can be tested on networks in memory. olsrd.cpp makes a
// daemon of it.
//
// Implemented are the core of the RFC and, of the auxiliary functions, several interfaces (5) and
// other networks (12). Messages are sent with jitter (3.5), also forwarded ones: a waiting message
// leaves with the next packet. There is no link hysteresis (14.2), and no message before its time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "information.h"
#include "packet.h"
#include "routes.h"

namespace orrery::lab::olsr {

struct Settings {
  std::vector<Address> interfaces;
  Address main;                                                  ///< one of these
  Time hello_interval = 2 * kSecond, tc_interval = 5 * kSecond;  ///< 18.2; TC's is MID's and HNA's
  std::uint8_t willingness = kWillDefault;
  std::vector<Network> networks;  ///< networks behind this router
};

class Router {
 public:
  struct Packet {
    std::size_t interface;
    Bytes bytes;
  };

  /// `random_seed` must differ between routers, or all have the same jitter.
  Router(const Settings& settings, std::uint64_t random_seed, Time now);

  /// Receives a packet on an interface, from an address of its sender.
  void receive(std::size_t interface, Address sender, std::span<const std::uint8_t> packet,
               Time now);
  /// Returns the packets that must be sent now.
  std::vector<Packet> advance(Time now);
  /// When advance() must be called next.
  Time next() const;

  const Routes& routes() const { return routes_; }
  const Information& known() const { return known_; }
  std::uint16_t advertised_sequence() const { return advertised_sequence_; }

 private:
  /// The state of an interface.
  struct Port {
    std::uint16_t sequence = 0;
    Time next_hello = 0;
    std::vector<Bytes> waiting;
    Time leaves = kNever;
  };

  void take(std::size_t interface, Address sender, const Message& message, Time now);
  void take_hello(std::size_t interface, Address sender, const Message& message, Time now);
  void sense_link(std::size_t interface, Address sender, const Message& message, const Hello& hello,
                  Time now);
  void learn_two_hop(const Message& message, const Hello& hello, Time now);
  void forget_two_hop(Address neighbour, Address far);
  void take_tc(const Message& message, Time now);
  void take_mid(const Message& message, Time now);
  void take_hna(const Message& message, Time now);
  void consider_forwarding(std::size_t interface, Address sender, const Message& message, Time now);

  Hello hello_of(std::size_t interface) const;
  Bytes own_message(MessageType type, Time interval, std::uint8_t time_to_live,
                    std::span<const std::uint8_t> body);
  void send_to_all(const Bytes& message, Time at);
  void advertise(Time now);
  std::vector<Packet> packets_of(std::size_t interface);
  void refresh(Time now);
  Time jitter();
  bool is_due(Time& next, Time interval, Time now);

  const Settings settings_;
  std::mt19937_64 random_;
  Information known_;
  Information::Changes changes_;  ///< since routes were computed
  Routes routes_;
  std::vector<Port> ports_;
  std::uint16_t message_sequence_ = 0, advertised_sequence_ = 0;
  std::set<Address> advertised_;
  Time advertises_until_ = 0;  ///< end of the validity of the last advertisement
  Time next_expiry_ = kNever;  ///< of known_; 0: known_ has changed
  Time next_tc_, next_mid_ = kNever, next_hna_ = kNever;
};

}  // namespace orrery::lab::olsr
