// SPDX-License-Identifier: Apache-2.0
#include "switch_lp.h"

namespace orrery::lab {

void SwitchLp::handle(Context& context, const Arrival& arrival, std::span<const std::byte> frame) {
  const std::int64_t now = context.now().ticks();
  table_.pass(frame, arrival.port, ports_.size(), now, [&](std::uint32_t port) {
    lab_.send(context, ports_[port], now + latency_ns_, frame);
  });
}

}  // namespace orrery::lab
