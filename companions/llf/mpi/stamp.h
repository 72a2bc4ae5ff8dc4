// SPDX-License-Identifier: Apache-2.0
//
// The times that ranks give to llf. A shim knows no simulation time, so a federate's LVT is the
// clock time at which it was last seen in MPI or began to wait: the federate that has waited
// longest is the earliest, and gets the next token. The bits below a millisecond hold two other
// values.
//
// An LVT shows whether its federate waits for something that nobody announces, because it happens
// inside MPI: that a large message, of which only the head has been sent, is taken, or that a
// collective operation progresses. Such a federate is `watchful`: it tests again when other
// federates have tested.
//
// The time of a message holds its number of *hops*. A rank that tests because of an announcement
// with hops left makes MPI progress, which may enable other ranks; so it then announces to the
// watchful ranks, with one hop less. The number of hops is the most that such a chain can need (a
// collective's rounds, a large message's pieces). So a chain ends, and ranks that wait for a
// computing rank do not wake each other for ever.
#pragma once

#include <algorithm>
#include <cstdint>

#include "llf/word.h"

namespace orrery::llf::mpi {

inline constexpr unsigned kHopBits = 12;
inline constexpr unsigned kMostHops = (1u << kHopBits) - 1;
inline constexpr unsigned kUnitBits = 20;  ///< of nanoseconds: a unit is 1.05 ms

constexpr Time unit_of(std::int64_t now_ns) {
  return now_ns >> kUnitBits;
}
/// More hops give an earlier time, so of several announcements the one with most hops counts.
constexpr Time message_stamp(std::int64_t now_ns, unsigned hops) {
  return unit_of(now_ns) << kHopBits | (kMostHops - std::min(hops, kMostHops));
}
constexpr unsigned hops_of(Time message) {
  return message == kNever ? 0 : kMostHops - static_cast<unsigned>(message & kMostHops);
}

constexpr Time lvt_stamp(std::int64_t now_ns, bool watchful) {
  return unit_of(now_ns) << kHopBits | (watchful ? 0 : 1);
}
constexpr bool is_watchful(Time lvt) {
  return lvt != kEarliest && (lvt & kMostHops) == 0;
}

}  // namespace orrery::llf::mpi
