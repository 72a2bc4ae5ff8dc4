// SPDX-License-Identifier: Apache-2.0
//
// One direction of a link, at its sender: frames leave one after the other, some are queued, some
// are lost, and the others arrive at a time. All is decided when a frame is sent, since later
// changes of the link are already known (topology.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "orrery/random.h"
#include "topology.h"

namespace orrery::lab {

class Outgoing {
 public:
  /// `random_key` must differ between links. The random stream of its own makes losses independent
  /// of how a host's actions are divided into events.
  Outgoing(const Wire& wire, std::uint64_t random_key) : wire_(&wire), random_(random_key, 0) {}

  enum class Fate : std::uint8_t { arrives, corrupted, lost, queue_full, link_down, too_long };
  struct Passage {
    Fate fate = Fate::arrives;
    std::int64_t free_ns = 0;     ///< from then on the sender may reuse the frame's buffer
    std::int64_t arrival_ns = 0;  ///< of a frame that arrives
    std::size_t flipped_bit = 0;  ///< of a corrupted frame
    bool arrives() const { return fate <= Fate::corrupted; }
  };

  /// What was sent so far.
  struct Counts {
    std::uint64_t frames = 0, not_arrived = 0, bytes_on_the_wire = 0;
  };

  const Wire& wire() const { return *wire_; }
  const Counts& counts() const { return counts_; }

  /// Sends a frame at `time`, no earlier than the frame before.
  Passage send(std::int64_t time, std::size_t bytes);

 private:
  Passage decide(std::int64_t time, std::size_t bytes);
  std::int64_t jitter(const Phase& phase);

  const Wire* wire_;
  Random random_;
  Counts counts_;
  std::int64_t busy_until_ns_ = 0;      ///< when the last bit of all frames sent has left
  std::int64_t last_arrival_ns_ = 0;    ///< no frame overtakes another, unless the wire reorders
  std::deque<std::int64_t> begins_ns_;  ///< of queued frames: when they begin to leave
};

}  // namespace orrery::lab
