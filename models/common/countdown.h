// SPDX-License-Identifier: Apache-2.0
//
// Computes the back-off of carrier sense multiple access. IEEE 802.11 counts slots down while the
// medium is idle. An event for each slot would be the most frequent event of the model and do
// nothing. So the countdown computes when it would reach zero if the medium stayed idle. If the
// medium becomes busy before that, the countdown computes how many slots have passed.
//
// Slot boundaries lie at `first` + j slots, where `first` is DIFS after the medium became idle. A
// countdown of n slots starts to transmit at boundary n if the medium has been idle until then.
// Since a transmitter needs a turnaround time, it decides that much before the boundary (TxDIFS and
// TxSlot of IEEE 802.11-2012, 9.3.7). The decision misses a signal that began less than the time of
// clear channel assessment (CCA) before. This is how two stations come to transmit in one slot.
#pragma once

#include <algorithm>
#include <cstdint>

#include "orrery/time.h"
#include "phy.h"

namespace wireless {

using orrery::Time;

class Countdown {
 public:
  /// Sets the number of slots to wait. The caller draws this random number.
  void set(std::uint32_t slots) {
    slots_ = slots;
    running_ = false;
  }
  bool running() const { return running_; }
  std::uint32_t slots() const { return slots_; }

  /// Starts to count. The medium is idle since (or will be idle from) `idle_from`; no decision
  /// comes before `earliest`. Returns when the decision to transmit is due.
  Time run(Time idle_from, Time earliest) {
    first_ = std::max(idle_from + kDifs, earliest + kTurnaround);
    running_ = true;
    return due();
  }
  Time due() const { return first_ + std::int64_t{slots_} * kSlot - kTurnaround; }

  /// The medium becomes busy. Returns whether this stops the countdown. The countdown goes on if
  /// its decision is due before CCA can detect the signal.
  bool stop(Time busy_from) {
    const Time noticed = busy_from + kCcaTime;
    if (!running_ || due() < noticed) return false;
    slots_ -= passed(noticed);
    running_ = false;
    return true;
  }

  /// The decision was made.
  void finish() {
    running_ = false;
    slots_ = 0;
  }

 private:
  /// Slots counted down by decisions that were due before `noticed`. The first decision counts no
  /// slot.
  std::uint32_t passed(Time noticed) const {
    const std::int64_t since = (noticed - (first_ - kTurnaround)).ticks();
    if (since <= 0) return 0;
    return static_cast<std::uint32_t>((since - 1) / kSlot.ticks());
  }

  Time first_;  // boundary number 0
  std::uint32_t slots_ = 0;
  bool running_ = false;
};

}  // namespace wireless
