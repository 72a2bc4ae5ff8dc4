// SPDX-License-Identifier: Apache-2.0
//
// The only total order of events: (time, phase, microstep, sender LP, sender's send count). Every
// queue, straggler test and cancellation compares keys by the `operator<=>` of this file.
//
// A zero-delay send has its cause's phase and microstep + 1, or a later phase and microstep 0; any
// other send has microstep 0, and phase 0 unless it names another. So a cause always precedes its
// effect; sender and send count make ties impossible. The key is packed in 20 bytes (time 64, phase
// 4, microstep 20, sender 32, count 40 bits) because every comparison loads it: three words, of which
// the first nearly always decides. Phase and microstep together are the *step*, of 24 bits. The
// engine checks the bounds of the fields and reports a violation in a sentence: a million zero-delay
// steps in one phase of an instant, and 10^12 sends of one LP.
#pragma once

#include <compare>
#include <cstdint>

#include "orrery/event.h"
#include "orrery/time.h"

namespace orrery {

class Key {
 public:
  static constexpr unsigned kMicrostepBits = 20;
  static constexpr std::uint32_t kMaxMicrostep = (1u << kMicrostepBits) - 1;
  static constexpr std::uint32_t kMaxStep = (1u << 24) - 1;
  static constexpr std::uint64_t kMaxSequence = (std::uint64_t{1} << 40) - 1;

  constexpr Key() = default;
  constexpr Key(Time time, std::uint32_t step, LpId sender, std::uint64_t sequence)
      : time_(time.ticks()),
        upper_((std::uint64_t{step} << 40) | (std::uint64_t{sender} << 8) | (sequence >> 32)),
        lower_(static_cast<std::uint32_t>(sequence)) {}

  static constexpr Key infinity() { return end_of(Time::max()); }
  /// Before every event at `time`.
  static constexpr Key start_of(Time time) { return Key(time, 0, 0, 0); }

  /// After every event at `time`.
  static constexpr Key end_of(Time time) { return Key(time, kMaxStep, ~LpId{0}, kMaxSequence); }

  /// The lowest key after this one.
  constexpr Key next() const {
    Key key = *this;
    if (++key.lower_ == 0 && ++key.upper_ == 0) ++key.time_;
    return key;
  }

  constexpr Time time() const { return Time::from_ticks(time_); }
  /// Phase and microstep in one number, in their order.
  constexpr std::uint32_t step() const { return static_cast<std::uint32_t>(upper_ >> 40); }
  constexpr unsigned phase() const { return step() >> kMicrostepBits; }
  /// Within the phase.
  constexpr std::uint32_t microstep() const { return step() & kMaxMicrostep; }
  static constexpr std::uint32_t first_step_of(unsigned phase) { return phase << kMicrostepBits; }
  constexpr LpId sender() const { return static_cast<LpId>(upper_ >> 8); }
  constexpr std::uint64_t sequence() const { return ((upper_ & 0xff) << 32) | lower_; }

  /// The words after the time, for the fingerprint.
  constexpr std::uint64_t upper_word() const { return upper_; }
  constexpr std::uint32_t lower_word() const { return lower_; }

  friend constexpr bool operator==(const Key& a, const Key& b) {
    return a.time_ == b.time_ && a.upper_ == b.upper_ && a.lower_ == b.lower_;
  }
  friend constexpr std::strong_ordering operator<=>(const Key& a, const Key& b) {
    if (a.time_ != b.time_) return a.time_ <=> b.time_;
    if (a.upper_ != b.upper_) return a.upper_ <=> b.upper_;
    return a.lower_ <=> b.lower_;
  }

 private:
  // Not an aggregate on purpose: a class that derives from Key may use its four bytes of tail
  // padding (Itanium C++ ABI), which makes the common event header 32 bytes.
  std::int64_t time_ = 0;
  std::uint64_t upper_ = 0;
  std::uint32_t lower_ = 0;
};

}  // namespace orrery
