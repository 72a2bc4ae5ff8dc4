// SPDX-License-Identifier: Apache-2.0
//
// Where the committed events of two runs part. Both files are read side by side once; what led
// there, the events before it at its LP and its cause, is then looked for from the start again, so
// that nothing need be kept of what is equal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/reader.h"

namespace orrery::trace {

struct Difference {
  std::uint64_t place = 0;         ///< in both, with what LPs did at the start
  std::optional<ReadEvent> a, b;   ///< what stands there; nothing: that trace has ended
  std::string what;                ///< "it is missing in B", "the state of its LP differs after it"
  std::vector<ReadEvent> before;   ///< at its LP, the last ones, the same in both
  std::optional<ReadEvent> cause;  ///< if it is among those

  /// The one that differs: of two with different keys the lower.
  const ReadEvent& event() const;
};

struct Comparison {
  std::uint64_t equal = 0;  ///< committed events before the difference, or all
  std::optional<Difference> difference;
  std::string limit;  ///< a sentence, if not all of what was run is in the traces
};

/// Throws UsageError for traces of which nothing can be said: of another model, or not of the same
/// LPs and times.
Comparison compare(TraceReader& a, TraceReader& b);

/// A number for committed events in their order, which two traces have in common if `compare` finds
/// no difference (and else but by chance): `hash` with one more.
std::uint64_t add_event(std::uint64_t hash, const ReadEvent& event);

/// "LP 5, Arrival at 12.5 s (tick 12500), send 7 of LP 3"
std::string text_of(const ReadEvent& event, double tick_seconds);

}  // namespace orrery::trace
