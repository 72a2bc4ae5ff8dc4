// SPDX-License-Identifier: Apache-2.0
//
// Durations as text with units ("250ms", "1.5 h", "1h30m"): parsing and formatting.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "orrery/time.h"

namespace orrery {

/// For error messages: the units that may follow a number.
inline constexpr std::string_view kDurationUnits = "d, h, min, s, ms, us, ns or ticks";

/// Parses "10s", "2.5 min", "3h", "7d", "40us", "12ns", "5 ticks"; a number without unit is in
/// seconds. Units may be spelled out ("10 seconds", also in upper case; "m" is minutes, "\u00b5s"
/// is "us") and combined from the largest to the smallest ("1h30m"). Nothing if the text is no
/// duration or beyond the clock's range. `tick_seconds`: length of a tick.
std::optional<Duration> parse_duration(std::string_view text, double tick_seconds);

/// The shortest text that parses as the same duration, if there is one.
std::string duration_text(Duration duration, double tick_seconds);

/// The same without allocating, for signal handlers; the text may lie in `out`.
inline constexpr std::size_t kDurationTextBytes = 48;
std::string_view duration_text(Duration duration, double tick_seconds,
                               std::span<char, kDurationTextBytes> out);

}  // namespace orrery
