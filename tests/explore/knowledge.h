// SPDX-License-Identifier: Apache-2.0
//
// What a thread of an explored scenario knows, and an atomic passes on: what happened before. It is
// kept twice, for plain and for atomic memory. For plain memory it is a vector clock (Lamport;
// Mattern 1989), as in race detectors (Flanagan and Freund: FastTrack, PLDI 2009): an access is
// ordered after another thread's if its clock has reached that thread's time of then. For atomics
// it is a view (as in Kang et al.: A promising semantics for relaxed-memory concurrency, POPL
// 2017): for each of them the oldest of its stores that may still be read.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace orrery::explore {

inline constexpr unsigned kMostThreads = 3;
/// What makes the scenario and looks at it at its end.
inline constexpr unsigned kOutside = kMostThreads;
inline constexpr unsigned kMostAtomics = 40;

using Clock = std::array<std::uint32_t, kMostThreads + 1>;

struct Knowledge {
  Clock clock{};
  std::array<std::uint16_t, kMostAtomics> oldest_readable{};

  void join(const Knowledge& other) {
    for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other.clock[i]);
    for (std::size_t i = 0; i < oldest_readable.size(); ++i)
      oldest_readable[i] = std::max(oldest_readable[i], other.oldest_readable[i]);
  }
  /// Whether all of `accesses` (time of each thread's last one) happened before.
  bool covers(const Clock& accesses) const {
    for (std::size_t i = 0; i < clock.size(); ++i)
      if (accesses[i] > clock[i]) return false;
    return true;
  }
};

}  // namespace orrery::explore
