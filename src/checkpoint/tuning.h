// SPDX-License-Identifier: Apache-2.0
//
// The kind and interval of one LP's checkpoints: either fixed, or those that its worker's tuner
// chooses for LPs of its type and size (checkpoint_kind_tuner.h). The LP deviates from the tuner's
// choice in turns in which it tries another kind, and for kinds that are excluded for it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_kind_tuner.h"
#include "checkpoint/interval.h"

namespace orrery::checkpoint {

class Tuning {
 public:
  Tuning(Kind kind, Interval interval) : interval_(interval), kind_(kind) {}
  explicit Tuning(CheckpointKindTuner& tuner)
      : tuner_(&tuner), interval_(Interval::fixed(1)), kind_(tuner.kind()) {}

  Kind kind() const { return kind_; }
  std::uint32_t interval() const {
    return tuner_ == nullptr ? interval_.events() : tuner_->interval(kind_);
  }

  /// Uses this tuner from now on, because the LP has grown or shrunk.
  void learn_from(CheckpointKindTuner& tuner) {
    if (tuner_ == nullptr || tuner_ == &tuner) return;
    tuner_ = &tuner;
    follow();
  }
  /// Excludes this kind for good; images take its place.
  void exclude(Kind kind) {
    excluded_ |= 1u << static_cast<unsigned>(kind);
    if (tuner_ != nullptr) return follow();
    kind_ = allowed(kind_);
  }

  /// Whether the cost of the next event is wanted: that of all of an LP's first events and of a
  /// turn's, then of every kSampling-th. Call once an event, except for events passed to skip().
  bool wants_cost() {
    if (tuner_ == nullptr) return false;
    ++unmeasured_;
    return turn_left_ > 0 || !known() || unmeasured_ >= kSampling;
  }
  void skip(std::uint32_t events) { unmeasured_ += events; }
  /// How many of the next events need no measured cost.
  std::uint32_t indifferent() const {
    if (tuner_ == nullptr) return kSampling;
    return turn_left_ > 0 || !known() ? 0 : kSampling - 1 - std::min(unmeasured_, kSampling - 1);
  }
  /// Adds an event whose cost was wanted.
  void add_event(std::uint64_t cycles);
  void add_rollback(std::uint64_t cycles);
  void add_checkpoint(std::uint64_t cycles) {
    if (tuner_ != nullptr) tuner_->add_checkpoint(kind_, cycles);
  }

 private:
  static constexpr std::uint32_t kSampling = 8;
  static constexpr double kKnownEvents = 6, kFadingEvents = 256;
  /// The first events of an LP find cold caches and memory.
  static constexpr int kColdEvents = 2;

  Kind allowed(Kind kind) const {
    return (excluded_ >> static_cast<unsigned>(kind) & 1) != 0 ? Kind::image : kind;
  }
  bool known() const { return events_ >= kKnownEvents; }
  void follow();

  CheckpointKindTuner* tuner_ = nullptr;
  Interval interval_;
  Kind kind_;
  std::uint8_t excluded_ = 0;   ///< kinds, a bit each
  std::uint8_t turn_left_ = 0;  ///< events
  std::int8_t cold_left_ = kColdEvents;
  std::uint32_t unmeasured_ = 0;    ///< events since the last measured one
  double events_ = 0, cycles_ = 0;  ///< with the followed kind, without checkpoints; they fade
  double usual_ = 0;                ///< cycles an event before the turn
};

}  // namespace orrery::checkpoint
