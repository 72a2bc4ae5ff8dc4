// SPDX-License-Identifier: Apache-2.0
//
// Events between stations and of a station to itself. All events are expanded events: the protocol
// gives each a duration, and the events that an event causes leave when it ends.
//
//   event             duration                         what happens during it
//   Generate          `processing`                     the host makes a packet
//   Relay             `processing`                     the host looks up the next hop of a packet
//   FrameReady        kMacProcessing (2 us)            the MAC takes a packet from the host
//   Access            kTurnaround (2 us)               the transmitter is switched on
//   SignalStart       kCcaTime (4 us)                  the receiver detects a signal
//   SignalEnd         kSifs (16 us)                    the receiver decodes and checks the frame
//   TransmissionOver  kMacProcessing (2 us)            the MAC reacts to a timer
//
// Payloads have only integers and no padding, so all of it enters the fingerprint.
#pragma once

#include <cstdint>

#include "orrery/event.h"

namespace wireless {

/// A host hands a packet to its MAC, and the destination's host receives it.
struct Packet {
  std::int64_t created_ticks;
  orrery::LpId origin, destination;
  std::uint32_t bytes;  ///< payload
  std::uint32_t hops;   ///< links travelled so far
};

enum class FrameKind : std::uint32_t { data, acknowledgement };

struct Generate {};
struct Relay {
  Packet packet;
};
struct FrameReady {
  Packet packet;
};
struct Access {
  std::uint64_t number;  ///< the event is outdated unless this is the station's latest number
};
/// The first energy of a frame reaches a station. `link` gives the sender, and so the power.
struct SignalStart {
  Packet packet;  ///< 0 and without meaning for an acknowledgement
  std::uint32_t link;
  orrery::LpId to;
  std::uint32_t number;  ///< of the frame at its sender; its acknowledgement repeats the number
  FrameKind kind;
};
struct SignalEnd {
  std::uint64_t link;
};
/// The end of the transmission, or of the wait for an acknowledgement if one is expected.
struct TransmissionOver {
  std::uint64_t attempt;  ///< the event is outdated unless this is the station's latest attempt
};

}  // namespace wireless
