// SPDX-License-Identifier: Apache-2.0
//
// The forwarding of an Ethernet switch: it learns the port of an address from the frames that come
// in there, sends frames for a known address to its port, and all others to all other ports (IEEE
// 802.1D, 7; without spanning trees: a topology with a loop of switches is refused).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "ethernet.h"

namespace orrery::lab {

class SwitchTable {
 public:
  /// Calls send(port) for each of the `ports` ports to which a frame from port `in` must be sent.
  template <class Send>
  void pass(std::span<const std::byte> frame, std::uint32_t in, std::size_t ports, std::int64_t now,
            Send&& send) {
    if (frame.size() < ethernet::kHeaderBytes) return;
    const std::uint64_t to = ethernet::destination(frame), from = ethernet::source(frame);
    if (!ethernet::is_group(from)) places_[from] = {in, now};
    if (const Place* const place = ethernet::is_group(to) ? nullptr : find(to, now)) {
      if (place->port != in) send(place->port);
      return;
    }
    for (std::uint32_t i = 0; i < ports; ++i)
      if (i != in) send(i);
  }

 private:
  static constexpr std::int64_t kForgets = 300'000'000'000;  ///< 802.1D, table 7-5: 300 s
  struct Place {
    std::uint32_t port;
    std::int64_t seen_ns;
  };

  /// nullptr if the address is unknown or its entry is too old.
  const Place* find(std::uint64_t address, std::int64_t now) const {
    const auto found = places_.find(address);
    return found == places_.end() || now - found->second.seen_ns > kForgets ? nullptr
                                                                            : &found->second;
  }

  std::unordered_map<std::uint64_t, Place> places_;
};

}  // namespace orrery::lab
