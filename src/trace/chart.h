// SPDX-License-Identifier: Apache-2.0
//
// A sequence chart of committed events for the terminal: a column for each LP, a line for each
// event, in their order, with an arrow from the LP that sent it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "observe/terminal.h"
#include "trace/reader.h"

namespace orrery::trace {

struct ChartRequest {
  TraceScope scope;          ///< no LPs: as many as there is room for, from the lowest
  std::uint64_t limit = 50;  ///< events
};

/// Lines of the chart, one after the other. Returns a sentence on what is not shown; may be empty.
std::string draw_chart(TraceReader& reader, const ChartRequest& request, const Terminal& terminal,
                       const std::function<void(const std::string&)>& line);

}  // namespace orrery::trace
