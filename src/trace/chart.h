// SPDX-License-Identifier: Apache-2.0
//
// A sequence chart of committed events for the terminal: a column for each LP, and a line for each
// event, in the order of events, with an arrow from the sender's column.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "output/terminal.h"
#include "trace/reader.h"

namespace orrery::trace {

struct ChartRequest {
  TraceScope scope;          ///< no LPs: the first with events, as many as fit
  std::uint64_t limit = 50;  ///< greatest number of events
};

/// Draws the chart line by line. Returns a sentence about events that are not shown; may be empty.
std::string draw_chart(TraceReader& reader, const ChartRequest& request, const Terminal& terminal,
                       const std::function<void(const std::string&)>& line);

}  // namespace orrery::trace
