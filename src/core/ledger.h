// SPDX-License-Identifier: Apache-2.0
//
// The platform's data of an LP in the LP's own memory, so that a rollback restores it with the LP:
// its live timers and its metrics. LPs that use neither have no ledger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "core/level_state.h"
#include "core/timer_set.h"
#include "orrery/results.h"

namespace orrery {

class Ledger {
 public:
  /// How much memory the ledger has: kNone, or the number of pieces of the timers.
  using Extent = std::uint8_t;
  static constexpr Extent kNone = 0xff;

  /// One allocation, in the LP's application mode, as all functions here. A metric without values
  /// has a state of zeros.
  static Ledger* create(std::size_t metric_bytes) {
    void* const memory = ::operator new(sizeof(Ledger) + metric_bytes);
    auto* const ledger = new (memory) Ledger;
    std::memset(ledger->metrics(), 0, metric_bytes);
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

  /// A Summary or a LevelState for each metric, at Metric::offset().
  std::byte* metrics() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* metrics() const { return reinterpret_cast<const std::byte*>(this + 1); }
  Summary& summary(const Metric& metric) {
    return *reinterpret_cast<Summary*>(metrics() + metric.offset());
  }
  LevelState& level(const Metric& metric) {
    return *reinterpret_cast<LevelState*>(metrics() + metric.offset());
  }

  TimerSet timers;
};
static_assert(sizeof(Ledger) % alignof(Summary) == 0 && sizeof(Summary) % alignof(LevelState) == 0,
              "metrics lie behind it");

}  // namespace orrery
