// SPDX-License-Identifier: Apache-2.0
//
// Packets of OLSR (Clausen and Jacquet, RFC 3626, 2003; section numbers below are those of the
// RFC). A packet is a header and messages; four types of messages are known here: HELLO, TC, MID,
// HNA. IPv4 only.
//
// Anybody on the network can send anything. So a read message is a view of bytes with checked
// lengths, and messages that do not fit are left out.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace orrery::lab::olsr {

/// Nanoseconds of a monotonic clock.
using Time = std::int64_t;
using Bytes = std::vector<std::uint8_t>;

constexpr Time kSecond = 1'000'000'000;
constexpr std::uint16_t kPort = 698;
/// Largest packet in an Ethernet frame without fragments: 1,500 bytes minus the headers of IP and
/// UDP.
constexpr std::size_t kPacketBytes = 1472;

/// An IPv4 address, in the machine's byte order.
struct Address {
  std::uint32_t bits = 0;
  auto operator<=>(const Address&) const = default;
};

struct Network {
  Address address;
  unsigned length = 32;  ///< of its prefix
  auto operator<=>(const Network&) const = default;
};

/// Whether a router can have the address: no multicast, no loopback, not 0.
constexpr bool is_unicast(Address address) {
  const std::uint32_t first = address.bits >> 24;
  return first != 0 && first != 127 && first < 224;
}

std::string text(Address address);
std::string text(const Network& network);
/// Reads "10.0.0.1"; std::nullopt if `text` is no address.
std::optional<Address> read_address(const std::string& text);
/// Reads "10.1.0.0/16" without bits beyond the length; std::nullopt if `text` is no network.
std::optional<Network> read_network(const std::string& text);

/// A validity time in a byte (18.3): C (1 + a/16) 2^b, where C = 1/16 s, a are the higher four bits
/// and b the lower ones. Rounds up; times out of range become the longest or the shortest one.
std::uint8_t time_code(Time duration);
Time time_of_code(std::uint8_t code);

/// Whether a sequence number is later than another, with wrap-around (19). Of two numbers that are
/// half the range apart, the smaller one is later.
constexpr bool is_later(std::uint16_t one, std::uint16_t other) {
  return one > other ? one - other <= 0x7fff : other - one > 0x7fff;
}

enum class MessageType : std::uint8_t { hello = 1, tc = 2, mid = 3, hna = 4 };

/// A message of a packet, or to be sent (3.3.2). The caller keeps the body's bytes alive.
struct Message {
  std::uint8_t type = 0;
  Time validity = 0;
  Address originator;
  std::uint8_t time_to_live = 0, hop_count = 0;
  std::uint16_t sequence = 0;
  std::span<const std::uint8_t> body;
};

/// The messages of a packet, up to the first that does not fit; none if the header is wrong.
std::vector<Message> read_packet(std::span<const std::uint8_t> packet);
/// Makes a packet of messages that are already encoded.
Bytes write_packet(std::uint16_t sequence, std::span<const Bytes> messages);
Bytes write_message(const Message& message);

enum class LinkType : std::uint8_t { unspecified = 0, asymmetric = 1, symmetric = 2, lost = 3 };
enum class NeighbourType : std::uint8_t { none = 0, symmetric = 1, mpr = 2 };

struct Hello {
  struct Entry {
    Address address;
    LinkType link;
    NeighbourType neighbour;
    auto operator<=>(const Entry&) const = default;
  };
  Time interval = 0;
  std::uint8_t willingness = 0;
  std::vector<Entry> entries;
};
struct TopologyControl {
  std::uint16_t sequence = 0;  ///< ANSN
  std::vector<Address> neighbours;
};

// Decode bodies; std::nullopt if a length is wrong. Leave out addresses that no router can have.
std::optional<Hello> read_hello(std::span<const std::uint8_t> body);
std::optional<TopologyControl> read_tc(std::span<const std::uint8_t> body);
std::optional<std::vector<Address>> read_mid(std::span<const std::uint8_t> body);
std::optional<std::vector<Network>> read_hna(std::span<const std::uint8_t> body);
/// Entries of equal types are grouped, in the order of types.
Bytes write_hello(const Hello& hello);
Bytes write_tc(const TopologyControl& tc);
Bytes write_mid(std::span<const Address> interfaces);
Bytes write_hna(std::span<const Network> networks);

}  // namespace orrery::lab::olsr
