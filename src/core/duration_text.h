// SPDX-License-Identifier: Apache-2.0
//
// Durations as people write them: numbers with units ("250ms", "1.5 h", "1h30m"), and back.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "orrery/time.h"

namespace orrery {

/// For refusals: what may stand behind a number.
inline constexpr std::string_view kDurationUnits = "d, h, min, s, ms, us, ns or ticks";

/// "10s", "2.5 min", "3h", "7d", "40us", "12ns", "5 ticks"; a bare number is seconds. Units may be
/// spelled out ("10 seconds", also in upper case; "m" is minutes, "\u00b5s" is "us") and combined
/// from the largest to the smallest ("1h30m"). Nothing if it is not such a text or beyond the
/// clock's range. `tick_seconds`: length of a tick.
std::optional<Duration> parse_duration(std::string_view text, double tick_seconds);

/// The shortest such text that reads back as the same duration where one exists.
std::string duration_text(Duration duration, double tick_seconds);

/// The same without allocating, for handlers of signals; the text may lie in `out`.
inline constexpr std::size_t kDurationTextBytes = 48;
std::string_view duration_text(Duration duration, double tick_seconds,
                               std::span<char, kDurationTextBytes> out);

}  // namespace orrery
