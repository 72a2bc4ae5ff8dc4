// SPDX-License-Identifier: Apache-2.0
#include "switch_lp.h"

namespace orrery::lab {
namespace {

constexpr std::size_t kHeaderBytes = 14;
constexpr std::int64_t kForgets = 300'000'000'000;  ///< 802.1D, table 7-5: 300 s

/// Six bytes of a frame from `at` on.
std::uint64_t address_at(std::span<const std::byte> frame, std::size_t at) {
  std::uint64_t address = 0;
  for (std::size_t i = at; i < at + 6; ++i)
    address = address << 8 | std::to_integer<std::uint64_t>(frame[i]);
  return address;
}
/// Broadcasts, too.
bool is_group(std::uint64_t address) {
  return (address >> 40 & 1) != 0;
}

}  // namespace

void SwitchLp::start(Context& context) {
  for (const Port& port : description_.ports)
    ports_.emplace_back(port.wire, context.random().next());
}

void SwitchLp::handle(Context& context, const Arrival& arrival, std::span<const std::byte> frame) {
  if (frame.size() < kHeaderBytes) return;
  const std::int64_t now = context.now().ticks();
  const std::uint64_t to = address_at(frame, 0), from = address_at(frame, 6);
  if (!is_group(from)) learn(from, arrival.port, now);
  if (const Place* const place = is_group(to) ? nullptr : find(to, now)) {
    if (place->port != arrival.port)
      lab_.send(context, ports_[place->port], now + description_.latency_ns, frame);
    return;
  }
  for (std::uint32_t i = 0; i < ports_.size(); ++i)
    if (i != arrival.port) lab_.send(context, ports_[i], now + description_.latency_ns, frame);
}

void SwitchLp::learn(std::uint64_t address, std::uint32_t port, std::int64_t now) {
  places_[address] = {port, now};
}

const SwitchLp::Place* SwitchLp::find(std::uint64_t address, std::int64_t now) const {
  const auto found = places_.find(address);
  return found == places_.end() || now - found->second.seen_ns > kForgets ? nullptr
                                                                          : &found->second;
}

}  // namespace orrery::lab
