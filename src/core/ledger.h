// SPDX-License-Identifier: Apache-2.0
//
// What the platform keeps for an LP in the LP's own memory, so that a rollback restores it with the
// LP: its live timers and its metrics. LPs that use neither have none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "core/timer_set.h"
#include "orrery/results.h"

namespace orrery {

class Ledger {
 public:
  /// How much memory it has: kNone, or the pieces of the timers.
  using Extent = std::uint8_t;
  static constexpr Extent kNone = 0xff;

  /// One allocation; in the LP's application mode, as all that is called here.
  static Ledger* create(std::size_t metrics) {
    void* const memory = ::operator new(sizeof(Ledger) + metrics * sizeof(Summary));
    auto* const ledger = new (memory) Ledger;
    std::uninitialized_value_construct_n(ledger->metrics(), metrics);
    return ledger;
  }
  static void destroy(Ledger* ledger) {
    if (ledger == nullptr) return;
    ledger->~Ledger();
    ::operator delete(ledger);
  }
  static Extent extent_of(const Ledger* ledger) {
    return ledger == nullptr ? kNone : static_cast<Extent>(ledger->timers.pieces());
  }

  Summary* metrics() { return reinterpret_cast<Summary*>(this + 1); }
  const Summary* metrics() const { return reinterpret_cast<const Summary*>(this + 1); }

  TimerSet timers;
};
static_assert(sizeof(Ledger) % alignof(Summary) == 0, "metrics lie behind it");

}  // namespace orrery
