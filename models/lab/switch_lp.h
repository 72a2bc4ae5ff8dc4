// SPDX-License-Identifier: Apache-2.0
//
// An Ethernet switch (switch_table.h) as an LP. Frames are stored and forwarded.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lab.h"
#include "orrery/orrery.h"
#include "outgoing.h"
#include "switch_table.h"

namespace orrery::lab {

class SwitchLp final : public LogicalProcess<SwitchLp, Arrival> {
 public:
  SwitchLp(const Lab& lab, NodeId id)
      : lab_(lab),
        latency_ns_(lab.topology().switch_of(id).latency_ns),
        ports_(lab.outgoing_of(id)) {}
  void handle(Context& context, const Arrival& arrival, std::span<const std::byte> frame);
  const std::vector<Outgoing>& ports() const { return ports_; }

 private:
  const Lab& lab_;
  const std::int64_t latency_ns_;
  std::vector<Outgoing> ports_;
  SwitchTable table_;
};

}  // namespace orrery::lab
