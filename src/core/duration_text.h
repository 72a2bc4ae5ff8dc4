// SPDX-License-Identifier: Apache-2.0
//
// Durations as people write them: a number and a unit ("250ms", "1.5 h"), and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "orrery/time.h"

namespace orrery {

/// "10s", "2.5 min", "3h", "7d", "40us", "12ns", "5 ticks"; a bare number is seconds. Nothing if it
/// is not such a text or beyond the clock's range. `tick_seconds`: length of a tick.
std::optional<Duration> parse_duration(std::string_view text, double tick_seconds);

/// The shortest such text that reads back as the same duration where one exists.
std::string duration_text(Duration duration, double tick_seconds);

}  // namespace orrery
