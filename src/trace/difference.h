// SPDX-License-Identifier: Apache-2.0
//
// The first difference between the committed events of two runs. Both files are read side by side
// once. Then the first file is read again from its start for the events before the difference at
// the same LP, and for its cause, so that equal events need no memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/reader.h"

namespace orrery::trace {

struct Difference {
  std::uint64_t place = 0;         ///< index in both traces; start() calls count
  std::optional<ReadEvent> a, b;   ///< the events at `place`; nothing: that trace has ended
  std::string what;                ///< "it is missing in B", "the state of its LP differs after it"
  std::vector<ReadEvent> before;   ///< the last events at its LP, the same in both
  std::optional<ReadEvent> cause;  ///< the event that sent it, if it is in the trace

  /// The event that differs: of two with different keys, the one with the lower key.
  const ReadEvent& event() const;
};

struct Comparison {
  std::uint64_t equal = 0;  ///< committed events before the difference, or all
  std::optional<Difference> difference;
  std::string limit;  ///< a sentence, if a trace was cut off by its size
};

/// Throws UsageError for traces that cannot be compared: of different models, LPs or times.
Comparison compare(TraceReader& a, TraceReader& b);

/// Adds an event to the hash of a sequence of committed events. Two traces in which `compare` finds
/// no difference have the same hash; others have it only by chance.
std::uint64_t add_event(std::uint64_t hash, const ReadEvent& event);

/// "LP 5 (router3), Arrival at 12.5 s (tick 12500), send 7 of LP 3"; `reader`: of the event's file.
std::string text_of(const ReadEvent& event, const TraceReader& reader);

}  // namespace orrery::trace
