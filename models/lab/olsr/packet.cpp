// SPDX-License-Identifier: Apache-2.0
#include "packet.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <tuple>

namespace orrery::lab::olsr {
namespace {

constexpr std::size_t kPacketHeaderBytes = 4, kMessageHeaderBytes = 12, kAddressBytes = 4;
constexpr Time kTimeUnit = kSecond / 16 / 16;  ///< C / 16, see 18.3

using View = std::span<const std::uint8_t>;

// These readers need the bytes at `at` to exist.
std::uint16_t read_16(View bytes, std::size_t at) {
  return static_cast<std::uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}
Address read_address(View bytes, std::size_t at) {
  return {std::uint32_t{read_16(bytes, at)} << 16 | read_16(bytes, at + 2)};
}

void write_16(Bytes& bytes, std::size_t value) {
  bytes.push_back(static_cast<std::uint8_t>(value >> 8));
  bytes.push_back(static_cast<std::uint8_t>(value));
}
void write_address(Bytes& bytes, Address address) {
  write_16(bytes, address.bits >> 16);
  write_16(bytes, address.bits & 0xffff);
}

/// All addresses; std::nullopt if the length is no multiple of an address.
std::optional<std::vector<Address>> read_addresses(View bytes) {
  if (bytes.size() % kAddressBytes != 0) return std::nullopt;
  std::vector<Address> addresses;
  for (std::size_t at = 0; at < bytes.size(); at += kAddressBytes)
    addresses.push_back(read_address(bytes, at));
  return addresses;
}

/// The same for addresses of routers; leaves out the others.
std::optional<std::vector<Address>> read_routers(View bytes) {
  auto addresses = read_addresses(bytes);
  if (addresses) std::erase_if(*addresses, [](Address one) { return !is_unicast(one); });
  return addresses;
}

std::uint32_t mask_of(unsigned length) {
  return length == 0 ? 0 : ~std::uint32_t{0} << (32 - length);
}

/// SYM_LINK with a non-neighbour is a contradiction, and the other bits are not used (6.1.1).
bool is_link_code(unsigned code) {
  return code < 12 && code != static_cast<unsigned>(LinkType::symmetric);
}

template <class Number>
bool read_number(std::string_view text, Number most, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number <= most;
}

}  // namespace

std::string text(Address address) {
  std::string text;
  for (const unsigned shift : {24, 16, 8, 0})
    text += std::to_string(address.bits >> shift & 0xff) + (shift > 0 ? "." : "");
  return text;
}

std::string text(const Network& network) {
  return text(network.address) + "/" + std::to_string(network.length);
}

std::optional<Address> read_address(const std::string& text) {
  Address address;
  std::string_view rest = text;
  for (int part = 0; part < 4; ++part) {
    const std::size_t end = part < 3 ? rest.find('.') : rest.size();
    unsigned byte = 0;
    if (end == std::string_view::npos || !read_number(rest.substr(0, end), 255U, byte))
      return std::nullopt;
    address.bits = address.bits << 8 | byte;
    if (part < 3) rest.remove_prefix(end + 1);
  }
  return address;
}

std::optional<Network> read_network(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const std::optional<Address> address = read_address(text.substr(0, slash));
  unsigned length = 0;
  if (!address || !read_number(std::string_view(text).substr(slash + 1), 32U, length) ||
      (address->bits & ~mask_of(length)) != 0)
    return std::nullopt;
  return Network{*address, length};
}

std::uint8_t time_code(Time duration) {
  const auto units = static_cast<std::uint64_t>(
      std::max<Time>((std::min(duration, time_of_code(0xff)) + kTimeUnit - 1) / kTimeUnit, 16));
  auto exponent = static_cast<unsigned>(std::bit_width(units)) - 5;
  std::uint64_t sixteenths = ((units + (std::uint64_t{1} << exponent) - 1) >> exponent);
  if (sixteenths == 32) {
    sixteenths = 16;
    ++exponent;
  }
  return static_cast<std::uint8_t>((sixteenths - 16) << 4 | exponent);
}

Time time_of_code(std::uint8_t code) {
  return (kTimeUnit * (16 + (code >> 4))) << (code & 15);
}

std::vector<Message> read_packet(View packet) {
  std::vector<Message> messages;
  if (packet.size() < kPacketHeaderBytes) return messages;
  const std::size_t length = read_16(packet, 0);
  if (length > packet.size()) return messages;
  for (std::size_t at = kPacketHeaderBytes; at + kMessageHeaderBytes <= length;) {
    const View rest = packet.subspan(at, length - at);
    const std::size_t size = read_16(rest, 2);
    if (size < kMessageHeaderBytes || size > rest.size()) break;
    messages.push_back({rest[0], time_of_code(rest[1]), read_address(rest, 4), rest[8], rest[9],
                        read_16(rest, 10),
                        rest.subspan(kMessageHeaderBytes, size - kMessageHeaderBytes)});
    at += size;
  }
  return messages;
}

Bytes write_packet(std::uint16_t sequence, std::span<const Bytes> messages) {
  std::size_t length = kPacketHeaderBytes;
  for (const Bytes& message : messages) length += message.size();
  Bytes packet;
  packet.reserve(length);
  write_16(packet, length);
  write_16(packet, sequence);
  for (const Bytes& message : messages) packet.insert(packet.end(), message.begin(), message.end());
  return packet;
}

Bytes write_message(const Message& message) {
  Bytes bytes = {message.type, time_code(message.validity)};
  write_16(bytes, kMessageHeaderBytes + message.body.size());
  write_address(bytes, message.originator);
  bytes.push_back(message.time_to_live);
  bytes.push_back(message.hop_count);
  write_16(bytes, message.sequence);
  bytes.insert(bytes.end(), message.body.begin(), message.body.end());
  return bytes;
}

std::optional<Hello> read_hello(View body) {
  constexpr std::size_t kHeaderBytes = 4, kGroupHeaderBytes = 4;
  if (body.size() < kHeaderBytes) return std::nullopt;
  constexpr std::uint8_t kMostWilling = 7;  // 18.8
  Hello hello{time_of_code(body[2]), std::min(body[3], kMostWilling), {}};
  for (View rest = body.subspan(kHeaderBytes); !rest.empty();) {
    if (rest.size() < kGroupHeaderBytes) return std::nullopt;
    const unsigned code = rest[0];
    const std::size_t size = read_16(rest, 2);
    if (size < kGroupHeaderBytes || size > rest.size()) return std::nullopt;
    const auto addresses = read_routers(rest.subspan(kGroupHeaderBytes, size - kGroupHeaderBytes));
    if (!addresses) return std::nullopt;
    if (is_link_code(code))
      for (const Address address : *addresses)
        hello.entries.push_back(
            {address, static_cast<LinkType>(code & 3), static_cast<NeighbourType>(code >> 2)});
    rest = rest.subspan(size);
  }
  return hello;
}

Bytes write_hello(const Hello& hello) {
  std::vector<Hello::Entry> entries = hello.entries;
  const auto type_of = [](const Hello::Entry& one) { return std::tuple(one.link, one.neighbour); };
  std::stable_sort(entries.begin(), entries.end(), [&](const auto& one, const auto& other) {
    return type_of(one) < type_of(other);
  });
  Bytes body = {0, 0, time_code(hello.interval), hello.willingness};
  for (auto first = entries.begin(); first != entries.end();) {
    const auto end = std::find_if(first, entries.end(), [&](const Hello::Entry& one) {
      return type_of(one) != type_of(*first);
    });
    body.push_back(static_cast<std::uint8_t>(static_cast<unsigned>(first->neighbour) << 2 |
                                             static_cast<unsigned>(first->link)));
    body.push_back(0);
    write_16(body, 4 + kAddressBytes * static_cast<std::size_t>(end - first));
    for (; first != end; ++first) write_address(body, first->address);
  }
  return body;
}

std::optional<TopologyControl> read_tc(View body) {
  constexpr std::size_t kHeaderBytes = 4;
  if (body.size() < kHeaderBytes) return std::nullopt;
  auto neighbours = read_routers(body.subspan(kHeaderBytes));
  if (!neighbours) return std::nullopt;
  return TopologyControl{read_16(body, 0), std::move(*neighbours)};
}

Bytes write_tc(const TopologyControl& tc) {
  Bytes body;
  write_16(body, tc.sequence);
  write_16(body, 0);
  for (const Address one : tc.neighbours) write_address(body, one);
  return body;
}

std::optional<std::vector<Address>> read_mid(View body) {
  return read_routers(body);
}

Bytes write_mid(std::span<const Address> interfaces) {
  Bytes body;
  for (const Address one : interfaces) write_address(body, one);
  return body;
}

std::optional<std::vector<Network>> read_hna(View body) {
  const auto words = read_addresses(body);
  if (!words || words->size() % 2 != 0) return std::nullopt;
  std::vector<Network> networks;
  for (std::size_t i = 0; i < words->size(); i += 2) {
    const std::uint32_t mask = (*words)[i + 1].bits;
    const auto length = static_cast<unsigned>(std::countl_one(mask));
    if (mask == mask_of(length)) networks.push_back({{(*words)[i].bits & mask}, length});
  }
  return networks;
}

Bytes write_hna(std::span<const Network> networks) {
  Bytes body;
  for (const Network& one : networks) {
    write_address(body, one.address);
    write_address(body, {mask_of(one.length)});
  }
  return body;
}

}  // namespace orrery::lab::olsr
