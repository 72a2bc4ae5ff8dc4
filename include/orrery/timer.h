// SPDX-License-Identifier: Apache-2.0
//
// A timer: an event that an LP sends to itself (`Context::schedule_timer`) and may cancel until it
// fires (`Context::cancel`). The model keeps this value, which holds no address, so it may be
// copied, kept in the LP's state, and put into events.
#pragma once

#include <cstdint>

#include "orrery/event.h"

namespace orrery {

class Timer {
 public:
  /// No timer: `cancel` returns false.
  constexpr Timer() = default;

  /// Whether the timer was ever set; it may have fired or been cancelled since.
  constexpr explicit operator bool() const { return number_ != 0; }
  friend constexpr bool operator==(const Timer&, const Timer&) = default;

 private:
  friend class Context;
  constexpr Timer(std::uint64_t number, LpId owner, std::uint32_t place)
      : number_(number), owner_(owner), place_(place) {}

  std::uint64_t number_ = 0;  // the owner's send count when it was set: unique
  LpId owner_ = 0;
  std::uint32_t place_ = 0;  // among the owner's live timers
};

}  // namespace orrery
