// SPDX-License-Identifier: Apache-2.0
//
// A radio channel (radio_channel.h) as an LP. Frames of hosts come to it as to a switch, one port a
// station, `delay` after they were sent; and as long after it is decoded, a frame is at its host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lab.h"
#include "orrery/orrery.h"
#include "outgoing.h"
#include "radio_channel.h"
#include "wake.h"

namespace orrery::lab {

class RadioLp final : public LogicalProcess<RadioLp, Wake, Arrival>,
                      private RadioChannel::Listener {
 public:
  RadioLp(const Lab& lab, NodeId id);

  void start(Context& context) override;
  void handle(Context& context, const Wake&);
  void handle(Context& context, const Arrival& arrival, std::span<const std::byte> frame);
  void finish(FinalContext& context) override;

 private:
  const RadioNode& node() const { return lab_.topology().radio(id_); }
  void received(unsigned station, std::int64_t time, std::span<const std::byte> frame) override;
  void transmitted(const RadioChannel::Transmission& one) override;
  void dropped(unsigned station, RadioChannel::Drop why, std::size_t bytes) override;
  /// The number of a station's host; -1 of none.
  std::int64_t host_of(std::uint32_t station) const;

  const Lab& lab_;
  const NodeId id_;
  Context* context_ = nullptr;  ///< of the event that is handled
  std::vector<Outgoing> ports_;
  std::optional<RadioChannel> channel_;
  WakeTimer wake_;
};

}  // namespace orrery::lab
