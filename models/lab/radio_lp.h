// SPDX-License-Identifier: Apache-2.0
//
// A radio channel (radio_channel.h) as an LP, with a port for each station. A host's frame arrives
// `delay` after it was sent, and reaches its destination host `delay` after it was decoded.
#pragma once

#include <cstddef>
#include <cstdint>
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

  void handle(Context& context, const Wake&);
  void handle(Context& context, const Arrival& arrival, std::span<const std::byte> frame);
  void finish(FinalContext& context) override;

 private:
  const RadioNode& node() const { return lab_.topology().radio(id_); }
  void received(unsigned station, std::int64_t time, std::span<const std::byte> frame) override;
  void transmitted(const RadioChannel::Transmission& one) override;
  void dropped(unsigned station, RadioChannel::Drop why, std::size_t bytes) override;
  /// The number of a station's host; -1 for a station number that does not exist.
  std::int64_t host_of(std::uint32_t station) const;

  const Lab& lab_;
  const NodeId id_;
  Context* context_ = nullptr;  ///< of the current event
  std::vector<Outgoing> ports_;
  RadioChannel channel_;
  WakeTimer wake_;
};

}  // namespace orrery::lab
