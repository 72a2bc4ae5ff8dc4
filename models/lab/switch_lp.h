// SPDX-License-Identifier: Apache-2.0
//
// An Ethernet switch as an LP: it learns at which port an address is from the frames that come from
// there, sends what is for it to that port, and all else to all others (IEEE 802.1D, 7; without
// spanning trees: a topology with a circle of switches is refused). Frames are stored and
// forwarded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "lab.h"
#include "orrery/orrery.h"
#include "outgoing.h"

namespace orrery::lab {

class SwitchLp final : public LogicalProcess<SwitchLp, Arrival> {
 public:
  SwitchLp(const Lab& lab, const Switch& description) : lab_(lab), description_(description) {}
  void start(Context& context) override;
  void handle(Context& context, const Arrival& arrival, std::span<const std::byte> frame);

 private:
  struct Place {
    std::uint32_t port;
    std::int64_t seen_ns;
  };
  void learn(std::uint64_t address, std::uint32_t port, std::int64_t now);
  /// nullptr if nobody knows.
  const Place* find(std::uint64_t address, std::int64_t now) const;

  const Lab& lab_;
  const Switch& description_;
  std::vector<Outgoing> ports_;
  std::unordered_map<std::uint64_t, Place> places_;
};

}  // namespace orrery::lab
