// SPDX-License-Identifier: Apache-2.0
#include "switch_lp.h"

namespace orrery::lab {

void SwitchLp::start(Context& context) {
  for (const Port& port : description_.ports)
    ports_.emplace_back(port.wire, context.random().next());
}

void SwitchLp::handle(Context& context, const Arrival& arrival, std::span<const std::byte> frame) {
  const std::int64_t now = context.now().ticks();
  table_.pass(frame, arrival.port, ports_.size(), now, [&](std::uint32_t port) {
    lab_.send(context, ports_[port], now + description_.latency_ns, frame);
  });
}

}  // namespace orrery::lab
