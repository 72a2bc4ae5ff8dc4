// SPDX-License-Identifier: Apache-2.0
//
// The Ethernet addresses of hosts' interfaces: locally administered, made of the host's name and the
// interface's number. So a further host changes no other's address. The reader of topologies refuses
// two names with the same addresses (one pair of names in 4 billion).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "topology.h"

namespace orrery::lab {

using DeviceAddress = std::array<std::uint8_t, 6>;

inline DeviceAddress device_address(std::string_view host, unsigned device) {
  std::uint32_t hash = 0x811c9dc5;  // FNV-1a, 32 bits; models/lab/captures.py has it, too
  for (const char letter : host) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x01000193;
  return {2,
          static_cast<std::uint8_t>(hash >> 24),
          static_cast<std::uint8_t>(hash >> 16),
          static_cast<std::uint8_t>(hash >> 8),
          static_cast<std::uint8_t>(hash),
          static_cast<std::uint8_t>(device)};
}

/// Addresses of all stations of a radio channel.
inline std::vector<DeviceAddress> station_addresses(const Topology& topology, const Node& radio) {
  std::vector<DeviceAddress> addresses;
  for (const Port& port : radio.ports)
    addresses.push_back(device_address(topology.node(port.wire.node).name, port.wire.port));
  return addresses;
}

}  // namespace orrery::lab
