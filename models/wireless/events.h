// SPDX-License-Identifier: Apache-2.0
//
// What stations send to each other and to themselves. All events are expanded events: each has a
// duration that the protocol gives it, and what follows from it leaves when it is over.
//
//   event             duration                         what takes that time
//   Generate          `processing`                     the host makes a packet
//   Relay             `processing`                     the host looks up where a packet goes next
//   FrameReady        kMacProcessing (2 us)            the MAC takes a packet from the host
//   Access            kTurnaround (2 us)               the transmitter is switched on
//   SignalStart       kCcaTime (4 us)                  the receiver notices a signal
//   SignalEnd         kSifs (16 us)                    the receiver decodes and checks the frame
//   TransmissionOver  kMacProcessing (2 us)            the MAC reacts to a timer
//
// Integers only and no gaps, so that all of it enters the fingerprint.
#pragma once

#include <cstdint>

#include "orrery/event.h"

namespace wireless {

/// What a host hands to its MAC and finally gets from another's.
struct Packet {
  std::int64_t created_ticks;
  orrery::LpId origin, destination;
  std::uint32_t bytes;  ///< payload
  std::uint32_t hops;   ///< links gone so far
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
  std::uint64_t number;  ///< out of date unless it is the station's latest
};
/// The first energy of a frame reaches a station. `link` tells from whom, and so how loud.
struct SignalStart {
  Packet packet;  ///< of an acknowledgement: without meaning, 0
  std::uint32_t link;
  orrery::LpId to;
  std::uint32_t number;  ///< of the frame at its sender; repeated by its acknowledgement
  FrameKind kind;
};
struct SignalEnd {
  std::uint64_t link;
};
/// The transmission is over, and the time for an acknowledgement too if one is awaited.
struct TransmissionOver {
  std::uint64_t attempt;  ///< out of date unless it is the station's latest
};

}  // namespace wireless
