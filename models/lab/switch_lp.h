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
  SwitchLp(const Lab& lab, const Switch& description) : lab_(lab), description_(description) {}
  void start(Context& context) override;
  void handle(Context& context, const Arrival& arrival, std::span<const std::byte> frame);

 private:
  const Lab& lab_;
  const Switch& description_;
  std::vector<Outgoing> ports_;
  SwitchTable table_;
};

}  // namespace orrery::lab
