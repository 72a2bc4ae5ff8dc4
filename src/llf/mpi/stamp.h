// SPDX-License-Identifier: Apache-2.0
//
// The times that ranks give to llf. A shim knows no simulation time, so a federate's LVT is the
// time by the clock at which it was last seen in MPI or began to wait: who has waited longest is
// the earliest, and gets the next token. In the units below a millisecond there is room for two
// remarks.
//
// An LVT says whether its federate waits for something that nobody announces, because it happens
// inside MPI: that a large message, of which only the head has been sent, is taken, or that a
// collective operation goes on. Such a federate is `watchful`: it wants to look again when others
// have looked.
//
// The time of a message says how many *hops* it may have. Whoever looks because of an announcement
// with hops left makes MPI go on where it is, which may enable others; so afterwards it tells those
// that are watchful, with a hop less. The number of hops is what such a chain can need at most
// (a collective's rounds, a large message's pieces), so a chain ends, and ranks that wait for one
// that computes do not wake each other for ever.
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
/// More hops are earlier: of several announcements that with most counts.
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
