// SPDX-License-Identifier: Apache-2.0
//
// Addresses in Ethernet frames, as 48-bit numbers (IEEE 802.3, 3.2.3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace orrery::lab::ethernet {

constexpr std::size_t kHeaderBytes = 14;

/// The address at offset `at`. The frame must have at least 6 bytes there.
inline std::uint64_t address_at(std::span<const std::byte> frame, std::size_t at) {
  std::uint64_t address = 0;
  for (const std::byte one : frame.subspan(at, 6))
    address = address << 8 | std::to_integer<std::uint64_t>(one);
  return address;
}
inline std::uint64_t destination(std::span<const std::byte> frame) {
  return address_at(frame, 0);
}
inline std::uint64_t source(std::span<const std::byte> frame) {
  return address_at(frame, 6);
}
inline std::uint64_t number_of(const std::array<std::uint8_t, 6>& address) {
  return address_at(std::as_bytes(std::span(address)), 0);
}
/// Whether it is a group address; broadcast is one.
constexpr bool is_group(std::uint64_t address) {
  return (address >> 40 & 1) != 0;
}

}  // namespace orrery::lab::ethernet
