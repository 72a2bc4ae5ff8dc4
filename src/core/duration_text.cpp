// SPDX-License-Identifier: Apache-2.0
#include "core/duration_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace orrery {
namespace {

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr std::array<Unit, 7> kUnits = {{{"d", 86400.0},
                                         {"h", 3600.0},
                                         {"min", 60.0},
                                         {"s", 1.0},
                                         {"ms", 1e-3},
                                         {"us", 1e-6},
                                         {"ns", 1e-9}}};

/// "5 ticks", exactly: a double would round large counts.
std::optional<Duration> parse_ticks(std::string_view text) {
  std::int64_t ticks = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ticks);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const std::string_view name : {" ticks", "ticks", " tick", "tick"})
    if (unit == name) return Duration::from_ticks(ticks);
  return std::nullopt;
}

std::optional<double> seconds_of_unit(std::string_view name, double tick_seconds) {
  if (name.empty()) return 1.0;
  if (name == "ticks" || name == "tick") return tick_seconds;
  for (const Unit& unit : kUnits)
    if (name == unit.name) return unit.seconds;
  return std::nullopt;
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text, double tick_seconds) {
  if (const auto ticks = parse_ticks(text)) return ticks;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  const auto unit = seconds_of_unit(rest, tick_seconds);
  if (!unit) return std::nullopt;
  const double ticks = std::round(number * (*unit / tick_seconds));
  if (!(std::fabs(ticks) < 9.2e18)) return std::nullopt;
  return Duration::from_ticks(static_cast<std::int64_t>(ticks));
}

std::string duration_text(Duration duration, double tick_seconds) {
  const double seconds = static_cast<double>(duration.ticks()) * tick_seconds;
  if (duration.ticks() == 0) return "0 s";
  for (const Unit& unit : kUnits) {
    const double number = seconds / unit.seconds;
    if (std::fabs(number) < 1.0) continue;
    std::string text = fmt::format("{:.6g} {}", number, unit.name);
    if (parse_duration(text, tick_seconds) == duration) return text;
  }
  for (const Unit& unit : kUnits) {
    if (std::fabs(seconds) < unit.seconds) continue;
    std::string text = fmt::format("{:.15g} {}", seconds / unit.seconds, unit.name);
    if (parse_duration(text, tick_seconds) == duration) return text;
  }
  return fmt::format("{} ticks", duration.ticks());
}

}  // namespace orrery
