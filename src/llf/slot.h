// SPDX-License-Identifier: Apache-2.0
//
// What the federates of a group share: a line that all read at every safe point, a lock with what
// it guards, and a line for each federate.
//
// Everything is a template over a policy, from which atomics, the lock, the lives and the sleep on
// a word come, so that tests/explore runs the same code with its own:
//   atomic<T>       as std::atomic
//   Guarded<T>      plain data behind the lock, with get() and set()
//   Lock            bool lock(), true if whoever had it died with it; unlock()
//   Life            bool take_if_dead(), true once for a federate that has died
//   bool wait(atomic<std::uint32_t>&, seen, nanoseconds)   false: the time is over
//   wake(atomic<std::uint32_t>&)
//   std::int64_t now()                                     nanoseconds, never going back
//
// Orders. `word` hands over two things. A message: announcing it is a release, and reading
// messages, which resets the word, an acquire, so that who resets an announcement finds the
// message. A token: the change to `running` is a release, and the federate that finds itself
// running acquires, so it sees what was decided under the lock, which it does not take. All changes
// of a word are read-modify-writes, so none is lost, and a release before others still reaches who
// acquires after them; all but those two are relaxed. `bell` is rung after the word has changed, as
// a release, and read as an acquire: who hears it sees its new state. All else is relaxed: `lvt` is
// the owner's while it runs, and others read it under the lock once it does not; `lowest_ready` and
// `news` are hints, stored under the lock, that a federate which reads an old value finds at a
// later safe point, and that nothing is taken from: who acts on them takes the lock. `generation`
// is read to refuse a message to a federate that is gone, which is no harm to one that comes in its
// place.
#pragma once

#include <cstdint>

#include "llf/word.h"

namespace orrery::llf {

inline constexpr unsigned kSlotBits = 10;
inline constexpr unsigned kMostSlots = 1u << kSlotBits;
/// What of a slot's generation is looked at: with a slot it makes a number that is not negative.
inline constexpr std::uint32_t kGenerationMask = (1u << (31 - kSlotBits)) - 1;

enum class Reason : std::uint8_t {
  none,
  paused,   ///< it blocks in the system
  gvt,      ///< it has given its report to a round of GVT
  meeting,  ///< it waits for others to join the group
};

template <class Policy>
struct alignas(64) Slot {
  template <class T>
  using Atomic = typename Policy::template atomic<T>;
  template <class T>
  using Guarded = typename Policy::template Guarded<T>;

  Atomic<Word> word{word_of(kNever, State::free)};
  Atomic<Time> lvt{kEarliest};
  Atomic<std::uint32_t> bell{0};        ///< what the federate sleeps on
  Atomic<std::uint32_t> generation{0};  ///< how many have left this slot
  Guarded<std::uint64_t> ticket{0};     ///< since when it is ready: first come, first served
  Guarded<Time> lowest{0};              ///< its report to a round of GVT
  Guarded<std::int64_t> balance{0};
  Guarded<std::uint32_t> round{0};   ///< of GVT, the last it has joined
  Guarded<std::uint32_t> told{0};    ///< deaths that it has been told of
  Guarded<std::uint16_t> needed{0};  ///< while meeting: how many are to be there
  Guarded<Reason> reason{Reason::none};
};

template <class Policy>
struct Shared {
  template <class T>
  using Atomic = typename Policy::template atomic<T>;
  template <class T>
  using Guarded = typename Policy::template Guarded<T>;

  /// Of all that are ready, the lowest effective LVT.
  alignas(64) Atomic<Time> lowest_ready{kNever};
  /// How many rounds of GVT have begun (32 bits) and, above, how many federates have died.
  Atomic<std::uint64_t> news{0};

  alignas(64) typename Policy::Lock lock;
  Guarded<std::uint32_t> tokens{1};
  Guarded<std::uint32_t> completed{0};  ///< rounds of GVT
  Guarded<std::uint64_t> tickets{0};
  Guarded<Time> gvt{kEarliest};  ///< what the last round found
  Guarded<std::int64_t> balance{0};
  Guarded<std::uint32_t> last_dead{0};  ///< a slot
};

inline constexpr std::uint32_t rounds_in(std::uint64_t news) {
  return static_cast<std::uint32_t>(news);
}
inline constexpr std::uint32_t deaths_in(std::uint64_t news) {
  return static_cast<std::uint32_t>(news >> 32);
}

}  // namespace orrery::llf
