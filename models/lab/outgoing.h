// SPDX-License-Identifier: Apache-2.0
//
// A direction of a link at its sender: frames leave one after the other, some wait for others, some
// are lost, and each arrives at a time. All of that is decided when a frame is sent: what changes
// the link later is known (topology.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "orrery/random.h"
#include "topology.h"

namespace orrery::lab {

class Outgoing {
 public:
  /// `random_key`: another for each. It draws from a stream of its own, so that what is lost does
  /// not depend on how a host's doings are divided into events.
  Outgoing(const Wire& wire, std::uint64_t random_key) : wire_(&wire), random_(random_key, 0) {}

  enum class Fate : std::uint8_t { arrives, corrupted, lost, queue_full, link_down, too_long };
  struct Passage {
    Fate fate = Fate::arrives;
    std::int64_t free_ns = 0;     ///< from when on the sender may use the frame's buffer again
    std::int64_t arrival_ns = 0;  ///< of what arrives
    std::size_t flipped_bit = 0;  ///< of what is corrupted
    bool arrives() const { return fate <= Fate::corrupted; }
  };

  const Wire& wire() const { return *wire_; }

  /// A frame that is sent at `time`, no earlier than the one before.
  Passage send(std::int64_t time, std::size_t bytes);

 private:
  std::int64_t jitter(const Phase& phase);

  const Wire* wire_;
  Random random_;
  std::int64_t busy_until_ns_ = 0;      ///< the last bit of what is to be sent
  std::int64_t last_arrival_ns_ = 0;    ///< no frame overtakes another, unless the wire reorders
  std::deque<std::int64_t> begins_ns_;  ///< of frames in the queue: when they begin to leave
};

}  // namespace orrery::lab
