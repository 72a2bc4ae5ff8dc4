// SPDX-License-Identifier: Apache-2.0
//
// The back-off of carrier sense multiple access as arithmetic. IEEE 802.11 counts slots down while
// the medium is idle; an event for each slot would be the most frequent event of the model and do
// nothing. So the countdown knows when it would reach zero if nothing came between; if something
// does, it computes how many slots have passed.
//
// Slot boundaries lie at `first` + j slots, where `first` is DIFS after the medium has become idle.
// Energy goes on the air at the boundary number n, if the medium has been idle for n slots. Since a
// transmitter takes a turnaround time, the decision for a boundary falls that much before it
// (TxDIFS and TxSlot of IEEE 802.11-2012, 9.3.7), and a signal that began less than the time of
// clear channel assessment (CCA) before a decision is not noticed by it: this is how two stations
// come to transmit in one slot.
#pragma once

#include <algorithm>
#include <cstdint>

#include "orrery/time.h"
#include "phy.h"

namespace wireless {

using orrery::Time;

class Countdown {
 public:
  /// Draws nothing itself: `slots` is the random number of slots to wait.
  void set(std::uint32_t slots) {
    slots_ = slots;
    running_ = false;
  }
  bool running() const { return running_; }
  std::uint32_t slots() const { return slots_; }

  /// Runs from here on. `idle_from`: since when, or from when on, the medium is idle; `earliest`:
  /// no decision can be before it. Returns when the decision to transmit is due.
  Time run(Time idle_from, Time earliest) {
    first_ = std::max(idle_from + kDifs, earliest + kTurnaround);
    running_ = true;
    return due();
  }
  Time due() const { return first_ + std::int64_t{slots_} * kSlot - kTurnaround; }

  /// The medium becomes busy. Returns whether that has stopped the countdown: it has not if the
  /// decision falls before anybody can notice.
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
  /// Slots counted down by decisions that were due before `noticed`: each after the first counts
  /// one.
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
