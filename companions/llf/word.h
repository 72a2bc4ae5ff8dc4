// SPDX-License-Identifier: Apache-2.0
//
// The state of a federate and the earliest message that it has not read, in one word. Both are in
// one atomic because decisions need both: a federate may begin to wait only if nothing is unread,
// and a sender must know whether the receiver waits. With two atomics, each side would write one
// and read the other, which needs more than acquire and release, and an order that no reader
// checks. With one, either the sender's change comes first and the receiver does not wait, or it
// comes second and the sender sees that the receiver waits.
#pragma once

#include <cstdint>

namespace orrery::llf {

using Time = std::int64_t;

/// Times are at least kEarliest and less than kNever; 2^60 nanoseconds are 36 years.
inline constexpr Time kEarliest = -(Time{1} << 60);
inline constexpr Time kNever = (Time{1} << 60) - 1;

enum class State : std::uint8_t {
  free,     ///< the slot has no federate
  running,  ///< has a token
  ready,    ///< wants one
  waiting,  ///< for a message, a round of GVT, or a deadline
  aside     ///< without a token for another reason (Reason); messages do not wake it
};

using Word = std::uint64_t;

inline constexpr unsigned kStateBits = 3;
inline constexpr Word kStateMask = (Word{1} << kStateBits) - 1;
/// `word | kNothingUnread`: the word without an unread message, by one fetch_or.
inline constexpr Word kNothingUnread = ~kStateMask;

constexpr Word word_of(Time unread, State state) {
  return static_cast<Word>(unread - kEarliest) << kStateBits | static_cast<Word>(state);
}
constexpr State state_of(Word word) {
  return static_cast<State>(word & kStateMask);
}
constexpr Time unread_of(Word word) {
  return static_cast<Time>(word >> kStateBits) + kEarliest;
}
/// The number that changes the state when added to a word; all other bits stay.
constexpr Word step_between(State from, State to) {
  return static_cast<Word>(to) - static_cast<Word>(from);
}
static_assert(word_of(kNever, State::free) == kNothingUnread);

}  // namespace orrery::llf
