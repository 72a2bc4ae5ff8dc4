// SPDX-License-Identifier: Apache-2.0
//
// Captures: bytes that travel in the model, such as the packets of a simulated network, in the file
// format of Wireshark and tcpdump. A model declares each interface as a member; handlers capture
// bytes with `context.capture(interface, bytes)`. As with tables, only bytes of committed events
// are written, in the order of events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace orrery {

class Model;

/// What the captured bytes begin with: a number of the registry of link types of pcap
/// (https://www.tcpdump.org/linktypes.html). `LinkType(227)` names one that has no name here.
enum class LinkType : std::uint16_t {
  null_loopback = 0,
  ethernet = 1,
  ppp = 9,
  raw_ip = 101,  ///< IPv4 or IPv6, by the first four bits
  ieee802_11 = 105,
  linux_cooked = 113,
  user0 = 147,  ///< to 162: for formats of the user's own
  ieee802_15_4 = 195,
  can_socketcan = 227,
  ipv4 = 228,
  ipv6 = 229,
  bluetooth_le = 251,
};

/// An interface at which handlers capture bytes. With --out the bytes of all interfaces lie in
/// captures.pcapng, with the time of the event, in nanoseconds, and the LP as a comment.
class Capture {
 public:
  /// The most bytes of one capture.
  static constexpr std::size_t kMaxBytes = 65535;
  /// The most bytes of a name, and of a help text.
  static constexpr std::size_t kMaxTextBytes = 1024;

  /// `help` is one line. Throws UsageError for a name that is empty or that the model has given to
  /// another interface, and for texts above kMaxTextBytes.
  Capture(Model& model, std::string name, LinkType link, std::string help);
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  std::uint32_t index() const { return index_; }
  const std::string& name() const { return name_; }
  LinkType link() const { return link_; }
  const std::string& help() const { return help_; }

 private:
  std::uint32_t index_;
  LinkType link_;
  std::string name_, help_;
};

}  // namespace orrery
