// SPDX-License-Identifier: Apache-2.0
//
// The shared data of the federates of a group: a cache line that all read at every safe point, a
// lock with the data that it guards, and a cache line for each federate.
//
// All classes are templates over a policy, which defines atomics, the lock, lives and the sleep on
// a word, so that tests/explore runs the same code with its own policy:
//   atomic<T>       as std::atomic
//   Guarded<T>      plain data behind the lock, with get() and set()
//   Lock            bool lock(), true if its last owner died with it; unlock()
//   Life            bool take_if_dead(), true once for a federate that has died
//   bool wait(atomic<std::uint32_t>&, seen, nanoseconds)   false: the time is over
//   wake(atomic<std::uint32_t>&)
//   std::int64_t now()                                     nanoseconds, never going back
//
// Memory orders. `word` hands over two things. A message: the announcement is a release, and
// reading messages, which resets the word, is an acquire, so that a federate that resets an
// announcement finds the message. A token: the change to `running` is a release, and the federate
// that finds itself running acquires, so it sees the decision that was made under the lock, which
// it does not take. All changes of a word are read-modify-writes, so none is lost, and a release
// before other changes still reaches a later acquire; no other access of a word needs an order.
// `bell` is rung after the word has changed, as a release, and read as an acquire: a federate that
// reads the rung bell sees its new state. All else is relaxed: the owner of `lvt` writes it while
// it runs, and others read it under the lock once the owner does not run. `lowest_ready` and `news`
// are hints, stored under the lock. A federate that reads an old value reads the new one at a later
// safe point, and nothing else depends on the value, since a federate takes the lock before it
// acts. `generation` is read to refuse a message to a federate that has left; a message to its
// successor in the slot does no harm.
#pragma once

#include <cstdint>

#include "llf/word.h"

namespace orrery::llf {

inline constexpr unsigned kSlotBits = 10;
inline constexpr unsigned kMostSlots = 1u << kSlotBits;
/// The bits of a slot's generation that are compared; together with the slot they make a number
/// that is not negative.
inline constexpr std::uint32_t kGenerationMask = (1u << (31 - kSlotBits)) - 1;

enum class Reason : std::uint8_t {
  none,
  paused,   ///< it blocks in the system
  gvt,      ///< it has reported to a round of GVT
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
  Atomic<std::uint32_t> bell{0};        ///< the federate sleeps on this word
  Atomic<std::uint32_t> generation{0};  ///< number of federates that have left this slot
  Guarded<std::uint64_t> ticket{0};     ///< order of becoming ready: first come, first served
  Guarded<Time> lowest{0};              ///< its report to a round of GVT
  Guarded<std::int64_t> balance{0};
  Guarded<std::uint32_t> round{0};   ///< the last round of GVT that it has joined
  Guarded<std::uint32_t> told{0};    ///< deaths that were reported to it
  Guarded<std::uint16_t> needed{0};  ///< while meeting: number of federates to wait for
  Guarded<Reason> reason{Reason::none};
};

template <class Policy>
struct Shared {
  template <class T>
  using Atomic = typename Policy::template atomic<T>;
  template <class T>
  using Guarded = typename Policy::template Guarded<T>;

  /// The lowest effective LVT of all ready federates.
  alignas(64) Atomic<Time> lowest_ready{kNever};
  /// The number of rounds of GVT that have begun (32 bits) and, above, the number of federates that
  /// have died.
  Atomic<std::uint64_t> news{0};

  alignas(64) typename Policy::Lock lock;
  Guarded<std::uint32_t> tokens{1};
  Guarded<std::uint32_t> completed{0};  ///< rounds of GVT
  Guarded<std::uint64_t> tickets{0};
  Guarded<Time> gvt{kEarliest};  ///< result of the last round
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
