// SPDX-License-Identifier: Apache-2.0
//
// The Ethernet addresses of hosts' interfaces: locally administered, made of the number of the host
// and of the interface.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "topology.h"

namespace orrery::lab {

using DeviceAddress = std::array<std::uint8_t, 6>;

inline DeviceAddress device_address(NodeId host, unsigned device) {
  return {2,
          0,
          static_cast<std::uint8_t>(host >> 16),
          static_cast<std::uint8_t>(host >> 8),
          static_cast<std::uint8_t>(host),
          static_cast<std::uint8_t>(device)};
}

/// Addresses of all stations of a radio channel.
inline std::vector<DeviceAddress> station_addresses(const Node& radio) {
  std::vector<DeviceAddress> addresses;
  for (const Port& port : radio.ports)
    addresses.push_back(device_address(port.wire.node, port.wire.port));
  return addresses;
}

}  // namespace orrery::lab
